"""What is done when the program has imported PyTorch, or Triton's profiler."""

import functools
import sys
from types import ModuleType

from . import _agent


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
    """Proton brings a CUPTI of its own, which would be refused while we use ours."""
    agent = _agent.get()
    if agent is None:
        return
    start = profile.start

    @functools.wraps(start)
    def give_way_and_start(*args, **kwargs):
        _try("Proton is not given way", _give_way_to_proton, agent)
        return start(*args, **kwargs)

    profile.start = give_way_and_start


def _give_way_to_proton(agent: _agent.Agent) -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()
    agent.library.pasta_cupti_give_way(b"Triton's Proton")
