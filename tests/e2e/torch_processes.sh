#!/usr/bin/env bash
# torch_processes.sh - Python programs with many processes: one shard each, with their ranks.
# timeout: 240
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
dump=$BUILD/tests/dump

# regions RUN - how often each region was seen, and in how many processes.
regions() {
	"$dump" "$1" region | python3 -c 'import collections, json, sys
calls, procs = collections.Counter(), collections.defaultdict(set)
for ev in map(json.loads, sys.stdin):
    if ev["kind"] == "region" and ev["sub"] == 1 and ev["domain"] != "annotation":  # PyTorch has its own
        calls[ev["name"]] += 1
        procs[ev["name"]].add(ev["proc"])
print(*(f"{name}:{n}/{len(procs[name])}" for name, n in sorted(calls.items())))'
}

# ranks RUN - rank and world of each process that has them.
ranks() {
	"$dump" "$1" process | python3 -c 'import json, sys
events = [ev for ev in map(json.loads, sys.stdin) if ev["kind"] == "process"]
print(*sorted("%d/%d" % (ev["rank"] - 1, ev["world"]) for ev in events if ev["rank"]))'
}

# ops RUN NAME... - how often each operator was called, and in how many processes.
ops() {
	"$dump" "$1" op_begin | python3 -c 'import collections, json, sys
calls, procs = collections.Counter(), collections.defaultdict(set)
for ev in map(json.loads, sys.stdin):
    if ev["kind"] == "op_begin":
        calls[ev["name"]] += 1
        procs[ev["name"]].add(ev["proc"])
print(*(f"{name}:{calls[name]}/{len(procs[name])}" for name in sys.argv[1:]))' "${@:2}"
}

tools=regions
# record RUN COMMAND...
record() {
	local run=$1
	shift
	timeout 150 "$ACCELPROF" run -q -t $tools -o "$run" -- "$@" >out 2>err || {
		failed "$run: status $?"
		cat out err
	}
	is "$run: dropped" "$(json "$run/results/report.json" 'd["loss"]["dropped"]')" 0
	is "$run: rings left" "$(ls "$run/shards" | grep -c 'ring$')" 0
}

cat >pool.py <<'EOF2'
import accelprof, multiprocessing, sys

def work(n):
    with accelprof.region("work"):
        return n * n

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with accelprof.region("main"):
        workers = [context.Process(target=work, args=(i,)) for i in range(3)]
        for w in workers: w.start()
        for w in workers: w.join()
        sys.exit(any(w.exitcode for w in workers))
EOF2
for how in fork spawn forkserver; do
	record $how python3 pool.py $how
	is "$how: regions" "$(regions $how)" "main:1/1 work:3/3"
done

cat >ranks.py <<'EOF2'
import os, subprocess, sys

if "RANK" in os.environ:
    import accelprof
    for _ in range(4):
        accelprof.step()
        with accelprof.region("rank " + os.environ["RANK"]):
            pass
    sys.exit()
ranks = [subprocess.Popen([sys.executable, __file__], env=dict(os.environ, RANK=str(r), WORLD_SIZE="2"))
         for r in range(2)]
sys.exit(any([r.wait() for r in ranks]))
EOF2
record ranks python3 ranks.py
is "ranks: regions" "$(regions ranks)" "rank 0:4/1 rank 1:4/1"
is "ranks: who is who" "$(ranks ranks)" "0/2 1/2"
is "ranks: steps" "$("$dump" ranks iteration | grep -c '"kind":"iteration"')" 8

# -- With PyTorch, whichever is here --

torch=
# shellcheck disable=SC2086 # a list
for python in ${PASTA_PYTHON:-} ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"} python3 /usr/bin/python3; do
	"$python" -c 'import torch, torch.distributed' 2>/dev/null && torch=$python && break
done
if [ -z "$torch" ]; then
	echo "no PyTorch here (PASTA_PYTHON names a Python that has it): the rest is left out"
	done_
fi

tools=regions,ops
export XDG_CACHE_HOME=$dir/cache
cat >loader.py <<'EOF2'
import accelprof, torch

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, i):
        with accelprof.region("load"):
            return torch.full((), float(i)).ceil()

if __name__ == "__main__":
    total = 0.0
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=2):
        accelprof.step()
        with accelprof.region("train"):
            total += batch.floor().sum().item()
    assert total == 28
EOF2
record loader "$torch" loader.py
is "loader: regions" "$(regions loader)" "load:8/2 train:4/1"
is "loader: operators" "$(ops loader aten::ceil aten::floor)" "aten::ceil:8/2 aten::floor:4/1"
is "loader: one report" "$(json loader/results/report.json \
	'[r[1] for t in d["tools"] for x in t["tables"] if x["name"] == "ops" for r in x["rows"] if r[0] == "aten::ceil"]')" "[8]"

cat >spawn.py <<'EOF2'
import torch, torch.multiprocessing

def work(rank, shared):
    shared[rank] = torch.full((3,), 1.0 + rank).ceil().sum()

if __name__ == "__main__":
    shared = torch.zeros(2).share_memory_()
    torch.multiprocessing.spawn(work, args=(shared,), nprocs=2)
    assert shared.floor().tolist() == [3, 6]
EOF2
record torch_spawn "$torch" spawn.py
is "torch_spawn: operators" "$(ops torch_spawn aten::ceil aten::floor)" "aten::ceil:2/2 aten::floor:1/1"

cat >distributed.py <<'EOF2'
import accelprof, os, torch
import torch.distributed as dist

dist.init_process_group("gloo")
for _ in range(3):
    accelprof.step()
    with accelprof.region("reduce"):
        x = torch.ones(4).ceil() * (dist.get_rank() + 1)
        dist.all_reduce(x)
    assert x.tolist() == [3.0] * 4
dist.destroy_process_group()
EOF2
port=$((20000 + $$ % 20000))
launch=("$torch" -m torch.distributed.run --nproc_per_node 2 --master_port)
if PYTHONPATH=$SRC/python timeout 100 "${launch[@]}" $port distributed.py >out 2>&1; then
	record distributed "${launch[@]}" $((port + 1)) distributed.py
	is "distributed: regions" "$(regions distributed)" "reduce:6/2"
	is "distributed: who is who" "$(ranks distributed)" "0/2 1/2"
	is "distributed: operators" "$(ops distributed aten::ceil)" "aten::ceil:6/2"
	for rank in 0 1; do
		"$ACCELPROF" report distributed -t ops --rank $rank --format json >rank.json 2>err
		is "distributed: operators of rank $rank" "$(json rank.json \
			'[r[1] for t in d["tools"] for x in t["tables"] if x["name"] == "ops" for r in x["rows"] if r[0] == "aten::ceil"]')" "[3]"
	done
else # as that of 1.13 with Python 3.11
	echo "this PyTorch cannot launch processes, with or without AccelProf: not tried"
fi
done_
