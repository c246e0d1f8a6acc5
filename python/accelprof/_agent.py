"""The agent, through ctypes. Imported only where there is one to load."""

import ctypes
import os
from typing import Callable, NamedTuple, Optional

from . import _hook

PYTHON_STACKS = 2  # of what sorts() tells
MODULES = 4


class _Ops(ctypes.Structure):
    """struct pasta_annotate_ops of <pasta/annotate.h>."""

    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_void_p)
        for name in (
            "start",
            "stop",
            "region_begin",
            "region_end",
            "mark",
            "iteration",
            "counter",
            "thread_name",
        )
    ]


class Agent(NamedTuple):
    """What the package calls. Python's lock is kept, but by start and stop, which may wait."""

    library: ctypes.PyDLL
    start: Callable[[], None]
    stop: Callable[[], None]
    region_begin: Callable[[bytes], None]
    region_end: Callable[[], None]
    iteration: Callable[[int], None]
    counter: Callable[[bytes, float], None]
    active: Callable[[], int]
    sorts: int
    say: Callable[[bytes], None]


_agent: Optional[Agent] = None
_tried = False


def _pause_at_fork(library: ctypes.PyDLL) -> None:
    """Python 3.12 and later warn of a fork in a process with threads: the agent's ends before.

    It comes back with the next event. Only forks that Python itself makes are seen here.
    """
    try:
        # One that lets go of Python's lock: it waits for the thread's end.
        pause = ctypes.CFUNCTYPE(None)(("pasta_agent_fork_pause", library))
    except AttributeError:  # an agent of before
        return
    os.register_at_fork(before=pause)


def _load(path: str) -> Optional[Agent]:
    library = ctypes.PyDLL(path)
    attach = library.pasta_annotate_attach
    attach.restype = ctypes.POINTER(_Ops)
    table = attach()
    if not table or table.contents.size < ctypes.sizeof(_Ops):
        return None
    ops = table.contents
    waits = ctypes.CFUNCTYPE(None)
    say = library.pasta_python_log
    say.argtypes = [ctypes.c_char_p]
    say.restype = None
    _pause_at_fork(library)
    return Agent(
        library,
        waits(ops.start),
        waits(ops.stop),
        ctypes.PYFUNCTYPE(None, ctypes.c_char_p)(ops.region_begin),
        ctypes.PYFUNCTYPE(None)(ops.region_end),
        ctypes.PYFUNCTYPE(None, ctypes.c_uint64)(ops.iteration),
        ctypes.PYFUNCTYPE(None, ctypes.c_char_p, ctypes.c_double)(ops.counter),
        library.pasta_annotate_active,
        library.pasta_python_attach(),
        say,
    )


def get() -> Optional[Agent]:
    """The process's agent. None: there is no run to record into, or it cannot be loaded."""
    global _agent, _tried
    path = None if _tried else _hook.agent_path()
    if path:
        try:
            _agent = _load(path)
        except Exception:  # as <pasta/annotate.h>: no agent, no harm
            _agent = None
    _tried = True
    return _agent


def say(what: str) -> None:
    """Have accelprof tell the user what cannot be done."""
    if _agent is not None:
        _agent.say(what.encode("utf-8", "replace")[:240])
