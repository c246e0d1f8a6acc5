#!/usr/bin/env bash
# cupti_turns.sh - CUDA on a GPU: what is recorded when only a part is to be, and beside others.
# timeout: 300
# serial: yes
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/gpu/_cuda.sh" || exit 1
need_cuda
cuda_program cuda_turns
turns=$gpu/cuda_turns
cupti=$(sed -n 's/^ok  cupti .*, //p' doctor.out)

# run NAME OPTIONS -- ARGS... - it ends as it does without us, and prints the same.
run() {
	local name=$1 options=() status
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$turns" "$@" >"$name.native" 2>"$name.native.err"
	status=$?
	timeout 100 "$ACCELPROF" run -q "${options[@]}" -o "$name" -- "$turns" "$@" >"$name.out" 2>"$name.err"
	is "$name: status" $? $status
	is "$name: stdout" "$(cat "$name.out")" "$(cat "$name.native")"
	export_ "$name"
}

# counts RUN - launches and kernels of each name.
counts() {
	ask "$1" "SELECT name, sum(l), sum(k) FROM (
		SELECT name, 1 AS l, 0 AS k FROM launch UNION ALL SELECT name, 0, 1 FROM kernel)
		WHERE name LIKE 'k\_%' ESCAPE '\' GROUP BY name ORDER BY name"
}

run turns --paused -t kernel_freq -- turns
is "start and stop" "$(counts turns)" "('k_long', 1, 1) ('k_on', 150, 150)"
echo "a long kernel: $(ask turns "SELECT dur FROM kernel WHERE name = 'k_long'") ns"
is "a long kernel's time is whole" \
	"$(ask turns "SELECT dur BETWEEN 2499900000 AND 2600000000 FROM kernel WHERE name = 'k_long'")" "(1,)"
run turns_all -t kernel_freq -- turns
is "started from the beginning, and stopped" "$(counts turns_all)" \
	"('k_long', 1, 1) ('k_off', 100, 100) ('k_on', 150, 150)"

run window --delay 1s --duration 1s -t kernel_freq -- paced 4000
is "a window of time: as many launches as kernels, in that time" "$(ask window \
	"SELECT count(*) > 200, count(*) = (SELECT count(*) FROM kernel), max(begin) - min(begin) <= 1000000000,
	max(begin) - min(begin) > 800000000 FROM launch WHERE name = 'k_on'")" "(1, 1, 1, 1)"

run nvtx -t regions,kernel_freq -- nvtx
"$ACCELPROF" report nvtx -t regions --format csv --table regions >regions.csv || failed "report"
is "ranges nest" "$(python3 -c 'import csv
for row in sorted(csv.DictReader(open("regions.csv")), key=lambda r: r["region"]):
    print(row["region"], row["calls"], row["open"], end=";")')" "outer 4 0;outer/inner 12 0;"
is "kernels of a range" "$("$ACCELPROF" report nvtx -t kernel_freq --region '^outer/inner$' --format csv \
	--table kernels | tail -n +2 | cut -d, -f1,2)" "k_on,60"
is "kernels of a range and those in it" "$("$ACCELPROF" report nvtx -t kernel_freq --region '^outer' \
	--format csv --table kernels | tail -n +2 | cut -d, -f1,2)" "k_on,80"

# -- A program that uses CUPTI itself has it --
run own -t kernel_freq -- own 500 "$cupti"
is "own: its records" "$(cat own.out)" "500 records of its own"
is "own: ours, until then" "$(counts own)" "('k_on', 500, 500)"
has "own: who it was" own.err 'cuda_turns began to use CUPTI itself'

# -- and one of another's injection, which comes first --
if [ -e "$BUILD/bench/gpu/floor.so" ]; then
	"$turns" own 10 "$cupti" >/dev/null 2>&1 # warm
	CUDA_INJECTION64_PATH=$BUILD/bench/gpu/floor.so FLOOR_CUPTI=$cupti FLOOR_FILE=$PWD/floor.native \
		"$turns" nvtx
	CUDA_INJECTION64_PATH=$BUILD/bench/gpu/floor.so FLOOR_CUPTI=$cupti FLOOR_FILE=$PWD/floor.with \
		"$ACCELPROF" run -q -t kernel_freq -o chained -- "$turns" nvtx 2>chained.err
	is "another's injection: status" $? 0
	export_ chained
	echo "another's injection: alone $(cat floor.native), with us $(cat floor.with); ours $(counts chained);" \
		"$(cat chained.err)"
fi

python=
for candidate in "${PASTA_PYTHON:-}" python3; do
	[ -n "$candidate" ] && "$candidate" -c 'import torch, triton.profiler' 2>/dev/null &&
		python=$candidate && break
done
if [ -n "$python" ]; then
	# names in what Proton wrote, with how often each ran
	cat >proton.py <<-'EOF'
		import json, sys
		import torch
		import triton.profiler as proton
		x = torch.ones(1 << 20, device="cuda")
		torch.cuda.synchronize()
		proton.start("proton", hook=None)
		for _ in range(100):
		    x.mul_(1.5)
		torch.cuda.synchronize()
		proton.finalize()
		def walk(nodes):
		    for n in nodes:
		        if isinstance(n, dict):
		            count = n.get("metrics", {}).get("count", 0) if not n.get("children") else 0
		            yield int(count or 0)
		            yield from walk(n.get("children", []))
		print("proton:", sum(walk(json.load(open("proton.hatchet")))))
	EOF
	"$python" proton.py >proton.native 2>&1
	"$ACCELPROF" run -q -t kernel_freq -o proton.run -- "$python" proton.py >proton.out 2>proton.err
	is "Proton: status" $? 0
	is "Proton: its trace" "$(cat proton.out)" "$(cat proton.native)"
	has "Proton: its trace has kernels" proton.out '^proton: [1-9]'
	has "Proton: who it was" proton.err "libproton.so began to use CUPTI itself"
	cat proton.err

	# A worker of multiprocessing leaves by _exit.
	cat >workers.py <<-'EOF'
		import multiprocessing as mp
		def work(n):
		    import torch
		    x = torch.zeros(1000, device="cuda")
		    for _ in range(n):
		        x.add_(1)
		    print(int(x.sum().item()), flush=True)
		if __name__ == "__main__":
		    for way in "fork", "spawn":
		        p = mp.get_context(way).Process(target=work, args=(200,))
		        p.start()
		        p.join()
		        assert p.exitcode == 0
	EOF
	"$ACCELPROF" run -q -t kernel_freq -o workers -- "$python" workers.py >workers.out 2>workers.err
	is "workers: status" $? 0
	is "workers: results" "$(tr '\n' ' ' <workers.out)" "200000 200000 "
	export_ workers
	is "workers: kernels that add, by process" "$(ask workers "SELECT count(*) FROM kernel
		WHERE name LIKE '%CUDAFunctorOnSelf_add%' GROUP BY process")" "(200,) (200,)"
fi
done_
