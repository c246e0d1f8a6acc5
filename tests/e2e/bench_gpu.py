"""bench_gpu.py - the statistics of bench/gpu, and how it asks servers, on fakes of them."""
import os
import random
import sys
import time

SRC = os.environ["SRC"]
FAKE = os.path.join(SRC, "tests/e2e/_bench_fake.py")
sys.path.insert(0, os.path.join(SRC, "bench/gpu"))

import figures  # noqa: E402
import servers  # noqa: E402

failures = 0


def check(what, good, got=""):
    global failures
    if not good:
        failures += 1
        print(f"FAILED: {what}: {got}")


# -- Figures --

def made(costs, generations, rounds):
    """Blocks of processes that differ by 10 %, and of a host that is slower at times."""
    blocks = []
    for g in range(generations):
        bias = {v: random.gauss(0, 400) for v in costs}
        for r in range(rounds):
            weather = random.gauss(0, 300)
            blocks += [{"generation": g, "round": r, "kind": "k", "variant": v,
                        "ns": 4000 + cost + bias[v] + weather + random.gauss(0, 30)}
                       for v, cost in costs.items()]
    return blocks


def differences_are_recovered_and_intervals_cover_them():
    figures.RESAMPLES, figures.INNER = 400, 40
    # Processes alone make 566 ns a generation: 4 times 1.25 * 566 / sqrt(generations), and more
    # where they are few.
    for generations, rounds, low_width, high_width in (30, 4, 300, 800), (5, 6, 800, 2500):
        covered, widths, wrong = 0, [], []
        for _ in range(100):
            data = figures.series(made({"native": 0, "a": 250}, generations, rounds), "k", "ns")
            figure, low, high = figures.compare(data["a"], data["native"], "difference")
            check("an interval contains its figure", low <= figure <= high, (low, figure, high))
            covered += low <= 250 <= high
            widths.append(high - low)
            wrong.append(figure - 250)
        what = f"{generations} generations: "
        check(what + "95 % intervals cover", covered >= 87, covered)
        check(what + "no bias", abs(sum(wrong) / 100) < 120, sum(wrong) / 100)
        width = figures.middle(widths)
        check(what + "width", low_width < width < high_width, width)
        print(f"{what}{covered} of 100 intervals cover, of a width of {width:.0f}")
    figures.RESAMPLES, figures.INNER = 2000, 200


def an_interval_is_the_wider_the_fewer_generations_there_are():
    tails = [figures.tail(n) for n in (2, 3, 5, 10, 30, 1000)]
    check("tails", tails == sorted(tails) and tails[0] < 1e-4 and 0.0245 < tails[-1] < 0.025, tails)


def a_ratio_is_exact_where_nothing_varies():
    data = {"a": {0: {0: 3.0, 1: 6.0}, 1: {0: 9.0}}, "b": {0: {0: 2.0, 1: 4.0}, 1: {0: 6.0}}}
    got = figures.compare(data["a"], data["b"], "ratio")
    check("ratio", got == [1.5, 1.5, 1.5], got)


def only_what_ran_together_is_compared():
    a = {0: {0: 1.0, 2: 5.0}, 1: {0: 7.0}, 3: {1: 1.0}}
    b = {0: {0: 0.0, 1: 100.0}, 2: {0: 100.0}, 3: {0: 100.0}}
    got = figures.pairs(a, b, "difference")
    check("pairs", got == [[1.0]], got)
    check("nothing together", figures.compare({0: {0: 1.0}}, {1: {0: 1.0}}, "ratio") is None)


def a_summary_has_the_control_and_no_native_over_the_floor():
    costs = {"native": 0, "native 2": 0, "floor": 1000, "accelprof": 1100}
    s = figures.summary(figures.series(made(costs, 10, 4), "k", "ns"),
                        ("over_native", "over_floor"))
    check("over native", list(s["over_native"]) == ["native 2", "floor", "accelprof"],
          s["over_native"])
    check("over the floor", list(s["over_floor"]) == ["accelprof"], s["over_floor"])
    check("size", (s["generations"], s["rounds"]) == (10, 40), s)
    spread = s["spread"]["native"]
    check("spread", 200 < spread["between"] < 900 and 150 < spread["within"] < 500, spread)


# -- Servers --

def crew_of(names, bad="", log="", ended=lambda name, answer: None, command=None):
    folder = os.getcwd()

    def start(name):
        env = {**os.environ, "FAKE_VARIANT": name, "FAKE_BAD": bad, "FAKE_LOG": log}
        line = (command or {}).get(name, [sys.executable, FAKE, "loop", "serve"])
        return servers.Server(name, line, env, os.path.join(folder, name + ".err"))
    return servers.Crew(names, start, ended, servers.Limits(ready=20, block=1, end=20))


