# collectives.sh - the tool collectives on generated runs: what plain Python makes of the same events.
. "$SRC/tests/e2e/lib.sh" || exit 1
unset PASTA_TOOL_PATH
gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "there is no accelprof-gen here: PASTA_BENCH is off"
	exit 77
}

for count in 1 4 9; do # 9 ranks are on two hosts
	"$gen" -n 40000 --ranks $count -o run$count >made$count.json || failed "accelprof-gen"
	"$ACCELPROF" report run$count -t collectives --format json >report$count.json ||
		failed "report, $count ranks"
	"$BUILD/tests/dump" run$count collective kernel process >events$count || failed "dump"
	python3 - $count <<'P' || failed "$count ranks"
import json, sys
from collections import defaultdict
count = sys.argv[1]
with open(f"report{count}.json", encoding="utf-8") as f:
    tool = json.load(f)["tools"][0]
with open(f"made{count}.json", encoding="utf-8") as f:
    made = json.load(f)
with open(f"events{count}", encoding="utf-8") as f:
    events = [json.loads(line) for line in f]
tables = {t["name"]: t["rows"] for t in tool["tables"]}
what = [f["what"] for f in tool["findings"]]

rank = {e["proc"]: e["rank"] - 1 for e in events if e["kind"] == "process"}
by_corr = {(e["proc"], e["corr"]): e for e in events if e["kind"] == "collective"}
kernels = [e for e in events if e["kind"] == "kernel"]
ours = [k for k in kernels if (k["proc"], k["corr"]) in by_corr]
assert len(by_corr) == len(ours) == made["kinds"]["collective"] > 0
assert "collectives without a kernel" not in " ".join(what), what

# All of them are of one kernel, so the generator knows their sum.
nccl = [v for k, v in made["kernels"].items() if "nccl" in k]
assert sum(r[5] for r in tables["collectives"]) == sum(v["count"] for v in nccl)
assert sum(r[6] for r in tables["collectives"]) == sum(v["ns"] for v in nccl)

def union(intervals):
    """Disjoint, in order."""
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out

def length(intervals):
    return sum(end - begin for begin, end in intervals)

wanted = []
for proc in rank:
    mine = [k for k in kernels if k["proc"] == proc]
    both = [(k["time"], k["time"] + k["dur"]) for k in mine]
    others = [i for i, k in zip(both, mine) if (proc, k["corr"]) not in by_corr]
    comm = [i for i, k in zip(both, mine) if (proc, k["corr"]) in by_corr]
    exposed = length(union(both)) - length(union(others))
    span = max(e for _, e in both) - min(b for b, _ in both)
    wanted.append([rank[proc], mine[0]["device"], len(comm), length(union(comm)), exposed, span])
assert [[f"rank {w[0]}", *w[1:]] for w in sorted(wanted)] == \
    [[*r[:5], r[6]] for r in tables["exposed"]], tables["exposed"]

rounds = defaultdict(dict)
for k in ours:
    rounds[by_corr[k["proc"], k["corr"]]["seq"]][f"rank {rank[k['proc']]}"] = k["time"]
whole = [r for r in rounds.values() if len(r) == int(count)]
wanted = {f"rank {r}": [len(whole), 0, 0, 0] for r in rank.values()}
for r in whole:
    wait = max(r.values()) - min(r.values())
    for k, t in r.items():
        if wait and t == max(r.values()):
            wanted[k][1] += 1
            wanted[k][2] += wait
            wanted[k][3] = max(wanted[k][3], wait)
if count == "1":
    assert "last" not in tables
else:
    assert len(whole) > 10 and len(tables["last"]) == int(count)
    for name, r, n, last, share, mean, longest in tables["last"]:
        w = wanted[r]
        assert [n, last, mean, longest] == [w[0], w[1], w[2] // w[1] if w[1] else 0, w[3]], (r, w)
        assert name == "all_reduce" and abs(share - 100 * last / n) < 1e-6
unmatched = len(ours) - sum(len(r) for r in whole) if count != "1" else 0
assert (f"collectives that only some ranks of their group recorded: {unmatched}" in what) == \
    (unmatched > 0), what
assert any("clocks of the hosts" in w for w in what) == (count == "9"), what
P
done

# A filtered run: collectives whose kernels are excluded are reported as such.
"$ACCELPROF" report run4 -t collectives --exclude nccl >out || failed "--exclude"
has "--exclude" out "collectives without a kernel: $(json made4.json 'd["kinds"]["collective"]')"
"$ACCELPROF" report run4 -t collectives --rank 1-2 --format json >part.json || failed "--rank"
is "--rank" "$(json part.json '[r[0] for r in d["tools"][0]["tables"][1]["rows"]]')" "['rank 1', 'rank 2']"
done_
