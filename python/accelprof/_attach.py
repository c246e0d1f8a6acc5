"""What is done when the program has imported PyTorch, or Triton's profiler."""

import contextlib
import ctypes
import functools
import os
import shutil
import tempfile
from types import ModuleType
from typing import Iterator

from . import _agent

PROTON_CUPTI = "TRITON_CUPTI_LIB_PATH"

def _try(what: str, step, *args) -> None:
    try:
        step(*args)
    except Exception as err:  # the program must not learn of it, but the user must
        _agent.say(f"{what}: {type(err).__name__}: {err}")


def torch_imported(torch: ModuleType) -> None:
    agent = _agent.get()
    if agent is None:
        return
    if agent.sorts & _agent.PYTHON_STACKS:
        from . import _stacks

        _try("no Python stacks", _stacks.begin)
    if agent.sorts & _agent.MODULES:
        from . import _modules

        _try("no modules", _modules.begin, torch)
    _try("PyTorch is not recorded", _torch_attach)


def _torch_attach() -> None:
    from . import _torch

    _torch.attach()


def proton_imported(profile: ModuleType) -> None:
    """Proton comes with a CUPTI of its own, which would be refused beside ours: it gets ours."""
    agent = _agent.get()
    if agent is None:
        return
    start = profile.start
    path = agent.library.pasta_cupti_path
    path.restype = ctypes.c_char_p

    @functools.wraps(start)
    def start_with_ours(*args, **kwargs):
        ours = path()
        if not ours:
            return start(*args, **kwargs)
        with _cupti_of_proton(os.fsdecode(ours)):
            return start(*args, **kwargs)

    profile.start = start_with_ours


@contextlib.contextmanager
def _cupti_of_proton(ours: str) -> Iterator[None]:
    """Proton loads libcupti.so of a folder that a variable names; one is here for so long."""
    was = os.environ.get(PROTON_CUPTI)
    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix="accelprof-")
        os.symlink(ours, os.path.join(folder, "libcupti.so"))
        os.environ[PROTON_CUPTI] = folder
    except OSError as err:
        _agent.say(f"Proton does not get our CUPTI: {err}")
    try:
        yield
    finally:
        if was is None:
            os.environ.pop(PROTON_CUPTI, None)
        else:
            os.environ[PROTON_CUPTI] = was
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
