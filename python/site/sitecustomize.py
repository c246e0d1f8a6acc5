"""Runs at the start of every Python under accelprof run, before the user's own sitecustomize.

Pythons older than 3.8 run this file, too, so its syntax is valid in all of them.
"""

import os
import sys


def _begin(here):
    # The folder is not needed in sys.path any more. It stays in PYTHONPATH, for child processes.
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


_me = sys.modules.pop("sitecustomize", None)  # old Pythons clear a module without references
try:
    _begin(os.path.dirname(os.path.abspath(__file__)))
except Exception:  # a failure of AccelProf must not reach the program
    pass

# Import the user's sitecustomize. site handles the exception if it is absent or fails.
import sitecustomize  # noqa: E402,F401
