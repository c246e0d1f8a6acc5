"""dynamo.py OUT BACKEND - a small model, compiled by torch.compile: what Dynamo did goes to OUT.

Frames, graphs, operators, breaks, what the inductor's cache knew, and every bit of the results and
of the gradients: of a model that has modules in modules, of the same with a hook of its own, and with
a graph break; and what one computes that is not compiled.
"""

import json
import sys
import time

import torch
import torch._dynamo.testing
from torch import nn


class Block(nn.Module):
    def __init__(self, breaks):
        super().__init__()
        self.breaks = breaks
        self.norm = nn.LayerNorm(32)
        self.mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))

    def forward(self, x):
        if self.breaks:
            torch._dynamo.graph_break()
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, breaks=False, hook=False):
        super().__init__()
        self.blocks = nn.ModuleList(Block(breaks and i == 1) for i in range(3))
        if hook:
            self.blocks[0].register_forward_hook(lambda module, args, result: result * 2)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Eager(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(32, 32)

    def forward(self, x):
        return torch.relu(self.fc(x))


def bits(tensor):
    return tensor.detach().to("cpu", torch.float32).contiguous().view(torch.int32).flatten().tolist()


def run(build, backend, device):
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    counters.clear()
    torch.manual_seed(7)
    net = build().to(device)
    x = torch.randn(8, 32, device=device, requires_grad=True)
    counter = torch._dynamo.testing.CompileCounterWithBackend(backend)
    compiled = torch.compile(net, backend=counter)
    begin = time.perf_counter()
    results = [compiled(x) for _ in range(3)]
    seconds = time.perf_counter() - begin
    results[-1].sum().backward()
    summary = {
        "frames": dict(counters["frames"]),
        "graphs": counter.frame_count,
        "operators": counter.op_count,
        "breaks": sum(counters["graph_break"].values()),
        "cache": {k: v for k, v in sorted(counters["inductor"].items()) if "fxgraph_cache" in k},
        "results": [bits(r) for r in results],
        "gradient": bits(x.grad),
    }
    return summary, seconds


def main(out, backend):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    plain, seconds = run(Net, backend, device)
    hooked, _ = run(lambda: Net(hook=True), backend, device)
    broken, _ = run(lambda: Net(breaks=True), backend, device)
    torch.manual_seed(7)
    eager = bits(Eager().to(device)(torch.ones(2, 32, device=device)))
    with open(out, "w", encoding="utf-8") as file:
        summary = {"plain": plain, "hooked": hooked, "broken": broken, "eager": eager}
        json.dump(summary, file, indent=1)
    print(f"PyTorch {torch.__version__}, {device}, {backend}: {seconds:.2f} s, {plain['frames']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
