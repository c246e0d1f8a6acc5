"""Paths of modules, as the hooks tell them; with PyTorch itself where it is installed."""

import contextlib
import gc
import sys
import threading
import warnings

import pytest
from accelprof import _modules


class Module:
    """As much of torch.nn.Module as is looked at."""

    def __init__(self, **children):
        self._modules = dict(children)

    def named_modules(self, prefix="", seen=None):
        seen = set() if seen is None else seen
        if self in seen:
            return
        seen.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            yield from child.named_modules(f"{prefix}.{name}" if prefix else name, seen)


class GPT(Module):
    pass


class Linear(Module):
    pass


class Tell:
    def __init__(self):
        self.told = []

    def __call__(self, path):
        self.told.append(path and path.decode())

    @property
    def now(self):
        return self.told[-1]


@pytest.fixture
def tell():
    return Tell()


@pytest.fixture(params=[True, False])
def tracker(request, tell):
    made = _modules.Tracker(tell)
    made.told = request.param
    return made


def model():
    attn = Linear()
    return GPT(blocks=Module(**{"0": Module(attn=attn)})), attn


def test_a_path_is_the_names_from_the_root_on(tracker, tell):
    root, attn = model()
    block = root._modules["blocks"]._modules["0"]  # the list around it is never called
    for module in (root, block, attn):
        tracker.enter(module, ())
    for module in (attn, block, root):
        tracker.leave(module, (), None)
    assert tell.told == [
        "GPT",
        "GPT.blocks.0",
        "GPT.blocks.0.attn",
        "GPT.blocks.0",
        "GPT",
        None,
    ]


def test_a_module_that_is_in_none_is_where_it_was_called(tracker, tell):
    root, attn = model()
    tracker.enter(root, ())
    tracker.enter(Linear(), ())
    assert tell.now == "GPT.Linear"


def test_a_module_that_was_added_later_is_found(tracker, tell):
    root, _ = model()
    tracker.enter(root, ())
    tracker.leave(root, (), None)
    root._modules["head"] = Linear()
    tracker.enter(root, ())
    tracker.enter(root._modules["head"], ())
    assert tell.now == "GPT.head"


def test_an_exception_that_left_all_modules_leaves_nothing(tracker, tell):
    root, attn = model()
    tracker.enter(root, ())
    tracker.enter(attn, ())  # it raises; no leave comes
    tracker.enter(root, ())
    assert tell.now == "GPT"
    tracker.leave(root, (), None)
    assert tell.now is None


def test_without_word_of_exceptions_siblings_show_what_has_ended(tell):
    tracker = _modules.Tracker(tell)
    root, attn = model()
    root._modules["head"] = Linear()
    tracker.enter(root, ())
    tracker.enter(attn, ())  # it raises, and root goes on
    tracker.enter(root._modules["head"], ())
    tracker.leave(root._modules["head"], (), None)
    assert tell.now == "GPT"


def test_threads_have_modules_of_their_own(tracker, tell):
    root, attn = model()
    tracker.enter(root, ())
    other = threading.Thread(target=tracker.enter, args=(attn, ()))
    other.start()
    other.join()
    assert tell.now == "Linear"
    tracker.enter(attn, ())
    assert tell.now == "GPT.blocks.0.attn"


def test_models_that_are_gone_are_forgotten(tracker):
    for _ in range(100):
        root, attn = model()
        tracker.enter(root, ())
        tracker.enter(attn, ())
        tracker.leave(attn, (), None)
        tracker.leave(root, (), None)
        del root, attn
        gc.collect()
    assert len(tracker._roots) <= 2


@contextlib.contextmanager
def hooked(torch, tell):
    """PyTorch with our hooks, and then as it was."""
    module = torch.nn.modules.module
    names = ("_global_forward_pre_hooks", "_global_forward_hooks")
    before = [dict(getattr(module, name)) for name in names]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*global hooks")
            _modules._register(torch, _modules.Tracker(tell))
            yield
    finally:
        for name, hooks in zip(names, before):
            getattr(module, name).clear()
            getattr(module, name).update(hooks)
        getattr(module, "_global_forward_hooks_always_called", {}).clear()


def test_threads_that_forget_models_at_once_are_not_in_each_others_way(tracker):
    """As DataParallel does, whose replicas live for one pass."""
    failed = []

    def work():
        try:
            for _ in range(300):
                root, attn = model()
                tracker.enter(root, ())
                tracker.enter(attn, ())
                tracker.leave(attn, (), None)
                tracker.leave(root, (), None)
        except Exception as err:
            failed.append(err)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert failed == []


def test_what_fails_in_a_hook_does_not_reach_the_program(tell):
    class Odd(Module):
        def named_modules(self, prefix="", seen=None):
            raise RuntimeError("not the program's")

    enter, leave = _modules._hooks(_modules.Tracker(tell), lambda: False)
    odd, root = Odd(), model()[0]
    enter(odd, ())
    leave(odd, (), None)
    enter(root, ())
    assert tell.told == []


def test_a_compiled_model_is_one_graph_as_ever_and_nobody_is_warned(tell):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "compiler"):
        pytest.skip("this PyTorch has no torch.compiler")
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.ReLU()))
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    with hooked(torch, tell):
        assert compiled(torch.ones(1, 2)).shape == (1, 2)
        tell.told.clear()
        compiled(torch.ones(1, 2))
    assert [path for path in tell.told if path] == ["OptimizedModule"]
    assert tell.now is None


def test_with_pytorch_itself(tell):
    torch = pytest.importorskip("torch")
    if "+" not in torch.__version__ and not hasattr(torch, "nn"):
        pytest.skip("no PyTorch")
    nn = torch.nn

    class Bad(nn.Module):
        def forward(self, x):
            raise RuntimeError("bad")

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.bad = Bad()
            self.fc = nn.Sequential(nn.Linear(2, 2), nn.ReLU())

        def forward(self, x):
            try:
                self.bad(x)
            except RuntimeError:
                pass
            return self.fc(x)

    with hooked(torch, tell):
        Net()(torch.ones(1, 2))
    told = [path for path in tell.told if path is not None]
    assert [path for i, path in enumerate(told) if path not in told[:i]] == [
        "Net",
        "Net.bad",
        "Net.fc",
        "Net.fc.0",
        "Net.fc.1",
    ]
    assert tell.now is None
    inside = tell.told.index("Net.fc.0")
    assert tell.told[inside + 1] == "Net.fc"
