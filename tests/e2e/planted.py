"""planted.py ACCELPROF - is each planted cause the first finding of summary, with a bound that holds?

A small simulator of a host that launches and a device that works in order makes traces in the format
of PyTorch Profiler: each program once with a planted cause, and once without it. The simulator knows
how much time the fix saves. The bound of the first finding must be at least as large, and at most
twice as large. The fixed program must not have the finding.
"""
import json
import os
import subprocess
import sys
from contextlib import contextmanager

STEPS = 22
GEMM = "cutlass_80_simt_sgemm_256x128_8x4_nn_align1"
MUL = ("void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, "
       "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >(int, float)")


class Program:
    """The times are us. `t` is the host's time, `free` the end of all work of the device."""

    def __init__(self):
        self.t, self.free, self.corr, self.ext = 1000.0, 0.0, 0, 0
        self.events = []

    def span(self, cat, name, begin, end, pid=100, tid=100, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                            "ts": round(begin, 3), "dur": round(end - begin, 3), "args": args})

    @contextmanager
    def within(self, cat, name, **args):
        begin = self.t
        yield
        self.span(cat, name, begin, self.t, **args)

    def region(self, name):
        return self.within("user_annotation", name)

    def function(self, line):
        return self.within("python_function", line)

    def call(self, name, us, cat="cuda_runtime"):
        self.corr += 1
        self.span(cat, name, self.t, self.t + us, correlation=self.corr)
        self.t += us
        return self.corr

    def work(self, cat, name, us, **args):
        """Queues work behind all other work, 2 us after its launch at the earliest."""
        begin = max(self.t + 2, self.free)
        self.free = begin + us
        self.span(cat, name, begin, self.free, pid=0, tid=7, device=0, context=1, stream=7,
                  correlation=self.corr, **args)

    def op(self, name, kernel, us, host=6.0, inputs=(), scalars=(), grid=(1024, 1, 1), shared=0):
        self.ext += 1
        args = {"External id": self.ext, "Input type": ["float"] * len(inputs),
                "Input Dims": [list(i) for i in inputs], "Concrete Inputs": [""] * len(inputs)}
        if scalars:
            args["Input type"] += ["Scalar"] * len(scalars)
            args["Input Dims"] += [[]] * len(scalars)
            args["Concrete Inputs"] += list(scalars)
        with self.within("cpu_op", name, **args):
            self.t += host / 2
            self.call("cudaLaunchKernel", host / 3)
            self.work("kernel", kernel, us, grid=list(grid), block=[256, 1, 1],
                      **{"shared memory": shared, "registers per thread": 32})
            self.t += host / 6

    def copy(self, name, nbytes, us, blocking):
        self.call("cudaMemcpyAsync", 4)
        self.work("gpu_memcpy", name, us, bytes=nbytes)
        if blocking:
            self.sync("cudaStreamSynchronize")

    def sync(self, name="cudaDeviceSynchronize"):
        """The host waits for the device."""
        end = max(self.t, self.free) + 3
        self.call(name, end - self.t)

    def run(self, step, steps=STEPS):
        ends = []
        for i in range(steps):
            with self.region(f"ProfilerStep#{i}"):
                step(self, i)
            ends.append(max(self.free, self.t))
        self.sync()
        self.took = (ends[-1] - ends[1]) / (steps - 2)  # as in the diagnosis, without two steps
        return self

    def write(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"schemaVersion": 1, "baseTimeNanoseconds": 1700000000000000000,
                       "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3",
                                             "totalGlobalMem": 85000000000, "computeMajor": 9,
                                             "computeMinor": 0, "numSms": 132}],
                       "traceEvents": self.events}, f)


def layers(p, count=20, us=200.0):
    """Work that keeps the device busy and that no rule objects to."""
    for _ in range(count):
        p.op("aten::layer_norm", "layer_norm_kernel", us, inputs=[(4096, 4096)])


# -- Each planted program, and the same program with the fix. --

def launch_bound(p, i, fixed):
    if fixed:  # a graph: one launch, all kernels one after another
        p.t += 30
        p.call("cudaGraphLaunch", 20)
        for _ in range(200):
            p.work("kernel", MUL, 3, grid=[16, 1, 1], block=[256, 1, 1])
        p.sync()
        return
    for _ in range(200):
        p.op("aten::mul", MUL, 3, host=15, inputs=[(64, 64), (64, 64)], grid=(16, 1, 1))
    p.sync()


