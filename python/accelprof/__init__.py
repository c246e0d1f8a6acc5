"""Name regions, steps and counters of a Python program for AccelProf.

    import accelprof

    for batch in batches:
        accelprof.step()
        with accelprof.region("forward"):
            ...

Under accelprof run these functions record; without it they do nothing. Any thread may call them,
also after a fork. They work without an agent.
"""

import os
import sys
from typing import Any, Callable, Optional, Protocol, TypeVar

__all__ = ["counter", "is_collecting", "region", "start", "step", "stop"]
__version__ = "0.1.0"

_F = TypeVar("_F", bound=Callable[..., Any])


class Region(Protocol):
    """The result of region(): a context manager and a function decorator."""

    def __enter__(self) -> "Region": ...

    def __exit__(self, kind: object, value: object, trace: object) -> None: ...

    def __call__(self, function: _F) -> _F: ...


# Flags of functions whose body runs after the call has returned: CO_GENERATOR, CO_COROUTINE and
# CO_ASYNC_GENERATOR.
_LATER = 0x20 | 0x80 | 0x200


# Arguments are checked with and without a run, so that mistakes do not first appear when profiling.


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, not {type(name).__name__}")


def _check_index(index: Any) -> None:
    if not 0 <= int(index) < 1 << 64:
        raise ValueError(f"a step's index must be 0 or greater, not {index}")


def _check_value(value: Any) -> None:
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"a counter's value must be a number, not {type(value).__name__}")


def _check_function(function: Any) -> None:
    if not callable(function):
        raise TypeError(f"a region can decorate a function, not {type(function).__name__}")
    if getattr(getattr(function, "__code__", None), "co_flags", 0) & _LATER:
        raise TypeError(
            "a region cannot decorate a coroutine or generator, whose calls overlap: "
            "use 'with accelprof.region(...)' around a part that does not yield or await"
        )


class _Nothing:
    """A region that is not recorded."""

    __slots__ = ()

    def __enter__(self) -> "_Nothing":
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        pass

    def __call__(self, function: _F) -> _F:
        _check_function(function)
        return function


_NOTHING = _Nothing()


def start() -> None:
    """Turn recording on in this process. It is on at the start, unless with run --paused."""


def stop() -> None:
    """Turn recording off in this process."""


def region(name: str) -> Region:
    """Return a region of the calling thread, for with or as a decorator. It can be reused."""
    if type(name) is not str:  # the usual case costs no call
        _check_name(name)
    return _NOTHING


def step(index: Optional[int] = None) -> None:
    """Begin a step (iteration) and end the one before. Without an index, count on by one."""
    if index is not None:
        _check_index(index)


def counter(name: str, value: float) -> None:
    """Record the current value of a counter, such as a loss or a queue's length."""
    if type(name) is not str:
        _check_name(name)
    if type(value) is not float:
        _check_value(value)


def is_collecting() -> bool:
    """Whether recording is on."""
    return False


def _bind() -> None:
    """Replace the functions that do nothing with those that record."""
    from . import _agent

    agent = _agent.get()
    if agent is not None:
        from . import _record

        functions = _record.make(agent)
        for name in __all__:
            functions[name].__doc__ = globals()[name].__doc__
            functions[name].__name__ = functions[name].__qualname__ = name
        globals().update(functions)


def _watch() -> None:
    """Watch for PyTorch if sitecustomize did not run (python -I, -E, -S)."""
    if "_accelprof_hook" in sys.modules:
        return
    torch = sys.modules.get("torch")
    if torch is None:
        _hook.install()
    elif getattr(getattr(torch, "__spec__", None), "_initializing", False) is False:
        _hook.imported("torch", torch)


if os.environ.get("PASTA_AGENT"):
    from . import _hook

    if _hook.agent_path():
        _bind()
        _watch()
