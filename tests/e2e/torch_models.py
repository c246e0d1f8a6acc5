"""torch_models.py MODE OUT - a transformer and a CNN that train two steps, and views of tensors.

MODE is waits (wait for data, in steps of torch.profiler), values (call operators with known arguments, and write their descriptions to OUT), train,
profile (train under torch.profiler, and write what it saw to OUT), shapes (train
under torch.profiler, and write the arguments of operators to OUT) or views (write
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

CUT = (16 << 10) - 3  # longer descriptions are cut

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


def shapes(jobs, out):
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True
    ) as profiler:
        losses = train(jobs)
    events = profiler.profiler.kineto_results.events()
    begin, end = next(times(e) for e in events if e.name() == "window")
    seen = []
    for e in events:
        if begin + 1000 <= times(e)[0] <= end - 1000:
            args = {"Input type": e.dtypes(), "Input Dims": e.shapes()}
            if hasattr(e, "concrete_inputs"):  # PyTorch 2.1
                args["Concrete Inputs"] = [str(v) for v in e.concrete_inputs()]
            seen.append((e.name(), args))
    with open(out, "w") as f:
        json.dump(seen, f)
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


def values(out):
    """Known arguments: [name, inputs, scalars, strides, outputs] of some operators."""
    image, filters, long = torch.zeros(2, 3, 8, 8), torch.zeros(6, 1, 3, 3), torch.zeros(4, 8)
    half, many = long.bfloat16(), [torch.zeros(2, 3), torch.zeros(()), torch.zeros(3, 2).t()]
    wide = torch.zeros(1 << 12, 1)
    with window(), torch.no_grad():
        torch.convolution(image, filters, None, [2, 2], [3, 3], [1, 1], False, [0, 0], 3)
        torch.ops.aten.convolution_backward(
            torch.zeros(2, 6, 6, 6), image, filters, [6], [1, 1], [0, 0], [1, 1], False, [0, 0], 3,
            [True, True, True])
        torch.addmm(torch.zeros(5), long, torch.zeros(5, 8).t(), beta=0.5, alpha=2)
        torch.add(long, torch.zeros(8).expand(4, 8), alpha=3)
        torch.mm(half, torch.zeros(8, 8).bfloat16().expand(8, 8).t())
        torch.cat(many[:1] + many[2:], 1 - 1)
        torch._foreach_mul(many, 1e-3)
        torch._foreach_add(many, [0.5, 1.0, 2.0])
        torch.empty(0)
        torch.einsum("ij,kj->ik", long, long)
        torch.clamp(long, min=None, max=1e30)
        torch.index_select(long, 0, torch.tensor([3]))
        torch.chunk(wide, 1 << 12)
        torch.stack(wide.unbind(), 0)
        torch.dropout(torch.zeros(3, 1, 2).permute(2, 1, 0), 0.25, True)
    wanted = [
        ["aten::convolution", "float[2,3,8,8], float[6,1,3,3], -, ScalarList, ScalarList, "
         "ScalarList, Scalar, ScalarList, Scalar", ";;;[2, 2];[3, 3];[1, 1];False;[0, 0];3", "",
         "float[2,6,6,6]"],
        ["aten::convolution_backward", "float[2,6,6,6], float[2,3,8,8], float[6,1,3,3], ScalarList, "
         "ScalarList, ScalarList, ScalarList, Scalar, ScalarList, Scalar, ScalarList",
         ";;;[6];[1, 1];[0, 0];[1, 1];False;[0, 0];3;[True, True, True]", "",
         "float[2,3,8,8], float[6,1,3,3], float[6]"],
        ["aten::addmm", "float[5], float[4,8], float[8,5], Scalar, Scalar", ";;;0.5;2",
         ";;[1,8];;", "float[4,5]"],
        ["aten::add", "float[4,8], float[4,8], Scalar", ";;3", ";[0,1];", "float[4,8]"],
        ["aten::mm", "c10::BFloat16[4,8], c10::BFloat16[8,8]", "", ";[1,8]", "c10::BFloat16[4,8]"],
        ["aten::cat", "TensorList[[2,3],[2,3]], Scalar", ";0", "[[3,1],[1,2]];", "float[4,3]"],
        ["aten::_foreach_mul", "TensorList[[2,3],[],[2,3]], Scalar", ";0.001", "[[3,1],[],[1,2]];",
         "TensorList[[2,3],[],[2,3]]"],
        ["aten::_foreach_add", "TensorList[[2,3],[],[2,3]], ScalarList", ";[0.5, 1., 2.]",
         "[[3,1],[],[1,2]];", "TensorList[[2,3],[],[2,3]]"],
        ["aten::einsum", "-, TensorList[[4,8],[4,8]], -", "ij,kj->ik;;", "", "float[4,4]"],
        ["aten::clamp", "float[4,8], -, Scalar", ";;1e+30", "", "float[4,8]"],
        ["aten::index_select", "float[4,8], Scalar, long int[1]", ";0;", "", "float[1,8]"],
        ["aten::dropout", "float[2,1,3], Scalar, Scalar", ";0.25;True", "[1,2,2];;",
         "float[2,1,3]"],
        ["aten::stack", ("TensorList[" + "[1]," * (1 << 12))[:CUT] + "...", ";0", "", "float[4096,1]"],
    ]
    with open(out, "w") as f:
        json.dump(wanted, f)


class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, i):
        time.sleep(0.01)
        return torch.tensor(float(i))


def waits():
    """Two batches without and with a worker: one step each, which fetches 20 ms."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1),
    ) as profiler:
        for workers in (0, 1):
            for batch in torch.utils.data.DataLoader(Slow(), batch_size=2, num_workers=workers):
                batch.sum()
                profiler.step()
    with torch.profiler.record_function("_compile.compile_inner (dynamo_timed)"):
        time.sleep(0.01)


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    mode, out = sys.argv[1:3]
    gc.disable()
    if mode == "waits":
        waits()
        return
    if mode in ("views", "values"):
        {"views": views, "values": values}[mode](out)
        print(mode)
        return
    jobs = prepare()
    if mode == "shapes":
        print(shapes(jobs, out))
    else:
        print(profiled(jobs, out) if mode == "profile" else train(jobs))


if __name__ == "__main__":
    main()