def item(p, i, fixed):
    for _ in range(10):
        layers(p, 5)
        if not fixed:
            with p.function("train.py(91): log_loss"), p.within("cpu_op", "aten::item"), \
                    p.within("cpu_op", "aten::_local_scalar_dense"):
                p.copy("Memcpy DtoH (Device -> Pinned)", 4, 1.5, True)
        with p.function("train.py(95): bookkeeping"):
            p.t += 100


def loader(p, i, fixed):
    with p.region("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"):
        p.t += 50 if fixed else 6000
    layers(p)


def pageable(p, i, fixed):
    size = 64 << 20
    with p.function("train.py(40): to_device"), p.within("cpu_op", "aten::copy_"):
        if fixed:
            p.copy("Memcpy HtoD (Pinned -> Device)", size, size / 55e3, False)
        else:
            p.copy("Memcpy HtoD (Pageable -> Device)", size, size / 6e3, True)
    layers(p)


def gemm(p, i, fixed):
    flops = 2 * 4096 ** 3
    name = "sm80_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x16" if fixed else GEMM
    layers(p, 5)
    for _ in range(4):
        p.op("aten::mm", name, flops / (400e6 if fixed else 50e6), inputs=[(4096, 4096), (4096, 4096)],
             grid=(512, 1, 1))


def small_grid(p, i, fixed):
    layers(p, 5)
    for _ in range(10):
        p.op("aten::custom", "big_block_kernel", 200 if fixed else 400,
             grid=(132 if fixed else 140, 1, 1), inputs=[(64, 64)], shared=200 << 10)


def churn(p, i, fixed):
    layers(p)
    if not fixed:
        p.sync()
        with p.function("train.py(55): scratch"):
            for _ in range(4):
                p.call("cudaMalloc", 400)
                p.call("cudaFree", 300)


def recompile(p, i, fixed):
    layers(p)
    if not fixed and i > 3 and not i % 2:
        p.sync()
        with p.function("inductor.py(7): load"):
            p.call("cuModuleLoadData", 9000, "cuda_driver")


CASES = {  # the program, what its first finding is
    "launch_bound": (launch_bound, "the device waits for launches"),
    "item": (item, "a synchronization leaves the device idle"),
    "loader": (loader, "the device waits for input"),
    "pageable": (pageable, "copies of pageable memory"),
    "gemm": (gemm, "float32 products do not use tensor cores"),
    "small_grid": (small_grid, "the last thread blocks of a kernel leave multiprocessors idle"),
    "churn": (churn, "the device waits while memory is allocated or freed"),
    "recompile": (recompile, "the device waits while code is compiled or loaded"),
}


def findings(accelprof, trace):
    out = subprocess.run([accelprof, "report", trace, "-t", "summary", "--format", "json"],
                         capture_output=True, check=True, text=True).stdout
    (tool,) = json.loads(out)["tools"]
    return [f for f in tool["findings"] if f.get("saving") or f.get("saving_ns")], tool


def main():
    accelprof, wrong = sys.argv[1], 0
    for name in sys.argv[2:] or CASES:
        program, expected = CASES[name]
        slow = Program().run(lambda p, i, f=program: f(p, i, False))
        fixed = Program().run(lambda p, i, f=program: f(p, i, True))
        slow.write(f"{name}.json")
        fixed.write(f"{name}-fixed.json")
        real = (slow.took - fixed.took) * 1000
        found, tool = findings(accelprof, f"{name}.json")
        after, _ = findings(accelprof, f"{name}-fixed.json")
        first = found[0] if found else {"what": "nothing"}
        bound = next((dict(zip([c["name"] for c in t["columns"]], t["rows"][0]))["saves_at_most"]
                      for t in tool["tables"] if t["name"] == "finding"), 0)
        ratio = real / bound if bound else 0
        good = first["what"] == expected and 0.5 <= ratio <= 1.1 and \
            expected not in [f["what"] for f in after]
        print(f"{'ok  ' if good else 'FAIL'} {name}: first: {first['what']}; saves {real / 1000:.1f} us a "
              f"step of {slow.took:.1f} us, {100 * ratio:.0f} % of the bound; after the fix: "
              f"{[f['what'] for f in after]}")
        wrong += not good
    sys.exit(wrong > 0)


main()
