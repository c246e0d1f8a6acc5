"""forward.py gpt2|resnet18 [--warm N] [--device DEVICE] - runs forward passes of a model on demand.

The smallest GPT-2 (4 sequences of 256) or ResNet-18 (8 images of 224 x 224), with random weights, in
PyTorch alone: eval, float32, deterministic algorithms. Prints "ready" after some passes. Then each line
of its input, "MODEL N", runs N passes and prints a line of JSON: {"ms": per pass, "passes": since the
start}.
"""
import argparse
import json
import sys
import time

import torch
from torch import nn

import gpt2


class Basic(nn.Module):
    """Two convolutions with a shortcut."""

    def __init__(self, width, wider, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, wider, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(wider, wider, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(wider), nn.BatchNorm2d(wider)
        self.around = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(width, wider, 1, stride, bias=False), nn.BatchNorm2d(wider))

    def forward(self, x):
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.norm2(self.conv2(y)) + self.around(x))


def resnet18_model():
    widths = [64, 64, 128, 256, 512]
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
              nn.MaxPool2d(3, 2, 1)]
    for width, wider in zip(widths, widths[1:]):
        layers += [Basic(width, wider, 1 if width == wider else 2), Basic(wider, wider, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def make_gpt2(device, shape=(4, 256)):
    torch.manual_seed(1)
    model = gpt2.GPT2().to(device).eval()
    tokens = torch.randint(gpt2.WORDS, shape, device=device)
    return lambda: model(tokens)


def make_resnet18(device, shape=(8, 3, 224, 224)):
    torch.manual_seed(1)
    model = resnet18_model().to(device).eval()
    images = torch.randn(shape, device=device)
    return lambda: model(images)


MODELS = {"gpt2": make_gpt2, "resnet18": make_resnet18}


def passes(work, device, count):
    """Returns seconds."""
    begin = time.perf_counter()
    for _ in range(count):
        work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--warm", type=int, default=2, help="passes before it is ready (2)")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False
    with torch.inference_mode():
        work = MODELS[args.model](args.device)
        passes(work, args.device, args.warm)
        made = args.warm
        print("ready", flush=True)
        for line in sys.stdin:
            count = int(line.split()[1])
            made += count
            took = passes(work, args.device, count)
            print(json.dumps({"ms": took / count * 1e3, "passes": made}), flush=True)


if __name__ == "__main__":
    main()
