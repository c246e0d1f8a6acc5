"""The import hook: has the agent told when the program has imported PyTorch, or Triton's profiler.

Loaded at the start of Python, where time is short: it imports nothing.
"""

import sys

WATCHED = {"torch": "torch_imported", "triton.profiler.profile": "proton_imported"}


class _Hook:
    """A finder before the others. It finds what is watched as they do, and this package."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == "accelprof" and self.package:
            return _package_spec(self.package)
        if name in WATCHED:
            return self._find(name, path, target)
        return None

    def _find(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                _watch(name, spec.loader)
                return spec
        return None


def _package_spec(package):
    from importlib.util import spec_from_file_location

    return spec_from_file_location(
        "accelprof", package + "/__init__.py", submodule_search_locations=[package]
    )


def _watch(name, loader):
    """Have imported called when the loader has run the module; the loader stays what it is."""
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
    except AttributeError:  # it has no room for it: the program goes on unseen
        pass


def imported(name, module):
    """It is there. Nothing that fails here may reach the program."""
    try:
        from accelprof import _attach

        getattr(_attach, WATCHED[name])(module)
    except Exception:
        pass


def install(package=None):
    """Look out for it. package: where accelprof is, if it has to be found there."""
    if not any(type(finder).__name__ == "_Hook" for finder in sys.meta_path):
        sys.meta_path.insert(0, _Hook(package))
