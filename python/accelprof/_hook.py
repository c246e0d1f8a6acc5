"""The import hook: has PyTorch told to the agent when the program has imported it.

Loaded at the start of Python, where time is short: it imports nothing.
"""

import sys


class _Hook:
    """A finder before the others. It finds torch as they do, and this package where it lies."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name == "accelprof" and self.package:
            return _package_spec(self.package)
        if name == "torch":
            return self._find_torch(path, target)
        return None

    def _find_torch(self, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find("torch", path, target) if find and finder is not self else None
            if spec is not None:
                _watch(spec.loader)
                return spec
        return None


def _package_spec(package):
    from importlib.util import spec_from_file_location

    return spec_from_file_location(
        "accelprof", package + "/__init__.py", submodule_search_locations=[package]
    )


def _watch(loader):
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
        imported(module)

    try:
        loader.exec_module = exec_module
    except AttributeError:  # it has no room for it: the program goes on unseen
        pass


def imported(torch):
    """PyTorch is there. Nothing that fails here may reach the program."""
    try:
        from accelprof import _attach

        _attach.torch_imported(torch)
    except Exception:
        pass


def install(package=None):
    """Look out for torch. package: where accelprof is, if it has to be found there."""
    if not any(type(finder).__name__ == "_Hook" for finder in sys.meta_path):
        sys.meta_path.insert(0, _Hook(package))
