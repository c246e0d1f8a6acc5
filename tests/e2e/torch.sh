# torch.sh - operators, allocations and views are those that PyTorch reports; errors do no harm.
# timeout: 600
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_torch.sh" || exit 1
export PYTHONPATH=$SRC/python${PYTHONPATH:+:$PYTHONPATH} XDG_CACHE_HOME=$dir/cache PYTHONDONTWRITEBYTECODE=1
models=$SRC/tests/e2e/torch_models.py

# compare WHAT RUN OTHER
compare() {
	"$BUILD/tests/dump" "$2" >events || failed "$version: dump"
	python3 "$SRC/tests/e2e/torch_compare.py" "$1" events "$3" >compared 2>&1 ||
		failed "$version: $1: $(tail -n 8 compared)"
	echo "$version: $(tail -n 1 compared)"
}

for python in "${pythons[@]}"; do
	version=$("$python" -c 'import torch; print(torch.__version__)')
	env -u PYTHONPATH "$python" "$models" train - >alone || failed "$version: alone"
	env -u PYTHONPATH "$python" "$models" profile seen.json >profiled 2>/dev/null ||
		failed "$version: torch.profiler"
	for run in one two; do
		"$ACCELPROF" run -q --record all -o "$run" -- "$python" "$models" train - >out 2>err
		is "$version: status" "$?" 0
		is "$version: stderr" "$(cat err)" ""
		cmp alone out || failed "$version: losses differ from those of a run without us"
		is "$version: dropped" "$(json "$run/results/report.json" 'd["loss"]["dropped"]')" 0
		compare names "$run" seen.json
		compare memory "$run" seen.json
	done
	"$ACCELPROF" run -q --record all -o views -- "$python" "$models" views views.json >out 2>err
	is "$version: views" "$(cat out err)" "views"
	compare views views views.json

	# Types, shapes, strides and values of arguments; results with "--record all".
	env -u PYTHONPATH "$python" "$models" shapes shapes.json >out 2>/dev/null ||
		failed "$version: torch.profiler with shapes"
	cmp alone out || failed "$version: losses with shapes"
	"$ACCELPROF" run -q --record all -o args -- "$python" "$models" train - >/dev/null 2>err
	compare arguments args shapes.json
	"$ACCELPROF" run -q -t ops -o few -- "$python" "$models" train - >out 2>err
	cmp alone out || failed "$version: losses with -t ops"
	compare arguments few shapes.json
	"$ACCELPROF" run -q --record all -o known -- "$python" "$models" values values.json >out 2>err
	is "$version: values" "$(cat out err)" "values"
	compare values known values.json

	# The program's own profiler works, and reports the same as without AccelProf.
	"$ACCELPROF" run -q --record all -o both -- "$python" "$models" profile both.json >out 2>err
	is "$version: with torch.profiler: status" "$?" 0
	cmp profiled out || failed "$version: torch.profiler's losses"
	is "$version: torch.profiler sees" "$(json both.json 'sorted(d["names"].items())')" \
		"$(json seen.json 'sorted(d["names"].items())')"
	is "$version: torch.profiler's allocations" "$(json both.json '[n for n in d["memory"] if n > 0]')" \
		"$(json seen.json '[n for n in d["memory"] if n > 0]')"

	# If no tool needs PyTorch, the shim is not compiled.
	XDG_CACHE_HOME=$dir/none "$ACCELPROF" run -q -t copies -o unwanted -- \
		env PASTA_KINDS=8 "$python" "$models" train - >out 2>err
	cmp alone out || failed "$version: nothing wanted"
	[ ! -e none ] || failed "$version: a shim that no tool needs"
	# Waits for data, steps of torch.profiler, and compilations.
	"$ACCELPROF" run -q --record all -o waits -- "$python" "$models" waits - >out 2>err
	"$BUILD/tests/dump" waits >events || failed "$version: dump of waits"
	python3 - events >compared <<-'EOF' || failed "$version: waits: $(cat compared)"
		import collections, json, sys
		counts, times, wrong = collections.Counter(), collections.Counter(), []
		begins = {}
		for e in map(json.loads, open(sys.argv[1])):
		    if e["kind"] == "iteration":
		        counts["step"] += 1
		    elif e["kind"] == "module" and e.get("name") == "torch.compile":
		        counts["compiled"] += e["dur"] >= 10**7
		    elif e["kind"] == "region" and e["sub"] == 1:
		        begins[e["tid"], e["depth"]] = e
		    elif e["kind"] == "region" and e["sub"] == 2:
		        begin = begins[e["tid"], e["depth"]]
		        name = begin.get("name", "")
		        counts[name] += 1
		        times[name] += e["time"] - begin["time"]
		for name in "_SingleProcess", "_MultiProcessing":
		    name = f"enumerate(DataLoader)#{name}DataLoaderIter.__next__"
		    if counts[name] != 3 or times[name] < 3 * 10**7:  # the third finds no data
		        wrong.append(f"{name}: {counts[name]}, {times[name]} ns")
		steps = sum(n for name, n in counts.items() if name.startswith("ProfilerStep#"))
		if counts["step"] != steps or steps < 4 or counts["compiled"] != 1:
		    wrong.append(f"{steps} regions, {counts}")
		print(*wrong)
		sys.exit(len(wrong) > 0)
	EOF
	rm -rf waits one two views both unwanted args few known
