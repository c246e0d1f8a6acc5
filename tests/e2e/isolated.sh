#!/usr/bin/env bash
# isolated.sh - accelprof's own tools, built as plug-ins: in processes of their own they report the same.
# timeout: 300
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
unset PASTA_TOOL_PATH

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "no accelprof-gen in this build"
	exit 77
}
tools=$("$ACCELPROF" tools | sed 's/ .*//')
mkdir plugins
for tool in $tools; do
	[ -e "$SRC/tools/$tool.c" ] || continue
	sed "s/\\.name = \"$tool\"/.name = \"x_$tool\"/" "$SRC/tools/$tool.c" >"x_$tool.c"
	cc -std=c17 -D_GNU_SOURCE -Werror=implicit-function-declaration -O1 -shared -fPIC \
		-I"$SRC/include" "x_$tool.c" -o "plugins/x_$tool.so" ||
		failed "x_$tool.so"
done
count=$(ls plugins | wc -l)
[ "$count" -ge 10 ] || failed "only $count tools"

# compare RUN ARGUMENTS... - each tool's tables and charts, here and there, and findings but for names.
compare() {
	local run=$1
	shift
	timeout -s KILL 200 "$ACCELPROF" report "$run" -t "$(echo $tools | tr ' ' ,)" --format json "$@" \
		>here.json 2>here.err
	timeout -s KILL 200 "$ACCELPROF" report "$run" --tool-path plugins --format json "$@" \
		-t "$(cd plugins && echo *.so | sed 's/\.so//g; s/ /,/g')" >there.json 2>there.err
	python3 -S - "$run $*" <<-'END' || failed "$run $*"
		import json, sys
		here = {t["name"]: t for t in json.load(open("here.json"))["tools"]}
		there = {t["name"]: t for t in json.load(open("there.json"))["tools"]}
		bad = 0
		for name, tool in there.items():
		    was = json.dumps(here[name[2:]])
		    now = json.dumps(tool).replace(name, name[2:])
		    if was != now:
		        bad += 1
		        at = next((i for i, (a, b) in enumerate(zip(was, now)) if a != b), 0)
		        print(f"{sys.argv[1]}: {name}: {was[max(0, at - 80):at + 80]}\n  not {now[max(0, at - 80):at + 80]}")
		sys.exit(bad > 0 or len(there) < 10)
	END
	is "$run $*: the account" "$(json there.json 'd["loss"]')" "$(json here.json 'd["loss"]')"
}

"$gen" -n 20000 --ranks 3 --profile all -o made >/dev/null || failed "gen"
compare made
compare made --threads 1
compare made --threads 8 --rank 1-2 --time 1ms-
compare made --kernel gemm --exclude 'cutlass'
compare "$SRC/tests/data/import/chrome-comma.json" # in a file that has no name
for run in "$SRC"/tests/data/runs/*/; do
	cp -r "$run" copy
	compare copy
	rm -r copy
done
done_
