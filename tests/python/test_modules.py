"""The paths of PyTorch modules; with PyTorch itself if it is installed."""

import contextlib
import gc
import sys
import threading
import types
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


class Reporter:
    def __init__(self):
        self.reported = []

    def __call__(self, path):
        self.reported.append(path and path.decode())

    @property
    def now(self):
        return self.reported[-1]


@pytest.fixture
def report():
    return Reporter()


@pytest.fixture
def tracker(report):
    return _modules.Tracker(report)


def model():
    attn = Linear()
    return GPT(blocks=Module(**{"0": Module(attn=attn)})), attn


def test_a_path_is_the_names_from_the_root_on(tracker, report):
    root, attn = model()
    block = root._modules["blocks"]._modules["0"]  # the list around it is never called
    for module in (root, block, attn):
        tracker.enter(module)
    for module in (attn, block, root):
        tracker.leave(module)
    assert report.reported == [
        "GPT",
        "GPT.blocks.0",
        "GPT.blocks.0.attn",
        "GPT.blocks.0",
        "GPT",
        None,
    ]


def test_a_module_that_is_in_none_is_where_it_was_called(tracker, report):
    root, attn = model()
    tracker.enter(root)
    tracker.enter(Linear())
    assert report.now == "GPT.Linear"


def test_a_module_that_was_added_later_is_found(tracker, report):
    root, _ = model()
    tracker.enter(root)
    tracker.leave(root)
    root._modules["head"] = Linear()
    tracker.enter(root)
    tracker.enter(root._modules["head"])
    assert report.now == "GPT.head"


class Frames:
    """torch._C._dynamo.eval_frame: who sees new frames, and which functions are run as they are."""

    class _FrameAction:
        DEFAULT, SKIP = 0, 1

    def __init__(self, way):
        self.watcher = None
        self.skipped = []
        if way == "skip_code":
            self.skip_code = self.skipped.append
        elif way == "strategy":
            self._FrameExecStrategy = lambda *actions: actions
            self.set_code_exec_strategy = self._set
        self.set_eval_frame = self._watch

    def _set(self, code, strategy):
        assert strategy == (self._FrameAction.SKIP, self._FrameAction.DEFAULT)
        self.skipped.append(code)

    def _watch(self, watcher):
        was, self.watcher = self.watcher, watcher
        return was


class Torch:
    """As much of PyTorch as is changed. way is that of its compiler; None: there is none."""

    def __init__(self, way="strategy"):
        class Called(Module):
            def __call__(self, *args, **kwargs):
                return self.forward(*args, **kwargs)

        self.own = Called.__call__
        self.nn = types.SimpleNamespace(Module=Called)
        self.compiler = types.SimpleNamespace(is_compiling=lambda: self.compiles)
        self.compiles = False
        self.frames = Frames(way)
        dynamo = types.SimpleNamespace(eval_frame=self.frames)
        self._C = types.SimpleNamespace(_dynamo=dynamo) if way else types.SimpleNamespace()

    def module(self, forward, name="Net"):
        return type(name, (self.nn.Module,), {"forward": staticmethod(forward)})()


@pytest.mark.parametrize("way", [None, "skip_code", "strategy"])
def test_a_module_that_raises_is_left_and_its_exception_is_the_programs(way, report):
    torch = Torch(way)
    _modules._register(torch, _modules.Tracker(report))
    bad = torch.module(lambda: {}["no such"], "Bad")
    good = torch.module(lambda: report.now, "Good")

    def forward():
        with pytest.raises(KeyError):
            bad()
        assert report.now == "Net"
        return good()

    net = torch.module(forward)
    net._modules.update(bad=bad, good=good)
    assert net() == "Net.good"
    assert report.reported == ["Net", "Net.bad", "Net", "Net.good", "Net", None]
    with pytest.raises(KeyError):
        bad()
    assert report.now is None


def test_a_root_that_calls_itself_is_still_around_what_follows(report):
    torch = Torch()
    _modules._register(torch, _modules.Tracker(report))

    def forward(depth):
        if depth:
            net(depth - 1)
        return report.now

    net = torch.module(forward)
    assert net(3) == "Net"
    assert report.reported == ["Net", None]


def test_a_compiled_module_and_its_original_have_one_path(report):
    torch = Torch()
    _modules._register(torch, _modules.Tracker(report))
    inner = torch.module(lambda: None, "Linear")
    net = torch.module(lambda: inner())
    net._modules["fc"] = inner
    compiled = torch.module(lambda: net(), "OptimizedModule")
    compiled._modules["_orig_mod"] = net
    compiled()
    assert report.reported == ["OptimizedModule", "OptimizedModule.fc", "OptimizedModule", None]


