"""Report to the agent which module of the model a thread is in, around each call of a module."""

import ctypes
import functools
import sys
import threading
import weakref
from types import CodeType, ModuleType
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
            # What torch.compile was given is, to the program, the module that it got for it.
            parts = [part for part in name.split(".") if part and part != "_orig_mod"]
            path = ".".join([self.name, *parts])
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
        self.reported: Optional[bytes] = None


class Tracker:
    """The modules that each thread is in. tell is told the path, or None, when it changes."""

    def __init__(self, tell: Callable[[Optional[bytes]], None]) -> None:
        self._tell_agent = tell
        self._thread = _Thread()
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

    def _tell(self, path: Optional[bytes]) -> None:
        if path != self._thread.reported:
            self._thread.reported = path
            self._tell_agent(path)

    def enter(self, module: Any) -> None:
        stack = self._thread.stack
        if stack:
            root = stack[0][0]
            path = self._root(root).path(root, stack[-1][1], module)
        else:
            path = self._root(module).name.encode("utf-8", "replace")
        stack.append((module, path))
        self._tell(path)

    def leave(self, module: Any) -> None:
        stack = self._thread.stack
        for i in range(len(stack) - 1, -1, -1):
            if stack[i][0] is module:
                del stack[i:]
                break
        self._tell(stack[-1][1] if stack else None)


def _compiling(torch: ModuleType) -> Callable[[], bool]:
    """Whether a function is not called but read, to be compiled: Dynamo knows the answer by heart."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def _guarded(tracker: Tracker) -> Tuple[Callable[[Any], None], Callable[[Any], None]]:
    """The tracker's, as the program meets them: what fails in them does not reach it."""
    works = True

    def fail(err: Exception) -> None:
        nonlocal works
        works = False
        _agent.say(f"no modules from here on: {type(err).__name__}: {err}")

    def enter(module: Any) -> None:
        try:
            if works:
                tracker.enter(module)
        except Exception as err:
            fail(err)

    def leave(module: Any) -> None:
        try:
            if works:
                tracker.leave(module)
        except Exception as err:
            fail(err)

    return enter, leave


def _frames(torch: ModuleType) -> Any:
    """What decides which frames Dynamo sees. It is there without Dynamo, which is slow to import."""
    return getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def _watch(torch: ModuleType) -> Callable[[Any], Any]:
    """Sets who sees the thread's new frames, and returns who did; None is nobody."""
    return getattr(_frames(torch), "set_eval_frame", None) or (lambda watcher: None)


def _skip(torch: ModuleType, code: CodeType) -> None:
    """Have Dynamo run a function as it is, and see what it calls."""
    frames = _frames(torch)
    if frames is None:
        return
    if hasattr(frames, "skip_code"):  # the older way
        frames.skip_code(code)
    elif hasattr(frames, "set_code_exec_strategy"):
        action = frames._FrameAction
        strategy = frames._FrameExecStrategy(action.SKIP, action.DEFAULT)
        frames.set_code_exec_strategy(code, strategy)
    else:
        raise RuntimeError("the compiler of this PyTorch cannot be kept out of our functions")


def _around(torch: ModuleType, tracker: Tracker) -> Callable[..., Any]:
    """Module.__call__ that tells the tracker. No function of ours is compiled."""
    call = torch.nn.Module.__call__
    enter, leave = _guarded(tracker)
    compiling, watch = _compiling(torch), _watch(torch)

    @functools.wraps(call)
    def around(self: Any, *args: Any, **kwargs: Any) -> Any:
        if compiling():
            return call(self, *args, **kwargs)
        watcher = watch(None)
        enter(self)
        watch(watcher)
        try:
            return call(self, *args, **kwargs)
        finally:
            watcher = watch(None)
            leave(self)
            watch(watcher)

    return around


def _install(torch: ModuleType, around: Callable[..., Any]) -> None:
    """In Module's place of it. A global hook would be seen by Dynamo, and compiled into each graph.

    Dynamo goes to forward at once where a module's __call__ is the one that it knows, which is the
    one that it finds when it is imported.
    """
    call = torch.nn.Module.__call__
    torch.nn.Module.__call__ = around
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        there = sys.modules.get(name)
        if getattr(there, "unpatched_nn_module_call", None) is call:
            there.unpatched_nn_module_call = around  # type: ignore[union-attr]


def _register(torch: ModuleType, tracker: Tracker) -> CodeType:
    """The code of what is around each call of a module."""
    around = _around(torch, tracker)
    _skip(torch, around.__code__)  # where that cannot be done, PyTorch is left as it is
    _install(torch, around)
    return around.__code__


def begin(torch: ModuleType) -> Optional[Tracker]:
    """Have operators carry the module that they run in."""
    agent = _agent.get()
    if agent is None:
        return None
    tell = agent.library.pasta_torch_module
    tell.argtypes = [ctypes.c_char_p]
    tell.restype = None
    tracker = Tracker(tell)
    hide = agent.library.pasta_pystack_hide
    hide.argtypes = [ctypes.c_void_p]
    hide.restype = None
    hide(id(_register(torch, tracker)))
    return tracker
