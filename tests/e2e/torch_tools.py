"""torch_tools.py MODE [OUT] - programs for which the results of the tools are known.

train: the models of torch_models.py, two steps each; which of their modules were called goes to OUT
profile: the same under torch.profiler, from before the models are built: the peak goes to OUT
lines: operators with a line each, which a comment names
leak: a list that grows by a loss an iteration, where it is marked
sizes: tensors of known sizes, 5 MiB at most at one time
"""

import gc
import json
import sys
import warnings

warnings.simplefilter("ignore")
import torch  # noqa: E402

MIB = 1 << 20


def watch(model, called):
    """Remember which modules are called, by the paths that the tool should have for them."""
    for name, module in model.named_modules():
        path = ".".join([type(model).__name__] + ([name] if name else []))
        module.register_forward_hook(lambda *_, path=path: called.add(path))


def train(called):
    import torch_models

    losses = []
    for model, batch in torch_models.models():
        if called is not None:
            watch(model, called)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses += [torch_models.step(model, batch, optimizer).item().hex() for _ in range(2)]
        del model, optimizer
        gc.collect()  # PyTorch itself makes a cycle of the first one, or does not
    return losses


def peak_of(profiler):
    """What torch.profiler saw: it began before anything was allocated."""
    live = peak = 0
    for event in profiler.profiler.kineto_results.events():
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    return peak


def profile():
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profiler:
        losses = train(None)
    return losses, {"peak": peak_of(profiler)}


def lines():
    x = torch.rand(8, 8, requires_grad=True)
    for _ in range(3):
        y = torch.tanh(x)  # op: aten::tanh, TanhBackward0
        y = torch.sigmoid(y)  # op: aten::sigmoid, SigmoidBackward0
        y = y @ x  # op: aten::mm, MmBackward0
        y = torch.cumsum(y, 0)  # op: aten::cumsum, CumsumBackward0
        y = torch.nn.functional.softplus(y)  # op: aten::softplus, SoftplusBackward0
        y = y.exp()  # op: aten::exp, ExpBackward0
        y.prod().backward()  # op: aten::prod, ProdBackward0
    return ["lines"]


def leak():
    import accelprof

    weight = torch.rand(1000, 100, requires_grad=True)
    retained = []
    for _ in range(9):
        accelprof.step()
        loss = weight * 2  # here: the leak
        scratch = weight.detach() + 1
        loss.sum().backward()
        retained.append(loss)
        del scratch
    return [len(retained)]


def sizes():
    retained = [torch.empty(MIB, dtype=torch.uint8) for _ in range(3)]
    twice = torch.empty(2 * MIB, dtype=torch.uint8)
    view = twice[MIB:]
    del twice
    retained.pop()
    retained += [torch.empty(MIB // 4, dtype=torch.float32)]
    del view
    return [len(retained)]


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    gc.disable()
    mode, out = sys.argv[1], {}
    if mode == "train":
        called = set()
        losses = train(called)
        out = {"modules": sorted(called)}
    elif mode == "profile":
        losses, out = profile()
    else:
        losses = {"lines": lines, "leak": leak, "sizes": sizes}[mode]()
    print(losses)
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as f:
            json.dump(out, f)


if __name__ == "__main__":
    main()
