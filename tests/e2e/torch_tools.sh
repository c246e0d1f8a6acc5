# torch_tools.sh - reports of PyTorch programs: peaks, leaks, lines, modules.
# timeout: 300
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_torch.sh" || exit 1
export XDG_CACHE_HOME=$dir/cache PYTHONDONTWRITEBYTECODE=1
program=$SRC/tests/e2e/torch_tools.py

# record MODE OPTIONS... - RUN is the mode's name; the output equals that of a run without AccelProf.
record() {
	local mode=$1
	shift
	rm -rf "$mode"
	timeout 120 "$ACCELPROF" run -q "$@" -o "$mode" -- "$python" "$program" "$mode" "$mode.json" \
		>out 2>err || failed "$version: $mode: status $?"
	is "$version: $mode: stderr" "$(cat err)" ""
	is "$version: $mode: dropped" "$(json "$mode/results/report.json" 'd["loss"]["dropped"]')" 0
}

# judge WHAT RUN [OTHER]
judge() {
	python3 "$SRC/tests/e2e/torch_judge.py" "$1" "$2/results/report.json" ${3:+"$3"} >judged 2>&1 ||
		failed "$version: $1: $(tail -n 5 judged)"
	echo "$version: $(tail -n 1 judged)"
}

for python in "${pythons[@]}"; do
	version=$("$python" -c 'import torch; print(torch.__version__)')
	"$python" "$program" profile profile.json >alone 2>/dev/null || failed "$version: torch.profiler"
	record train -t ops,tensors,python_flame --stacks python,modules
	cmp alone out || failed "$version: losses differ from those of a run without us"
	judge peak train profile.json
	judge modules train train.json
	judge forward train
	is "$version: device time" \
		"$(json train/results/report.json '[f["what"] for t in d["tools"] if t["name"] == "python_flame" for f in t["findings"]]')" \
		"['no device time']"
	record lines -t ops --stacks python
	judge lines lines
	record leak -t tensors
	judge leak leak
	record sizes -t tensors
	judge sizes sizes
done

python=$(command -v "${pythons[0]}")
# Each missing input is reported on a line of its own.
mkdir -p empty
"$ACCELPROF" run -t ops -o none -- env "PATH=$dir/empty" XDG_CACHE_HOME="$dir/none" \
	"$python" "$program" sizes >out 2>err
is "no compiler: output" "$(cat out)" "[3]"
has "no compiler: why" err '^accelprof: the recording is incomplete: torch: .* install g\+\+'
is "no compiler: lines" "$(grep -c . err)" 2
done_
