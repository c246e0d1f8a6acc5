"""memory_steps.py MODEL OUT - train a model for some steps, and write down PyTorch's own peaks."""
import json
import sys

import torch


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    config = WhisperConfig(
        d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048,
    )
    model = WhisperForConditionalGeneration(config)
    audio = torch.randn(4, config.num_mel_bins, 3000)
    labels = torch.randint(0, config.vocab_size, (4, 64))
    return model, lambda m, d: m(input_features=audio.to(d), labels=labels.to(d)).loss


def vit():
    from torchvision.models import vit_b_16

    images, labels = torch.randn(16, 3, 224, 224), torch.randint(0, 1000, (16,))
    return vit_b_16(weights=None), lambda m, d: torch.nn.functional.cross_entropy(m(images.to(d)), labels.to(d))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    ids = torch.randint(0, 50257, (4, 256))
    return GPT2LMHeadModel(GPT2Config()), lambda m, d: m(ids.to(d), labels=ids.to(d)).loss


def resnet50():
    from torchvision.models import resnet50 as build

    images, labels = torch.randn(16, 3, 224, 224), torch.randint(0, 1000, (16,))
    return build(weights=None), lambda m, d: torch.nn.functional.cross_entropy(m(images.to(d)), labels.to(d))


MODELS = {"whisper": whisper, "vit": vit, "gpt2": gpt2, "resnet50": resnet50}


def peaks():
    """What PyTorch's allocator counted, in bytes."""
    return {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}


def train(name, steps=3):
    """Train a model from random weights."""
    torch.manual_seed(1)
    model, loss_of = MODELS[name]()
    device = torch.device("cuda")
    model = model.to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(steps):
        optimizer.zero_grad(set_to_none=True)
        loss_of(model, device).backward()
        optimizer.step()
        if step == 1:
            torch.cuda.empty_cache()  # segments go and come again
    torch.cuda.synchronize()


if __name__ == "__main__":
    train(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump(peaks(), f)