@pytest.mark.parametrize("way", ["skip_code", "strategy"])
def test_dynamo_sees_no_frame_of_ours_and_all_of_the_modules(way):
    torch, seen = Torch(way), []
    tracker = _modules.Tracker(lambda path: seen.append((path, torch.frames.watcher)))
    code = _modules._register(torch, tracker)
    assert torch.frames.skipped == [code] == [torch.nn.Module.__call__.__code__]
    net = torch.module(lambda: seen.append(("forward", torch.frames.watcher)))
    bad = torch.module(lambda: 1 // 0, "Bad")
    torch.frames.watcher = "Dynamo"
    net()
    with pytest.raises(ZeroDivisionError):
        bad()
    assert torch.frames.watcher == "Dynamo"
    none = [(b"Net", None), ("forward", "Dynamo"), (None, None), (b"Bad", None), (None, None)]
    assert seen == none


def test_a_call_that_is_compiled_is_the_modules_own(report):
    torch = Torch()
    _modules._register(torch, _modules.Tracker(report))
    torch.compiles = True
    assert torch.module(lambda x, y: x - y)(3, y=1) == 2
    assert report.reported == []


def test_dynamo_still_inlines_forward_if_it_was_imported_before(monkeypatch, report):
    torch, other = Torch(), object()
    names = ("torch._dynamo.utils", "torch._dynamo.variables.nn_module")
    there = [types.SimpleNamespace(unpatched_nn_module_call=call) for call in (torch.own, other)]
    for name, module in zip(names, there):
        monkeypatch.setitem(sys.modules, name, module)
    _modules._register(torch, _modules.Tracker(report))
    assert torch.nn.Module.__call__ is not torch.own
    assert there[0].unpatched_nn_module_call is torch.nn.Module.__call__
    assert there[1].unpatched_nn_module_call is other


def test_a_pytorch_whose_compiler_would_trace_us_is_left_unchanged(report):
    torch = Torch("another way")
    with pytest.raises(RuntimeError):
        _modules._register(torch, _modules.Tracker(report))
    assert torch.nn.Module.__call__ is torch.own


def test_threads_have_modules_of_their_own(tracker, report):
    root, attn = model()
    tracker.enter(root)
    other = threading.Thread(target=tracker.enter, args=(attn,))
    other.start()
    other.join()
    assert report.now == "Linear"
    tracker.enter(attn)
    assert report.now == "GPT.blocks.0.attn"


def test_freed_models_are_removed(tracker):
    for _ in range(100):
        root, attn = model()
        tracker.enter(root)
        tracker.enter(attn)
        tracker.leave(attn)
        tracker.leave(root)
        del root, attn
        gc.collect()
    assert len(tracker._roots) <= 2


@contextlib.contextmanager
def hooked(torch, report):
    """PyTorch as it is recorded, and then as it was."""
    call = torch.nn.Module.__call__
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*global hooks")
            _modules._register(torch, _modules.Tracker(report))
            yield
    finally:
        _modules._install(torch, call)


def test_threads_that_forget_models_at_once_are_not_in_each_others_way(tracker):
    """As DataParallel does, whose replicas live for one pass."""
    failed = []

    def work():
        try:
            for _ in range(300):
                root, attn = model()
                tracker.enter(root)
                tracker.enter(attn)
                tracker.leave(attn)
                tracker.leave(root)
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


def test_what_fails_in_the_tracker_does_not_reach_the_program(report):
    class Odd(Module):
        def named_modules(self, prefix="", seen=None):
            raise RuntimeError("not the program's")

    enter, leave = _modules._guarded(_modules.Tracker(report))
    odd, root = Odd(), model()[0]
    enter(odd)
    leave(odd)
    enter(root)
    assert report.reported == []


def test_a_compiled_model_is_still_one_graph_without_warnings(report):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "compiler"):
        pytest.skip("this PyTorch has no torch.compiler")
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.ReLU()))
    compiled = torch.compile(net, backend="eager", fullgraph=True)
    with hooked(torch, report):
        assert compiled(torch.ones(1, 2)).shape == (1, 2)
        report.reported.clear()
        compiled(torch.ones(1, 2))
    assert [path for path in report.reported if path] == ["OptimizedModule"]
    assert report.now is None


def frames_of(torch, build, report=None):
    """How many frames Dynamo compiles of a model, and what the model computes."""
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(1)
    net = torch.compile(build(), backend=counter)
    with hooked(torch, report) if report else contextlib.nullcontext():
        results = [net(torch.ones(3, 4)) for _ in range(3)]
    frames = dict(torch._dynamo.utils.counters["frames"])
    return frames, counter.frame_count, counter.op_count, [r.tolist() for r in results]


@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("hook", [False, True])
def test_dynamo_compiles_the_same_frames_as_without_accelprof(report, breaks, hook):
    torch = pytest.importorskip("torch")
    if not hasattr(torch, "compiler"):
        pytest.skip("this PyTorch has no torch.compiler")
    import torch._dynamo.testing

    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x):
            if breaks:
                torch._dynamo.graph_break()
            return self.fc(x) + x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(2))
            if hook:
                self.blocks[0].register_forward_hook(lambda module, args, result: result * 2)

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    assert frames_of(torch, Net, report) == frames_of(torch, Net)
    assert "OptimizedModule" in report.reported
    assert report.now is None


def test_with_pytorch_itself(report):
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

    with hooked(torch, report):
        Net()(torch.ones(1, 2))
    reported = [path for path in report.reported if path is not None]
    assert [path for i, path in enumerate(reported) if path not in reported[:i]] == [
        "Net",
        "Net.bad",
        "Net.fc",
        "Net.fc.0",
        "Net.fc.1",
    ]
    assert report.now is None
    inside = report.reported.index("Net.fc.0")
    assert report.reported[inside + 1] == "Net.fc"