def far():
    return time.monotonic() + 1000


def variants_take_turns_one_at_a_time_in_changing_order():
    names = ["a", "b", "c"]
    crew = crew_of(names, log=os.path.abspath("turns"))
    servers.generations("test", crew, [("empty", 10), ("saxpy", 2)], 5, 2, far())
    check("no failures", not crew.failures, crew.failures)
    check("blocks", len(crew.blocks) == 3 * 2 * 5 * 2, len(crew.blocks))
    orders = set()
    for g in range(2):
        for r in range(5):
            for kind in "empty", "saxpy":
                order = [b["variant"] for b in crew.blocks
                         if (b["generation"], b["round"], b["kind"]) == (g, r, kind)]
                check("each once", sorted(order) == names, order)
                orders.add(tuple(order))
    check("orders", len(orders) > 2, orders)
    with open("turns", encoding="utf-8") as f:
        lines = [x.split() for x in f]
    for begin, end in zip(lines[::2], lines[1::2]):
        check("alone", begin[0] == "begin" and end[0] == "end" and begin[1:] == end[1:],
              (begin, end))


def those_that_fail_are_named_and_the_others_go_on():
    bad = "dies:die:3,hangs:hang:2,lies:nonsense:1,small:refuse:0,mute:mute:1"
    names = ["good", "dies", "hangs", "lies", "small", "mute", "absent"]
    crew = crew_of(names, bad=bad, command={"absent": ["/nonexistent/program"]})
    servers.generations("test", crew, [("empty", 10)], 5, 3, far())
    errors = "\n".join(crew.failures)
    for what in ("dies: ended, status 3\n  | the GPU is on fire", "hangs: hangs",
                 "lies: its answer is not JSON", "small: empty: out of empty", "mute: ended",
                 "absent: cannot be started"):
        check("named", what in errors, errors)
    blocks = {n: sum(b["variant"] == n for b in crew.blocks) for n in names}
    check("blocks", blocks == {"good": 15, "dies": 6, "hangs": 2, "lies": 2, "small": 0,
                               "mute": 2, "absent": 0}, blocks)
    check("not started again", crew.names == ["good", "small"], crew.names)
    check("refused once", errors.count("small:") == 1, errors)


def blocks_of_a_server_that_left_nothing_do_not_count():
    def ended(name, answer):
        check("the last answer", answer["launches"] == 30, answer)
        if name == "b":
            raise servers.Failure("it measured nothing")

    crew = crew_of(["a", "b"], ended=ended)
    servers.generations("test", crew, [("empty", 10)], 3, 3, far())
    check("only a", {b["variant"] for b in crew.blocks} == {"a"}, crew.blocks)
    check("two strikes", crew.failures == ["b: it measured nothing"] * 2, crew.failures)


def one_that_fails_at_its_end_is_named_and_its_blocks_count():
    crew = crew_of(["a", "b"], bad="b:fall")
    servers.generations("test", crew, [("empty", 10)], 2, 3, far())
    check("blocks", sum(b["variant"] == "b" for b in crew.blocks) == 6, crew.blocks)
    check("named", crew.failures == ["b: at its end: status 4"] * 3, crew.failures)


def the_time_is_kept():
    crew = crew_of(["a", "b"])
    begin = time.monotonic()
    servers.generations("test", crew, [("empty", 10)], 20, 1000, begin + 1.5)
    check("time", time.monotonic() - begin < 5, time.monotonic() - begin)
    check("some", len({b["generation"] for b in crew.blocks}) > 1, crew.blocks[-1:])


def accelprof_run_passes_the_questions_on():
    run = [os.environ["ACCELPROF"], "run", "-o", os.path.abspath("real"), "--", sys.executable,
           FAKE, "loop", "serve"]
    crew = crew_of(["native", "accelprof"], command={"accelprof": run})
    servers.generations("test", crew, [("empty", 10)], 3, 1, far())
    check("no failures", not crew.failures, crew.failures)
    check("blocks", len(crew.blocks) == 6, crew.blocks)


def main():
    random.seed(7)
    for test in (differences_are_recovered_and_intervals_cover_them,
                 an_interval_is_the_wider_the_fewer_generations_there_are,
                 a_ratio_is_exact_where_nothing_varies, only_what_ran_together_is_compared,
                 a_summary_has_the_control_and_no_native_over_the_floor,
                 variants_take_turns_one_at_a_time_in_changing_order,
                 those_that_fail_are_named_and_the_others_go_on,
                 blocks_of_a_server_that_left_nothing_do_not_count,
                 one_that_fails_at_its_end_is_named_and_its_blocks_count, the_time_is_kept,
                 accelprof_run_passes_the_questions_on):
        begin = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - begin:.1f} s")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
