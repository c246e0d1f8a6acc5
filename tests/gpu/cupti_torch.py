"""cupti_torch.py - trains models for two steps, and checks what a run recorded.

cupti_torch.py has MODEL                 can it be built here? Prints why not
cupti_torch.py train MODEL OUT [profile] losses, weights and the time of the steps, as JSON; with
                                         torch.profiler its kernels as well
cupti_torch.py compare NATIVE NATIVE RECORDED DATABASE PROFILED [RECORDED DATABASE PROFILED]...
                                         status 2: only kernel times differ by more than 1 %

MODEL is resnet50, bert or gpt2, of torchvision and transformers, with random weights.
"""
import hashlib
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time

STEPS = 2
ALIKE = 0.01
DEVICE = os.environ.get("PASTA_TORCH_DEVICE", "cuda")  # "cpu" to try the test itself
PAUSE = 0.1  # s: on both sides of the steps, so that clocks need not agree to the last bit


# -- Models: each gives its loss --

def resnet50(torch):
    from torchvision.models import resnet50 as build
    model = build(weights=None).to(DEVICE)
    x = torch.randn(16, 3, 224, 224, device=DEVICE)
    y = torch.randint(1000, (16,), device=DEVICE)
    return model, lambda: torch.nn.functional.cross_entropy(model(x), y)


def bert(torch):
    from transformers import BertConfig, BertForMaskedLM
    model = BertForMaskedLM(BertConfig()).to(DEVICE)
    x = torch.randint(model.config.vocab_size, (8, 128), device=DEVICE)
    return model, lambda: model(input_ids=x, labels=x).loss


def gpt2(torch):
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config()).to(DEVICE)
    x = torch.randint(model.config.vocab_size, (4, 256), device=DEVICE)
    return model, lambda: model(input_ids=x, labels=x).loss


MODELS = {"resnet50": resnet50, "bert": bert, "gpt2": gpt2}
NEEDS = {"resnet50": "torchvision", "bert": "transformers", "gpt2": "transformers"}


def has(name):
    try:
        __import__(NEEDS[name])
    except Exception as e:  # a package that is broken is as good as none
        print(f"{name}: no {NEEDS[name]}: {str(e).splitlines()[0] if str(e) else type(e).__name__}")
        return 1
    return 0


# -- Training --

def seed(torch):
    torch.manual_seed(7)
    # What has no deterministic form only warns: whether losses can be compared is seen natively.
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False


def fingerprint(model):
    sha = hashlib.sha256()
    for p in model.parameters():
        sha.update(p.detach().cpu().numpy().tobytes())
    return sha.hexdigest()


def kernels_of(profiler):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as f:
            events = json.load(f)["traceEvents"]
    runs = [e["dur"] for e in events if e.get("cat") == "kernel"]
    return [len(runs), round(sum(runs) * 1000)]


def train(name, out, profiled):
    import torch
    seed(torch)
    model, loss_of = MODELS[name](torch)
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    found = {"model": name, "losses": []}

    def step():
        loss = loss_of()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss

    found["losses"].append(step().item().hex())  # libraries load their kernels at first
    profile = lambda: torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    if profiled:
        with profile():  # and so does the profiler
            torch.ones(1, device="cuda").add_(1)
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    profiler = profile() if profiled else None
    if profiler:
        profiler.start()
    time.sleep(PAUSE)
    begin = time.time_ns()
    losses = [step() for _ in range(STEPS)]
    torch.cuda.synchronize()
    found["window"] = [begin - int(PAUSE * 5e8), time.time_ns() + int(PAUSE * 5e8)]
    time.sleep(PAUSE)
    if profiler:
        profiler.stop()
        found["kernels"] = kernels_of(profiler)
    found["losses"] += [x.item().hex() for x in losses]
    found["weights"] = fingerprint(model)
    with open(out, "w", encoding="utf-8") as f:
        json.dump(found, f)
    return 0


# -- What the run recorded --

def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def recorded_kernels(database, window):
    db = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    dropped = db.execute("SELECT value FROM about WHERE key = 'dropped'").fetchone()
    if dropped and dropped[0]:
        print(dropped[0], "events dropped")
    n, ns = db.execute('SELECT count(*), coalesce(sum("end" - begin), 0) FROM kernels '
                       "WHERE begin BETWEEN ? AND ?", window).fetchone()
    return n, ns, bool(dropped and dropped[0])


def same_results(native, other, recorded):
    """The model has learnt the same, bit by bit, if it does so without us."""
    for key in "losses", "weights":
        if native[key] != other[key]:
            print(f"{native['model']}: {key} of two native runs differ: not compared")
        elif recorded[key] != native[key]:
            print(f"{native['model']}: {key}: recorded {recorded[key]}, native {native[key]}")
            return False
    return True


def compare(native, other, rounds):
    good, ours, theirs = True, [], []
    for recorded, database, profiled in zip(*[iter(rounds)] * 3):
        run, profile = load(recorded), load(profiled)
        good &= same_results(load(native), load(other), run)
        n, ns, has_drops = recorded_kernels(database, run["window"])
        wanted = profile["kernels"][0]
        ours.append(ns)
        theirs.append(profile["kernels"][1])
        print(f"{run['model']}: {n} kernels, {ns / 1e6:.3f} ms; torch.profiler: "
              f"{wanted}, {profile['kernels'][1] / 1e6:.3f} ms")
        good &= not has_drops and n > 0 and abs(n - wanted) <= ALIKE * wanted
    if not good:
        return 1
    a, b = statistics.median(ours), statistics.median(theirs)
    return 0 if abs(a - b) <= ALIKE * b else 2


def main(argv):
    if len(argv) == 3 and argv[1] == "has" and argv[2] in MODELS:
        return has(argv[2])
    if len(argv) in (4, 5) and argv[1] == "train" and argv[2] in MODELS:
        return train(argv[2], argv[3], len(argv) == 5)
    if len(argv) >= 7 and len(argv) % 3 == 1 and argv[1] == "compare":
        return compare(argv[2], argv[3], argv[4:])
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv))
