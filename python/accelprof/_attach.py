"""Attaches the agent to PyTorch, or to Triton's profiler, after the program has imported it."""

import contextlib
import ctypes
import functools
import os
from types import ModuleType
from typing import Iterator

from . import _agent

PROTON_CUPTI = "TRITON_CUPTI_LIB_PATH"

def _try(what: str, step, *args) -> None:
    try:
        step(*args)
    except Exception as err:  # the user sees the error, the program does not
        _agent.log(f"{what}: {type(err).__name__}: {err}")


def ctypes_imported(_module: ModuleType) -> None:
    """Record the Python stacks of launches."""
    agent = _agent.get()
    if agent is not None and agent.stacks & _agent.PYTHON_STACKS:
        from . import _stacks

        _try("no Python stacks", _stacks.begin)


def torch_imported(torch: ModuleType) -> None:
    agent = _agent.get()
    if agent is None:
        return
    ctypes_imported(ctypes)
    if agent.stacks & _agent.MODULES:
        from . import _modules

        _try("no PyTorch modules", _modules.begin, torch)
    _try("PyTorch is not recorded", _torch_attach)


def _torch_attach() -> None:
    from . import _torch

    _torch.attach()


def proton_imported(profile: ModuleType) -> None:
    """Make Proton load the agent's CUPTI: CUPTI refuses a second copy."""
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
    """Point Proton's variable at a temporary folder whose libcupti.so is the agent's CUPTI."""
    import shutil
    import tempfile

    was = os.environ.get(PROTON_CUPTI)
    folder = ""
    try:
        folder = tempfile.mkdtemp(prefix="accelprof-")
        os.symlink(ours, os.path.join(folder, "libcupti.so"))
        os.environ[PROTON_CUPTI] = folder
    except OSError as err:
        _agent.log(f"Proton cannot use AccelProf's CUPTI: {err}")
    try:
        yield
    finally:
        if was is None:
            os.environ.pop(PROTON_CUPTI, None)
        else:
            os.environ[PROTON_CUPTI] = was
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
