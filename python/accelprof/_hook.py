"""The import hook: attaches the agent when the program has imported a module that matters.

These modules are PyTorch, Triton's profiler and, if Python stacks are recorded, ctypes: libraries
for accelerators import it, directly or through NumPy, before they launch anything.

It delays the start of every Python, so it imports nothing itself.
"""

import sys

WATCHED = {"torch": "torch_imported", "triton.profiler.profile": "proton_imported"}
STACKS = {"ctypes": "ctypes_imported"}  # watched if Python stacks are recorded
# The name under which the hook imports this package: the program may have its own module accelprof.
PRIVATE = "_accelprof"
AT_SECURE = 23  # <elf.h>


def is_secure(auxv="/proc/self/auxv"):
    """Whether the process has more rights than the user who started it: set-user-ID, capabilities.

    Such a process must ignore the environment, as the dynamic loader does.
    """
    import os

    try:
        with open(auxv, "rb") as file:
            data = file.read()
        words = memoryview(data[: len(data) // 16 * 16]).cast("L")
        for i in range(0, len(words) - 1, 2):
            if words[i] == AT_SECURE:
                return words[i + 1] != 0
    except PermissionError:  # only a process that gained rights cannot read its own file
        return True
    except (OSError, TypeError, ValueError):
        pass
    return os.getuid() != os.geteuid() or os.getgid() != os.getegid()


def agent_path():
    """The path of the agent; None if the process does not belong to a run."""
    from os import environ

    path = environ.get("PASTA_AGENT")
    return path if path and environ.get("PASTA_RUN") and not is_secure() else None


class _Hook:
    """A finder before all others: watches modules that they find, and finds this package."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == PRIVATE and self.package:
            return _package_spec(name, self.package)
        if name == "accelprof" and self.package:
            return self._find_package(name, path, target)
        if name in WATCHED:
            spec = self._find(name, path, target)
            if spec is not None:
                _watch(name, spec.loader)
            return spec
        return None

    def _find(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                return spec
        return None

    def _find_package(self, name, path, target):
        """Find this package as if it were last in sys.path, but before an installed copy."""
        spec = self._find(name, path, target)
        if spec is None or spec.origin in (None, "namespace") or _is_ours(spec):
            return _package_spec(name, self.package)
        return spec


def _package_spec(name, package):
    from importlib.util import spec_from_file_location

    return spec_from_file_location(
        name, package + "/__init__.py", submodule_search_locations=[package]
    )


def _is_ours(spec):
    from os.path import isfile

    return any(
        isfile(folder + "/_hook.py") and isfile(folder + "/_agent.py")
        for folder in spec.submodule_search_locations or ()
    )


def _watch(name, loader):
    """Call imported() when the loader has run the module. The loader is then as before."""
    run = getattr(loader, "exec_module", None)
    if run is None:
        return

    def exec_module(module):
        try:
            del loader.exec_module
        except AttributeError:
            pass
        run(module)
        imported(name, module)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # the loader has no such attribute: the import is not watched
        pass


def imported(name, module):
    """Attach the agent to the imported module. No exception may reach the program."""
    try:
        from importlib import import_module

        attach = import_module((__name__.rpartition(".")[0] or PRIVATE) + "._attach")
        getattr(attach, WATCHED[name])(module)
    except Exception:
        pass


def install(package=None):
    """Install the hook. package: the folder of this package, if it is not in sys.path."""
    from os import environ

    if any(type(finder).__name__ == "_Hook" for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Hook(package))
    if "python" not in environ.get("PASTA_STACKS", "").split(","):
        return
    WATCHED.update(STACKS)
    for name in STACKS:
        if name in sys.modules:
            imported(name, sys.modules[name])
