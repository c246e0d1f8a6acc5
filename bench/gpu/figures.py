"""figures.py - medians, paired differences and ratios of blocks, with their intervals.

Blocks of a generation share their processes and are not independent samples. So intervals come from a
hierarchical bootstrap: it draws generations, and then rounds within them. The percentiles are expanded
by the ratio of Student's t to the normal distribution (Hesterberg, What Teachers Should Know about the
Bootstrap), because plain ones are too narrow for few generations. A single generation has no interval.
"""
import math
import random
import statistics

RESAMPLES = 2000
INNER = 200  # medians of drawn rounds that a generation has in stock


def middle(values):
    """statistics.median without its checks, because most of the time is spent here."""
    s = sorted(values)
    half = len(s) // 2
    return s[half] if len(s) % 2 else (s[half - 1] + s[half]) / 2


def series(blocks, kind, key, scale=1):
    """{variant: {generation: {round: value}}}"""
    found = {}
    for b in blocks:
        if b["kind"] == kind and key in b:
            rounds = found.setdefault(b["variant"], {}).setdefault(b["generation"], {})
            rounds[b["round"]] = b[key] / scale
    return found


def pairs(a, b, how):
    """The difference or ratio of a to b in each round of each generation in which both ran."""
    found = []
    for generation in sorted(a.keys() & b.keys()):
        x, y = a[generation], b[generation]
        both = sorted(x.keys() & y.keys())
        if both:
            found.append([x[r] / y[r] if how == "ratio" else x[r] - y[r] for r in both])
    return found


def location(generations):
    return middle([middle(rounds) for rounds in generations])


def tail(count):
    """The share of resamples beyond a 95 % interval on each side."""
    if count < 2:
        return 0.025
    free = count - 1
    t = 1.96 + 2.4 / free + 3 / free**2  # 0.975 quantile: within 0.03 from 4 degrees on
    return statistics.NormalDist().cdf(-t * math.sqrt(count / free))


def interval(generations):
    """The 95 % interval of location()."""
    stock = [[middle(random.choices(rounds, k=len(rounds))) for _ in range(INNER)]
             for rounds in generations]
    found = sorted(middle([random.choice(s) for s in random.choices(stock, k=len(stock))])
                   for _ in range(RESAMPLES))
    beyond = int(RESAMPLES * tail(len(generations)))
    return [found[beyond], found[-1 - beyond]]


def compare(a, b, how):
    """Returns [value, low, high], or None if the two never ran together."""
    found = pairs(a, b, how)
    return [location(found), *interval(found)] if found else None


def spread(generations):
    """Returns the standard deviations of the generations' medians, and of the rounds within one."""
    medians = [middle(r.values()) for r in generations.values()]
    within = [statistics.stdev(r.values()) for r in generations.values() if len(r) > 1]
    return {"between": statistics.stdev(medians) if len(medians) > 1 else None,
            "within": middle(within) if within else None}


# The comparisons: with which variant, and how.
KEYS = {"over_native": ("native", "difference"), "ratio": ("native", "ratio"),
        "over_floor": ("floor", "difference"), "ratio_floor": ("floor", "ratio")}


def summary(data, keys):
    """Summarizes one value for all variants, in their order."""
    found = {"generations": max((len(g) for g in data.values()), default=0),
             "rounds": max((sum(map(len, g.values())) for g in data.values()), default=0),
             "medians": {}, "spread": {}, **{key: {} for key in keys}}
    for name, generations in data.items():
        found["medians"][name] = location([list(r.values()) for r in generations.values()])
        found["spread"][name] = spread(generations)
        for key in keys:
            base, how = KEYS[key]
            # The floor over native is reported once.
            if base not in data or name in (base, "native") or (
                    base == "floor" and name.startswith("native")):
                continue
            got = compare(generations, data[base], how)
            if got:
                found[key][name] = got
    return found
