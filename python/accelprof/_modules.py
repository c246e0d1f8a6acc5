"""Which module of the model a thread is in, told to the agent by PyTorch's global hooks."""

import ctypes
import threading
import warnings
import weakref
from types import ModuleType
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import _agent

_Known = Dict[int, Tuple["weakref.ref[Any]", bytes]]


def _look_up(known: _Known, module: Any) -> Optional[bytes]:
    """By identity: an id is used again when its module is gone, which the reference tells."""
    entry = known.get(id(module))
    return entry[1] if entry is not None and entry[0]() is module else None


def _remember(known: _Known, module: Any, path: bytes) -> None:
    key = id(module)

    def gone(ref: Any) -> None:  # other threads may be at it
        entry = known.get(key)
        if entry is not None and entry[0] is ref:
            known.pop(key, None)

    known[key] = (weakref.ref(module, gone), path)


class _Root:
    """A module that was called from none, and the paths of what is in it."""

    def __init__(self, module: Any) -> None:
        self.name = type(module).__name__
        self.known: _Known = {}
        self._add_all(module)

    def _add_all(self, module: Any) -> None:
        for name, child in module.named_modules():  # a shared one has its first name
            path = f"{self.name}.{name}" if name else self.name
            _remember(self.known, child, path.encode("utf-8", "replace"))

    def path(self, root: Any, parent: bytes, module: Any) -> bytes:
        path = _look_up(self.known, module)
        if path is None:
            self._add_all(root)  # it may have been added since
            path = _look_up(self.known, module)
        if path is None:  # registered nowhere: it is where it was called from
            path = parent + b"." + type(module).__name__.encode("utf-8", "replace")
            _remember(self.known, module, path)
        return path


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stack: List[Tuple[Any, bytes]] = []


class Tracker:
    """The modules that each thread is in. tell is told the path, or None, when it changes."""

    def __init__(self, tell: Callable[[Optional[bytes]], None]) -> None:
        self._tell = tell
        self._thread = _Thread()
        self.told = False  # of modules that end with an exception
        self._roots: "Dict[int, Tuple[weakref.ref[Any], _Root]]" = {}

    def _root(self, module: Any) -> _Root:
        entry = self._roots.get(id(module))
        if entry is not None and entry[0]() is module:
            return entry[1]
        for key, (ref, _) in list(self._roots.items()):  # other threads may be at it
            if ref() is None:
                self._roots.pop(key, None)
        root = _Root(module)
        self._roots[id(module)] = (weakref.ref(module), root)
        return root

    def _resync(self, stack: List[Tuple[Any, bytes]], module: Any) -> None:
        """Drop what an exception left behind, where PyTorch has not told of it.

        The root is not entered within itself; and without word of exceptions, only those that
        the module belongs to are taken to be around it.
        """
        root = stack[0][0]
        if module is root:
            del stack[:]
        elif not self.told:
            path = self._root(root).path(root, stack[-1][1], module)
            while len(stack) > 1 and not path.startswith(stack[-1][1] + b"."):
                stack.pop()

    def enter(self, module: Any, args: Any) -> None:
        stack = self._thread.stack
        if stack:
            self._resync(stack, module)
        if not stack:
            path = self._root(module).name.encode("utf-8", "replace")
        else:
            root = stack[0][0]
            path = self._root(root).path(root, stack[-1][1], module)
        stack.append((module, path))
        self._tell(path)

    def leave(self, module: Any, args: Any, result: Any) -> None:
        stack = self._thread.stack
        for i in range(len(stack) - 1, -1, -1):
            if stack[i][0] is module:
                del stack[i:]
                break
        self._tell(stack[-1][1] if stack else None)


def _compiling(torch: ModuleType) -> Callable[[], bool]:
    """Whether hooks are not called but read, to be compiled: Dynamo knows the answer by heart."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def _hooks(tracker: Tracker, compiling: Callable[[], bool]) -> Tuple[Callable, Callable]:
    """The tracker's, as the program meets them: what fails in them does not reach it."""
    works = True

    def fail(err: Exception) -> None:
        nonlocal works
        works = False
        _agent.say(f"no modules from here on: {type(err).__name__}: {err}")

    def enter(module: Any, args: Any) -> None:
        if compiling():
            return
        try:
            if works:
                tracker.enter(module, args)
        except Exception as err:
            fail(err)

    def leave(module: Any, args: Any, result: Any) -> None:
        if compiling():
            return
        try:
            if works:
                tracker.leave(module, args, result)
        except Exception as err:
            fail(err)

    return enter, leave


def _register(torch: ModuleType, tracker: Tracker) -> None:
    hooks = torch.nn.modules.module
    # The program has no global hooks of its own doing: it is not to be warned of ours.
    warnings.filterwarnings("ignore", message=".*when there are global hooks on modules")
    enter, leave = _hooks(tracker, _compiling(torch))
    hooks.register_module_forward_pre_hook(enter)
    try:
        hooks.register_module_forward_hook(leave, always_call=True)
        tracker.told = True
    except TypeError:  # before PyTorch 2.0 an exception leaves no word
        hooks.register_module_forward_hook(leave)


def begin(torch: ModuleType) -> Optional[Tracker]:
    """Have operators carry the module that they run in."""
    agent = _agent.get()
    if agent is None:
        return None
    tell = agent.library.pasta_torch_module
    tell.argtypes = [ctypes.c_char_p]
    tell.restype = None
    tracker = Tracker(tell)
    _register(torch, tracker)
    return tracker
