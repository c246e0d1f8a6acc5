"""gpt2.py [--warm BxT] [--profiler torch|torch-full|proton] [--device DEVICE] - trains GPT-2 on demand.

The smallest GPT-2 (12 layers of 768) with random weights, in PyTorch alone; bf16 by autocast. Prints
"ready" after some steps of the warm-up shape. Then each line of its input, "BxT N", runs N steps of this
shape and prints a line of JSON: {"ms": per step} or {"error": reason}.
"""
import argparse
import json
import os
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

WORDS, LAYERS, WIDTH, HEADS, LONGEST = 50257, 12, 768, 12, 1024
WARM, WARM_FIRST = 2, 3
KEEP = 10 << 30  # bytes that a process may go on holding between its blocks


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2)
                   for y in self.qkv(self.norm1(x)).split(WIDTH, dim=2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.words(tokens) + self.positions.weight[:tokens.shape[1]]
        return functional.linear(self.norm(self.blocks(x)), self.words.weight)


class Trainer:
    """One model for all shapes, so that many processes fit on one GPU."""

    def __init__(self, device):
        torch.manual_seed(1)
        self.device = device
        self.model = GPT2().to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.tokens = {}

    def step(self, shape):
        tokens = self.tokens[shape]
        with torch.autocast(self.device, dtype=torch.bfloat16):
            out = self.model(tokens[:, :-1])
            loss = functional.cross_entropy(out.reshape(-1, WORDS), tokens[:, 1:].reshape(-1))
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def steps(self, shape, count):
        for _ in range(count):
            self.step(shape)
        if self.device == "cuda":
            torch.cuda.synchronize()

    def warm(self, shape):
        """The second time, only the allocator must be filled again."""
        known = shape in self.tokens
        if not known:
            batch, length = map(int, shape.split("x"))
            self.tokens[shape] = torch.randint(WORDS, (batch, length + 1), device=self.device)
        self.steps(shape, WARM if known else WARM_FIRST)

    def tidy(self):
        """Releases GPU memory to the others, except for what the small shapes need."""
        if self.device == "cuda" and torch.cuda.memory_reserved() > KEEP:
            torch.cuda.empty_cache()


class Profiler:
    """Proton runs for the whole time. torch.profiler holds all events in memory, so it is started
    before the warm-up steps of a block and stopped after the block."""

    def __init__(self, name, device, folder):
        self.name, self.torch, self.proton = name, None, None
        self.activities = [torch.profiler.ProfilerActivity.CPU]
        if device == "cuda":
            self.activities.append(torch.profiler.ProfilerActivity.CUDA)
        if name == "proton":
            import triton.profiler as proton
            self.proton = proton
            proton.start(os.path.join(folder, "proton"))

    def __enter__(self):
        if self.name in ("torch", "torch-full"):
            full = self.name == "torch-full"
            self.torch = torch.profiler.profile(activities=self.activities, record_shapes=full,
                                                profile_memory=full, with_stack=full)
            self.torch.start()

    def __exit__(self, *error):
        if self.torch:
            self.torch.stop()
            self.torch = None

    def close(self):
        if self.proton:
            self.proton.finalize()


def block(trainer, profiler, shape, steps):
    with profiler:
        trainer.warm(shape)
        begin = time.perf_counter()
        trainer.steps(shape, steps)
        took = time.perf_counter() - begin
    return {"ms": took / steps * 1e3}


def answer(trainer, profiler, line):
    shape, steps = line.split()
    try:
        found = block(trainer, profiler, shape, int(steps))
    except torch.cuda.OutOfMemoryError:
        found = {"error": "out of the GPU's memory"}
        trainer.optimizer.zero_grad(set_to_none=True)
    trainer.tidy()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--warm", default="8x512")
    parser.add_argument("--profiler", choices=["torch", "torch-full", "proton"])
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(args.device)
        trainer.warm(args.warm)
        profiler = Profiler(args.profiler, args.device, folder)
        block(trainer, profiler, args.warm, 1)
        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(answer(trainer, profiler, line)), flush=True)
        profiler.close()


if __name__ == "__main__":
    main()