done

# trouble NAME PATTERN VARIABLE... - the program runs as without AccelProf, with one message.
trouble() {
	"$ACCELPROF" run -t ops -o "trouble-$1" -- env "${@:3}" "$python" "$models" train - >out 2>err
	is "$1: status" "$?" 0
	cmp alone out || failed "$1: the program's output"
	is "$1: lines of it" "$(grep -c 'torch: ' err)" 1
	has "$1" err "torch: operators are not recorded: $2"
}
python=$(command -v "${pythons[0]}")
"$python" "$models" train - >alone
trouble failing 'false failed' CXX=false
trouble absent '/nowhere/c\+\+: .* set CXX' CXX=/nowhere/c++
mkdir -p empty bad/handlers/torch
trouble none 'no C\+\+ compiler: install g\+\+' "PATH=$dir/empty"
cp "$SRC"/src/handlers/torch/shim* bad/handlers/torch/
sed -i '1i #error this is no shim' bad/handlers/torch/shim.cpp
trouble source '.*c\+\+ failed: .*this is no shim' "PASTA_TORCH_SHIM=$dir/bad"
trouble missing '.*shim\.cpp is missing' "PASTA_TORCH_SHIM=$dir/empty"
cp "$SRC"/src/handlers/torch/shim* bad/handlers/torch/
sed -i 's/PASTA_TORCH_ABI 2$/PASTA_TORCH_ABI 3/' bad/handlers/torch/shim.h
trouble abi 'the PyTorch shim has ABI version 3, but the agent has version 2' "PASTA_TORCH_SHIM=$dir/bad"
cat >bare <<'END'
#!/bin/bash
options=(-nostdinc)
while [ $# -gt 0 ]; do
	case $1 in
	-isystem) shift ;;
	*) options+=("$1") ;;
	esac
	shift
done
exec c++ "${options[@]}"
END
chmod +x bare
mkdir temporary
for cache in "$XDG_CACHE_HOME" /dev/null/x; do
	trouble "headers, ${cache##*/}" 'PyTorch.s headers are missing \(ATen/core/Tensor.h\): .*libtorch-dev' \
		"CXX=$dir/bare" "XDG_CACHE_HOME=$cache" "TMPDIR=$dir/temporary"
done
is "headers: what is left" "$(ls temporary)" ""

# Processes that start at once compile once; without a usable cache each compiles.
rm -rf "$XDG_CACHE_HOME"
cat >cxx <<END
#!/bin/sh
echo compiled >>$dir/compiled
exec c++ "\$@"
END
chmod +x cxx
export CXX=$dir/cxx
"$ACCELPROF" run -q -t ops -o ranks -- sh -c "for i in 1 2 3 4; do '$python' '$models' train - >out.\$i & done; wait" 2>err
is "ranks: compiled" "$(wc -l <compiled)" 1
for i in 1 2 3 4; do
	is "ranks: output $i" "$(cat out.$i)" "$(cat alone)"
done
is "ranks: shards" "$(find ranks/shards -name '*.pst' | wc -l)" 4
is "ranks: cached shims" "$(find "$XDG_CACHE_HOME" -name '*.so' | wc -l)" 1
XDG_CACHE_HOME=/dev/null/x "$ACCELPROF" run -q -t ops -o nowhere -- "$python" "$models" train - >out 2>err
is "no cache: stderr" "$(cat err)" ""
is "no cache: compiled" "$(wc -l <compiled)" 2
done_
