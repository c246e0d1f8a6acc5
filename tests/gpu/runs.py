"""runs.py - the programs behind tests/data/runs, and their counts from other sources.

runs.py record WORK OUT   do the work, and write PyTorch's memory peaks to OUT
runs.py profile WORK OUT  the same under torch.profiler: kernels by name, copies and fills, and peaks

WORK is a model of memory_steps.py, llama (a decode) or ranks (one of two processes that train with
gradients averaged; torchrun starts them). OUT is JSON; of rank N it is OUT.N.
"""
import collections
import json
import os
import sys
import tempfile

import torch

import memory_steps


def llama():
    """A prompt of 64 tokens, then 24 more, one by one, with a cache of keys and values."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(1)
    config = LlamaConfig(
        hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=32000, max_position_embeddings=512,
    )
    model = LlamaForCausalLM(config).to("cuda", torch.bfloat16).eval()
    ids, past = torch.randint(0, config.vocab_size, (1, 64)).to("cuda"), None
    with torch.no_grad():
        for _ in range(25):
            out = model(ids, past_key_values=past, use_cache=True)
            past, ids = out.past_key_values, out.logits[:, -1:].argmax(-1)
    torch.cuda.synchronize()


def ranks():
    """A small network, trained by two processes on one device."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        optimizer.zero_grad(set_to_none=True)
        model(torch.randn(64, 512, device="cuda")).square().mean().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        optimizer.step()
    torch.cuda.synchronize()
    dist.barrier()
    dist.destroy_process_group()


def do(work):
    if work == "llama":
        llama()
    elif work == "ranks":
        ranks()
    else:
        memory_steps.train(work)


def profiled(work):
    """Device activities by type, and kernels by name, as torch.profiler counts them."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as prof:
        do(work)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        prof.export_chrome_trace(path)
        with open(path, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
    counts = collections.Counter(e.get("cat") for e in events if e.get("ph") == "X")
    kernels = collections.Counter(e["name"] for e in events if e.get("cat") == "kernel")
    copied = sum(e["args"]["bytes"] for e in events if e.get("cat") == "gpu_memcpy")
    return {
        "profiler": {
            "kernels": counts["kernel"], "copies": counts["gpu_memcpy"], "fills": counts["gpu_memset"],
            "copied_bytes": copied, "by_name": dict(kernels.most_common(10)),
        }
    }


def main():
    how, work, out = sys.argv[1:]
    found = profiled(work) if how == "profile" else do(work) or {}
    found.update(memory_steps.peaks())
    if "RANK" in os.environ:
        out += "." + os.environ["RANK"]
    with open(out, "w", encoding="utf-8") as f:
        json.dump(found, f, indent=1, sort_keys=True)


main()
