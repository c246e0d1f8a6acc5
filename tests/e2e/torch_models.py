"""torch_models.py MODE OUT - a transformer and a CNN that train two steps, and views of tensors.

MODE is train, profile (train under torch.profiler, and write what it saw to OUT) or views (write
what each storage should look like to OUT). What is compared lies in the region "window", a
millisecond or more from its ends, where operators of the region's own are.
"""

import collections
import contextlib
import gc
import json
import sys
import time
import warnings

warnings.simplefilter("ignore")
import torch  # noqa: E402
from torch import nn  # noqa: E402

try:
    import accelprof._torch

    attached = accelprof._torch.attach()
except ImportError:
    attached = False


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(8 * 7 * 7, 10))

    def forward(self, x):
        return self.layers(x)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.layers(self.embed(x)).mean(dim=1))


def models():
    yield Cnn(), lambda: torch.randn(4, 3, 16, 16)
    yield Transformer(), lambda: torch.randint(0, 50, (4, 12))


def prepare():
    jobs = []
    for model, batch in models():
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        jobs.append((model, batch, optimizer))
        step(*jobs[-1])
    return jobs


def step(model, batch, optimizer):
    loss = nn.functional.cross_entropy(model(batch()), torch.randint(0, 10, (4,)))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss.detach()


@contextlib.contextmanager
def window():
    with torch.autograd.profiler.record_function("window"):
        time.sleep(0.002)
        yield
        time.sleep(0.002)


def train(jobs):
    with window():
        return [float(step(*job)) for job in jobs for _ in range(2)]


def times(event):
    """Begin and end of a profiler's event, in µs."""
    if hasattr(event, "start_us"):
        return event.start_us(), event.start_us() + event.duration_us()
    return event.start_ns() / 1000, (event.start_ns() + event.duration_ns()) / 1000


def profiled(jobs, out):
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profiler:
        losses = train(jobs)
    events = profiler.profiler.kineto_results.events()
    begin, end = next(times(e) for e in events if e.name() == "window")
    events = [e for e in events if begin + 1000 <= times(e)[0] <= end - 1000]
    names = collections.Counter(e.name() for e in events if e.name() != "[memory]")
    memory = [e.nbytes() for e in events if e.name() == "[memory]"]
    with open(out, "w") as f:
        json.dump({"names": names, "memory": memory}, f)
    return losses


def data_ptr(tensor):
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return storage.data_ptr()


def views(out):
    """Storages of different sizes with some views each, that are then written to in place."""
    wanted = {}
    keep = []
    for i in range(20):
        base = torch.zeros(100 + i, 4)
        made = [base.view(-1), base.t(), base[3], base.narrow(0, 1, 5), base[:, 1], base[2:].t()]
        made.append(made[0].view(4, -1))
        made += list(base.split(50))
        for view in made:
            assert view._base is base and data_ptr(view) == data_ptr(base)
        wanted[base.numel() * 4] = {"data": data_ptr(base), "views": [v.data_ptr() for v in made]}
        keep.append((base, made))
    with window():
        for base, made in keep:
            base.add_(1)
            for view in made:
                view.mul_(2)
            torch.add(base, 1, out=base)
            torch._foreach_add_([base, made[1]], 1)
    with open(out, "w") as f:
        json.dump(wanted, f)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    mode, out = sys.argv[1:3]
    gc.disable()
    if mode == "views":
        views(out)
        print("views")
        return
    jobs = prepare()
    print(profiled(jobs, out) if mode == "profile" else train(jobs))


if __name__ == "__main__":
    main()
