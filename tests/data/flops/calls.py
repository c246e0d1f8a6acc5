#!/usr/bin/env python3
"""calls.py - writes calls.tsv: random calls of operators, with the FLOPs that PyTorch counts.

Usage: calls.py [OUTPUT]. Needs PyTorch 2.5 or later. The calls run on the device "meta", so they
compute only shapes. Each line has the operator, its inputs and scalars in the formats of the
fields of op_begin, and the FLOPs of torch.utils.flop_counter. README.md lists the corrections.
"""

import random
import sys

import torch
from torch.utils import flop_counter
from torch.utils.flop_counter import FlopCounterMode

aten = torch.ops.aten
random.seed(20261119)


def size(high, low=1):
    return random.randint(low, high)


def text(value):
    """Returns inputs and scalars of one argument, as the importer of PyTorch traces writes them."""
    if isinstance(value, torch.Tensor):
        dims = ",".join(str(d) for d in value.shape)
        name = {torch.float32: "float", torch.float16: "c10::Half", torch.float64: "double",
                torch.bfloat16: "c10::BFloat16"}[value.dtype]
        return (f"{name}[{dims}]" if dims else name), ""
    if value is None:
        return "-", ""
    if isinstance(value, (list, tuple)):
        return "ScalarList", "[" + ", ".join(str(v) for v in value) + "]"
    return "Scalar", str(value)


def tensor(*dims):
    return torch.empty(dims, device="meta", dtype=DTYPE)


def line(name, args, flops):
    parts = [text(a) for a in args]
    inputs = ", ".join(p[0] for p in parts)
    scalars = ";".join(p[1] for p in parts)
    assert flops == int(flops)
    OUT.write(f"aten::{name}\t{inputs}\t{scalars}\t{int(flops)}\n")


def counted(name, *args):
    """Writes a call with the FLOPs that FlopCounterMode counts."""
    with FlopCounterMode(display=False) as mode:
        getattr(aten, name)(*args)
    line(name, args, mode.get_total_flops())


def products():
    m, k, n, b = size(300), size(300), size(300), size(9)
    counted("mm", tensor(m, k), tensor(k, n))
    counted("addmm", tensor(n), tensor(m, k), tensor(k, n))
    counted("bmm", tensor(b, m, k), tensor(b, k, n))
    counted("baddbmm", tensor(b, m, n), tensor(b, m, k), tensor(b, k, n))


def convolution():
    """Convolutions of one to three dimensions, forward and backward."""
    dims = size(3)
    groups = random.choice([1, 1, 2, 4])
    transposed = random.random() < 0.3
    cin, cout = groups * size(6), groups * size(6)
    kernel = [size(4) for _ in range(dims)]
    stride = [size(3) for _ in range(dims)]
    padding = [size(k, 0) // 2 for k in kernel]
    dilation = [size(2) for _ in range(dims)]
    extra = [random.randrange(s) if transposed else 0 for s in stride]
    extra = [e if e < max(s, d) else 0 for e, s, d in zip(extra, stride, dilation)]
    image = [size(20, 8) for _ in range(dims)]
    x = tensor(size(4), cin, *image)
    w = tensor(cin, cout // groups, *kernel) if transposed else tensor(cout, cin // groups, *kernel)
    bias = random.choice([None, tensor(cout)])
    options = (stride, padding, dilation, transposed, extra, groups)
    counted("convolution", x, w, bias, *options)
    y = aten.convolution(x, w, bias, *options)
    mask = random.choice([[True, True, False], [False, True, True], [True, False, False],
                          [True, True, True]])
    args = (y, x, w, [cout], *options, mask)
    if groups == 1:
        counted("convolution_backward", *args)
    else:
        # PyTorch counts too much here, so one pass of the backward counts as the forward does.
        with FlopCounterMode(display=False) as mode:
            aten.convolution(x, w, None, *options)
        line("convolution_backward", args, (mask[0] + mask[1]) * mode.get_total_flops())


def pairs(q, k, causal):
    """Counts the pairs of a causal mask, one by one: query i attends to keys 0 to i."""
    return sum(1 for i in range(q) for j in range(k) if not causal or j <= i)


def attention():
    b, h, q, k, d, dv = size(3), size(4), size(40), size(40), 8 * size(8), 8 * size(8)
    query, key, value = tensor(b, h, q, d), tensor(b, h, k, d), tensor(b, h, k, dv)
    grad, sums = tensor(b, h, q, dv), tensor(b, h, q)
    forward = flop_counter.sdpa_flop_count(query.shape, key.shape, value.shape)
    backward = flop_counter.sdpa_backward_flop_count(grad.shape, query.shape, key.shape,
                                                     value.shape)
    for causal in (False, True):
        share = pairs(q, k, causal)
        assert forward % (q * k) == 0 and backward % (q * k) == 0
        ahead, back = forward // (q * k) * share, backward // (q * k) * share
        line("_scaled_dot_product_flash_attention", (query, key, value, 0.0, causal, False), ahead)
        line("_scaled_dot_product_efficient_attention",
             (query, key, value, None, True, 0.0, causal), ahead)
        line("_scaled_dot_product_cudnn_attention",
             (query, key, value, None, True, 0.0, causal, False), ahead)
        line("_scaled_dot_product_flash_attention_backward",
             (grad, query, key, value, grad, sums, None, None, q, k, 0.0, causal), back)
        line("_scaled_dot_product_efficient_attention_backward",
             (grad, query, key, value, None, grad, sums, None, None, 0.0,
              [True, True, True, False], causal), back)
        swapped = [t.transpose(1, 2) for t in (query, key, value, grad)]
        line("_efficient_attention_forward",
             (*swapped[:3], None, None, None, None, None, 0.0, int(causal)), ahead)
        if not causal or q == k:
            line("_flash_attention_forward",
                 (*swapped[:3], None, None, q, k, 0.0, causal, False), ahead)
            line("_flash_attention_backward",
                 (swapped[3], *swapped[:3], swapped[3], sums, None, None, q, k, 0.0, causal), back)


with open(sys.argv[1] if len(sys.argv) > 1 else "calls.tsv", "w") as OUT:
    for DTYPE in (torch.float32, torch.bfloat16):
        for _ in range(25):
            products()
            convolution()
        for _ in range(6):
            attention()
