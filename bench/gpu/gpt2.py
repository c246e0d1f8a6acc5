"""gpt2.py [--shape BxT,...] [--blocks N] [--steps N] [--profiler torch|proton] - GPT-2 is trained.

The smallest GPT-2 (12 layers of 768) with random weights, in PyTorch alone; bf16 by autocast. Prints
the time of a step in each block, in ms, as JSON: {"8x512": [...], ...}. Where a shape does not fit
into the GPU's memory it has null.
"""
import argparse
import json
import os
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional

WORDS, LAYERS, WIDTH, HEADS, LONGEST = 50257, 12, 768, 12, 1024


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
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.words(tokens) + self.places.weight[:tokens.shape[1]]
        return functional.linear(self.norm(self.blocks(x)), self.words.weight)


def trainer(batch, length):
    torch.manual_seed(1)
    model = GPT2().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    tokens = torch.randint(WORDS, (batch, length + 1), device="cuda")

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out = model(tokens[:, :-1])
            loss = functional.cross_entropy(out.reshape(-1, WORDS), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


class Profiler:
    """Started before the first block and stopped after the last, as people use them."""

    def __init__(self, name, folder):
        self.name, self.folder, self.torch = name, folder, None

    def __enter__(self):
        if self.name == "torch":
            self.torch = torch.profiler.profile(activities=[
                torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA])
            self.torch.__enter__()
        elif self.name == "proton":
            import triton.profiler as proton
            proton.start(os.path.join(self.folder, "proton"))

    def __exit__(self, *error):
        if self.name == "torch":
            self.torch.__exit__(*error)
        elif self.name == "proton":
            import triton.profiler as proton
            proton.finalize()


def measure(shape, args, folder):
    step = trainer(*map(int, shape.split("x")))
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    blocks = []
    with Profiler(args.profiler, folder):
        step()
        torch.cuda.synchronize()
        for _ in range(args.blocks):
            begin = time.perf_counter()
            for _ in range(args.steps):
                step()
            torch.cuda.synchronize()
            blocks.append((time.perf_counter() - begin) / args.steps * 1e3)
    return blocks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--shape", default="8x512,32x1024")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--profiler", choices=["torch", "proton"])
    args = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for shape in args.shape.split(","):
            try:
                found[shape] = measure(shape, args, folder)
            except torch.cuda.OutOfMemoryError:
                found[shape] = None
            torch.cuda.empty_cache()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
