"""Calls the agent through ctypes. Imported only in a process that belongs to a run."""

import ctypes
import os
from typing import Callable, NamedTuple, Optional

from . import _hook

PYTHON_STACKS = 2  # values of Agent.stacks: enum pasta_stack_types
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
    """The agent's functions. All hold Python's lock except start and stop, which may wait."""

    library: ctypes.PyDLL
    start: Callable[[], None]
    stop: Callable[[], None]
    region_begin: Callable[[bytes], None]
    region_end: Callable[[], None]
    iteration: Callable[[int], None]
    counter: Callable[[bytes, float], None]
    active: Callable[[], int]
    stacks: int
    log: Callable[[bytes], None]


_agent: Optional[Agent] = None
_tried = False


def _pause_at_fork(library: ctypes.PyDLL) -> None:
    """End the agent's thread before Python forks: 3.12 and later warn of threads at a fork.

    The agent starts its thread again with the next record. This covers only forks by Python itself.
    """
    try:
        # CFUNCTYPE releases Python's lock: the call waits for the thread to end.
        pause = ctypes.CFUNCTYPE(None)(("pasta_agent_fork_pause", library))
    except AttributeError:  # an older agent
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
    log_ = library.pasta_python_log
    log_.argtypes = [ctypes.c_char_p]
    log_.restype = None
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
        log_,
    )


def get() -> Optional[Agent]:
    """The agent; None if the process does not belong to a run or the agent cannot be loaded."""
    global _agent, _tried
    path = None if _tried else _hook.agent_path()
    if path:
        try:
            _agent = _load(path)
        except Exception:  # as in <pasta/annotate.h>, the program runs without an agent
            _agent = None
    _tried = True
    return _agent


def log(what: str) -> None:
    """Have accelprof print what does not work."""
    if _agent is not None:
        _agent.log(what.encode("utf-8", "replace")[:240])
