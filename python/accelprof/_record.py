"""The package's functions in a process with an agent."""

import functools
import threading
from typing import Any, Callable, Dict, Optional

from . import _check_function, _check_index, _check_name, _check_value
from ._agent import Agent

_NAMES_MAX = 4096


def _encode(name: str) -> bytes:
    _check_name(name)
    return name.replace("\0", " ").encode("utf-8", "replace")


def _cached(make: Callable[[str], Any]) -> Callable[[str], Any]:
    """make(), cached by name: the agent finds a name faster at the same address."""
    known: Dict[str, Any] = {}

    def get(name: str) -> Any:
        try:
            return known[name]
        except (KeyError, TypeError):
            made = make(name)
        if len(known) >= _NAMES_MAX:  # the program makes up names as it runs
            known.clear()
        known[name] = made
        return made

    return get


def _region_class(agent: Agent) -> type:
    begin, end = agent.region_begin, agent.region_end

    class Region:
        """Holds only its name, so one object serves all threads and any depth."""

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
    """The functions that the package exports, by name."""
    encode = _cached(_encode)
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
        "region": _cached(_region_class(agent)),
        "start": start,
        "step": step,
        "stop": stop,
    }
