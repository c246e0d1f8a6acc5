"""Runs at the start of every Python below accelprof run, and then the user's own sitecustomize.

Old Pythons read this file as well: it is written so that all of them can.
"""

import os
import sys


def _begin(here):
    # The folder has done its work. PYTHONPATH keeps it: it is for the program's children, too.
    sys.path[:] = [path for path in sys.path if path != here]
    sys.path_importer_cache.pop(here, None)
    if sys.version_info < (3, 8) or not os.environ.get("PASTA_RUN"):
        return
    if not os.environ.get("PASTA_AGENT"):
        return
    from _frozen_importlib_external import SourceFileLoader

    package = os.path.join(os.path.dirname(here), "accelprof")
    loader = SourceFileLoader("_accelprof_hook", os.path.join(package, "_hook.py"))
    hook = type(sys)("_accelprof_hook")
    exec(loader.get_code("_accelprof_hook"), hook.__dict__)
    if hook.agent_path():
        sys.modules["_accelprof_hook"] = hook
        hook.install(package)


_me = sys.modules.pop("sitecustomize", None)  # kept: old Pythons clear a module that is dropped
try:
    _begin(os.path.dirname(os.path.abspath(__file__)))
except Exception:  # whatever it is, it is not the program's
    pass

# Where there is none, or it fails, what is raised is what site expects in that case.
import sitecustomize  # noqa: E402,F401
