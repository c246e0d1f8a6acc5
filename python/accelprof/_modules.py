"""Reports to the agent which PyTorch module each thread runs, around each call of a module."""

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
    """The path of a module. Python reuses ids, so the weak reference must still be the module."""
    entry = known.get(id(module))
    return entry[1] if entry is not None and entry[0]() is module else None


def _store(known: _Known, module: Any, path: bytes) -> None:
    key = id(module)

    def expired(ref: Any) -> None:  # other threads may change it, too
        entry = known.get(key)
        if entry is not None and entry[0] is ref:
            known.pop(key, None)

    known[key] = (weakref.ref(module, expired), path)


class _Root:
    """An outermost module, and the paths of all modules in it."""

    def __init__(self, module: Any) -> None:
        self.name = type(module).__name__
        self.known: _Known = {}
        self._add_all(module)

    def _add_all(self, module: Any) -> None:
        for name, child in module.named_modules():  # a shared module gets its first name
            # torch.compile wraps a module as _orig_mod; to the program both are one module.
            parts = [part for part in name.split(".") if part and part != "_orig_mod"]
            path = ".".join([self.name, *parts])
            _store(self.known, child, path.encode("utf-8", "replace"))

    def path(self, root: Any, parent: bytes, module: Any) -> bytes:
        path = _look_up(self.known, module)
        if path is None:
            self._add_all(root)  # the module may have been added since
            path = _look_up(self.known, module)
        if path is None:  # registered nowhere: named after its caller
            path = parent + b"." + type(module).__name__.encode("utf-8", "replace")
            _store(self.known, module, path)
        return path


class _Thread(threading.local):
    def __init__(self) -> None:
        self.stack: List[Tuple[Any, bytes]] = []
        self.reported: Optional[bytes] = None


class Tracker:
    """The modules that each thread runs. Reports the innermost path, or None, when it changes."""

    def __init__(self, report: Callable[[Optional[bytes]], None]) -> None:
        self._report_to_agent = report
        self._thread = _Thread()
        self._roots: "Dict[int, Tuple[weakref.ref[Any], _Root]]" = {}

    def _root(self, module: Any) -> _Root:
        entry = self._roots.get(id(module))
        if entry is not None and entry[0]() is module:
            return entry[1]
        for key, (ref, _) in list(self._roots.items()):  # other threads may change it
            if ref() is None:
                self._roots.pop(key, None)
        root = _Root(module)
        self._roots[id(module)] = (weakref.ref(module), root)
        return root

    def _report(self, path: Optional[bytes]) -> None:
        if path != self._thread.reported:
            self._thread.reported = path
            self._report_to_agent(path)

    def enter(self, module: Any) -> None:
        stack = self._thread.stack
        if stack:
            root = stack[0][0]
            path = self._root(root).path(root, stack[-1][1], module)
        else:
            path = self._root(module).name.encode("utf-8", "replace")
        stack.append((module, path))
        self._report(path)

    def leave(self, module: Any) -> None:
        stack = self._thread.stack
        for i in range(len(stack) - 1, -1, -1):
            if stack[i][0] is module:
                del stack[i:]
                break
        self._report(stack[-1][1] if stack else None)


def _compiling(torch: ModuleType) -> Callable[[], bool]:
    """A function that returns whether Dynamo traces its caller; a constant to Dynamo."""
    compiler = getattr(torch, "compiler", None)
    return getattr(compiler, "is_compiling", None) or (lambda: False)


def _guarded(tracker: Tracker) -> Tuple[Callable[[Any], None], Callable[[Any], None]]:
    """The tracker's enter and leave, without exceptions. The first failure turns them off."""
    works = True

    def fail(err: Exception) -> None:
        nonlocal works
        works = False
        _agent.log(f"PyTorch modules are not recorded from here on: {type(err).__name__}: {err}")

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
    """The C module that controls which frames Dynamo sees. Dynamo itself is slow to import."""
    return getattr(getattr(torch._C, "_dynamo", None), "eval_frame", None)


def _watch(torch: ModuleType) -> Callable[[Any], Any]:
    """A function that sets the thread's frame callback and returns the old one, or None."""
    return getattr(_frames(torch), "set_eval_frame", None) or (lambda watcher: None)


def _skip(torch: ModuleType, code: CodeType) -> None:
    """Make Dynamo run a function uncompiled, but compile the functions that it calls."""
    frames = _frames(torch)
    if frames is None:
        return
    if hasattr(frames, "skip_code"):  # older PyTorch
        frames.skip_code(code)
    elif hasattr(frames, "set_code_exec_strategy"):
        action = frames._FrameAction
        strategy = frames._FrameExecStrategy(action.SKIP, action.DEFAULT)
        frames.set_code_exec_strategy(code, strategy)
    else:
        raise RuntimeError("the compiler of this PyTorch would compile AccelProf's functions")


def _around(torch: ModuleType, tracker: Tracker) -> Callable[..., Any]:
    """A Module.__call__ that calls the tracker. Dynamo compiles none of AccelProf's functions."""
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
    """Replace Module.__call__. Dynamo would compile a global hook into each graph.

    Dynamo inlines forward directly if a module's __call__ is the one that Dynamo saw when it was
    imported. So if Dynamo is imported already, its reference is replaced, too.
    """
    call = torch.nn.Module.__call__
    torch.nn.Module.__call__ = around
    for name in ("torch._dynamo.utils", "torch._dynamo.variables.nn_module"):
        there = sys.modules.get(name)
        if getattr(there, "unpatched_nn_module_call", None) is call:
            there.unpatched_nn_module_call = around  # type: ignore[union-attr]


def _register(torch: ModuleType, tracker: Tracker) -> CodeType:
    """Install the wrapper of module calls, and return its code object."""
    around = _around(torch, tracker)
    _skip(torch, around.__code__)  # raises before PyTorch is changed
    _install(torch, around)
    return around.__code__


def begin(torch: ModuleType) -> Optional[Tracker]:
    """Start to record the PyTorch module of each operator."""
    agent = _agent.get()
    if agent is None:
        return None
    report = agent.library.pasta_torch_module
    report.argtypes = [ctypes.c_char_p]
    report.restype = None
    tracker = Tracker(report)
    hide = agent.library.pasta_pystack_hide
    hide.argtypes = [ctypes.c_void_p]
    hide.restype = None
    hide(id(_register(torch, tracker)))
    return tracker
