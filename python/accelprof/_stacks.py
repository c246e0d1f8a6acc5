"""Python stacks: verifies that the agent reads them correctly, then turns them on."""

import atexit
import ctypes
import sys
from types import FrameType
from typing import Any, Callable, List, Optional, Tuple

from . import _agent

_Stack = List[Tuple[str, str, int]]
_ROOM = 1 << 20
_FRAMES = 128  # PASTA_PYSTACK_FRAMES


def _expected(frame: Optional[FrameType]) -> _Stack:
    """The stack according to Python, innermost frame first."""
    stack: _Stack = []
    while frame is not None and len(stack) < _FRAMES:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        stack.append((name, code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return stack


def _plain(text: str) -> str:
    """A text as the agent stores it: cut, with bytes that are not text replaced."""
    return "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text[:1000])


def _found(library: ctypes.PyDLL, text: Any) -> _Stack:
    n = library.pasta_pystack_check(text, _ROOM)
    parts = text.value.decode("utf-8", "replace").split("\n")
    # Skip the innermost frame: it is this function.
    return [(parts[i], parts[i + 1], int(parts[i + 2])) for i in range(3, 3 * n, 3)]


def _same(found: _Stack, frame: FrameType) -> bool:
    expected = [(_plain(name), _plain(file), line) for name, file, line in _expected(frame)]
    return found == expected[: _FRAMES - 1]


# Each function calls its argument through a different type of frame, or with names whose characters
# have a different width.
_CALLERS = """
def plain(call):
    return call()

def generator(call):
    def each():
        yield None
        yield call()
    return [x for x in each()][-1]

def decorated(call):
    def decorate(function):
        def wrapped(*args):
            return function(*args)
        return wrapped
    @decorate
    def inner(x):
        return plain(
            call)
    return inner(1)

class Class:
    @classmethod
    def method(cls, call):
        return (lambda: generator(call))()

    def __len__(self):
        self.answer = decorated(self.call)
        return 1

def through_c(call):
    it = Class()
    it.call = call
    len(it)
    return it.answer

def caf\u00e9(call):
    return Class.method(call)

def \u03bb\u03cc\u03b3\u03bf\u03c2(call):
    return caf\u00e9(call)

def \U00020000(call):
    return \u03bb\u03cc\u03b3\u03bf\u03c2(call)
"""


def _agent_is_right(library: ctypes.PyDLL) -> bool:
    """Whether the agent and Python see the same stacks, from all of _CALLERS."""
    callers: dict = {}
    exec(compile(_CALLERS, "<accelprof \u00e9\u03bb\U00020000>", "exec"), callers)
    text = ctypes.create_string_buffer(_ROOM)

    def call() -> bool:
        return _same(_found(library, text), sys._getframe())

    names = ["plain", "generator", "decorated", "through_c", "caf\u00e9"]
    names += ["\u03bb\u03cc\u03b3\u03bf\u03c2", "\U00020000"]
    return all(callers[name](call) for name in names)


def _why_not(library: ctypes.PyDLL) -> Optional[str]:
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} is not CPython"
    if "t" in getattr(sys, "abiflags", ""):
        return "this Python is free-threaded"
    why = ctypes.create_string_buffer(256)
    begin = library.pasta_pystack_begin
    begin.argtypes = [ctypes.c_uint32, ctypes.c_char_p, ctypes.c_size_t]
    if begin(sys.hexversion, why, len(why)):
        return why.value.decode()
    library.pasta_pystack_check.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    if not _agent_is_right(library):
        return f"this build of Python {sys.version.split()[0]} has an unknown layout of frames"
    return None


_begun: Optional[bool] = None


def begin() -> bool:
    """Record stacks with operators and launches.

    Returns False, after a message, if that does not work. A second call does nothing.
    """
    global _begun
    if _begun is None:
        _begun = False  # in case a second thread calls it meanwhile
        _begun = _begin()
    return _begun


def _begin() -> bool:
    agent = _agent.get()
    if agent is None:
        return False
    why = _why_not(agent.library)
    if why is not None:
        _agent.log(f"no Python stacks: {why}")
        return False
    trust: Callable[[int], None] = agent.library.pasta_pystack_trust
    trust(1)
    atexit.register(trust, 0)  # threads may run on while the interpreter shuts down
    return True
