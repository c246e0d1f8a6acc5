#!/usr/bin/env python3
"""models.py - writes a trace of each model with the FLOPs that PyTorch counts for it.

Usage: models.py [FOLDER]. Needs PyTorch 2.5 or later and transformers. README.md describes the
files. The models run on the CPU, with random weights, one step forward and backward. A trace of the
CPU has no kernels, so the script adds one kernel of 1 us to each operator that calls no other.
"""

import gzip
import json
import pathlib
import sys
import tempfile

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode


class Bottleneck(nn.Module):
    """A block of ResNet-50."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != 4 * width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, 4 * width, 1, stride, bias=False),
                                            nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return self.relu(y + (self.downsample(x) if self.downsample else x))


class ResNet50(nn.Module):
    """The network of torchvision.models.resnet50."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for number, (count, width, stride) in enumerate(
                [(3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)], 1):
            blocks = []
            for i in range(count):
                blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                inputs = 4 * width
            setattr(self, f"layer{number}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


def resnet50():
    model, image, target = ResNet50(), torch.randn(2, 3, 224, 224), torch.tensor([1, 2])
    return lambda: nn.functional.cross_entropy(model(image), target).backward()


def language_model(name):
    """BERT-base or GPT-2, whose attention consists of products of matrices."""
    import transformers
    tokens = torch.randint(0, 1000, (2, 48))
    if name == "bert":
        config = transformers.BertConfig(attn_implementation="eager")
        model = transformers.BertForMaskedLM(config)
    else:
        config = transformers.GPT2Config(attn_implementation="eager")
        model = transformers.GPT2LMHeadModel(config)
    model.train()
    return lambda: model(input_ids=tokens, labels=tokens).loss.backward()




ARGUMENTS = ("External id", "Sequence number", "Fwd thread id", "Input type", "Input Dims",
             "Concrete Inputs")


def is_wanted(event):
    category = event.get("cat")
    if category == "python_function":
        return event["name"].startswith("nn.Module: ")
    return category == "cpu_op"


def trimmed(trace):
    """Returns the events that matter, with a kernel for each innermost operator."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and is_wanted(e)]
    base = min(e["ts"] for e in events)
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    kept, open_ops, inner = [], {}, []
    for e in events:
        small = {"ph": "X", "cat": e["cat"], "name": e["name"], "pid": 1, "tid": e["tid"],
                 "ts": round(e["ts"] - base, 3), "dur": round(e["dur"], 3)}
        if e["cat"] == "cpu_op":
            small["args"] = {k: v for k, v in e["args"].items() if k in ARGUMENTS}
            stack = open_ops.setdefault(e["tid"], [])
            while stack and stack[-1]["ts"] + stack[-1]["dur"] <= small["ts"]:
                stack.pop()
            if stack:
                stack[-1]["outer"] = True
            stack.append(small)
            inner.append(small)
        kept.append(small)
    kernels = []
    for number, e in enumerate(e for e in inner if not e.pop("outer", False)):
        args = {"correlation": number + 1}
        kernels.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1,
                        "tid": e["tid"], "ts": e["ts"], "dur": 0, "args": args})
        kernels.append({"ph": "X", "cat": "kernel", "name": "kernel of " + e["name"], "pid": 0,
                        "tid": 7, "ts": e["ts"] + 1e6, "dur": 1,
                        "args": {**args, "device": 0, "context": 1, "stream": 7,
                                 "grid": [1, 1, 1], "block": [32, 1, 1]}})
    return {"schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132,
                                  "computeMajor": 9, "computeMinor": 0,
                                  "totalGlobalMem": 85018279936}],
            "traceEvents": kept + kernels}


def record(name, step, folder):
    step()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_stack=True,
                 experimental_config=torch._C._profiler._ExperimentalConfig(verbose=True)) as prof:
        step()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        prof.export_chrome_trace(file.name)
        with open(file.name) as text:
            trace = trimmed(json.load(text))
    with gzip.GzipFile(folder / f"{name}.json.gz", "wb", 9, mtime=0) as out:
        out.write(json.dumps(trace, separators=(",", ":")).encode())
    with FlopCounterMode(display=False) as mode:
        step()
    counts = {str(op).replace("aten.", "aten::"): flops
              for op, flops in mode.get_flop_counts()["Global"].items()}
    return counts


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    torch.manual_seed(1)
    counts = {"resnet50": record("resnet50", resnet50(), folder)}
    for name in ("bert", "gpt2"):
        counts[name] = record(name, language_model(name), folder)
    (folder / "models.json").write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")


main()
