"""The functions of the package where there is an agent."""

import functools
import threading
from typing import Any, Callable, Dict, Optional

from . import _check_function, _check_index, _check_name, _check_value
from ._agent import Agent

_NAMES_MAX = 4096


def _encode(name: str) -> bytes:
    _check_name(name)
    return name.replace("\0", " ").encode("utf-8", "replace")


def _kept(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """What make makes of a name, the same object each time: the agent looks by address first."""
    known: Dict[str, Any] = {}

    def get(name: str) -> Any:
        try:
            return known[name]
        except (KeyError, TypeError):
            made = make(name)
        if len(known) >= _NAMES_MAX:  # names that are made up as the program goes
            known.clear()
        known[name] = made
        return made

    return get


def _region_class(agent: Agent) -> type:
    begin, end = agent.region_begin, agent.region_end

    class Region:
        """It holds its name alone, so that one will do for all threads and any depth."""

        __slots__ = ("_name",)

        def __init__(self, name: str) -> None:
            self._name = _encode(name)

        def __enter__(self) -> "Region":
            begin(self._name)
            return self

        def __exit__(self, kind: object, value: object, trace: object) -> None:
            end()

        def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
            _check_function(function)
            name = self._name

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                begin(name)
                try:
                    return function(*args, **kwargs)
                finally:
                    end()

            return call

    return Region


def make(agent: Agent) -> Dict[str, Any]:
    """What the package binds, by name."""
    encode = _kept(_encode)
    lock = threading.Lock()
    last = -1

    def step(index: Optional[int] = None) -> None:
        nonlocal last
        with lock:
            number = last + 1 if index is None else int(index)
            _check_index(number)
            last = number
            agent.iteration(number)

    def counter(name: str, value: float) -> None:
        _check_value(value)
        agent.counter(encode(name), float(value))

    def start() -> None:
        agent.start()

    def stop() -> None:
        agent.stop()

    def is_collecting() -> bool:
        return bool(agent.active())

    return {
        "counter": counter,
        "is_collecting": is_collecting,
        "region": _kept(_region_class(agent)),
        "start": start,
        "step": step,
        "stop": stop,
    }
