# level.sh - accelprof run --level: what is recorded at each.
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1

# kinds RUN - those of run.json that a level is about.
kinds() {
	json "$1/run.json" '" ".join(k for k in d["kinds"] if k in ("launch", "kernel", "copy", "set", "sync", "api", "link", "queue", "event_record"))'
}

"$ACCELPROF" run -q -t kernel_freq -o default -- "$behave" || failed "default"
"$ACCELPROF" run -q -t kernel_freq --level trace -o trace -- "$behave" || failed "trace"
"$ACCELPROF" run -q -t kernel_freq --level full -o full -- "$behave" || failed "full"
"$ACCELPROF" run -q --level count -o count -- "$behave" || failed "count"
is "default" "$(kinds default)" "launch kernel"
is "trace" "$(kinds trace)" "launch kernel"
is "full" "$(kinds full)" "launch kernel copy set sync api link queue event_record"
is "count" "$(kinds count)" "launch"
has "state is recorded at every level" count/run.json '"alloc"'

need
# rows RUN TABLE COLUMNS - of kernel_freq, in order of their text.
rows() {
	json "$1/results/report.json" "sorted([r[i] for i in $3] for t in d['tools'][0]['tables'] if t['name'] == '$2' for r in t['rows'])"
}

"$ACCELPROF" run -q -t kernel_freq -o timed -- "$programs/cl_exact" >timed.out || failed "timed"
"$ACCELPROF" run -q -t kernel_freq --level count -o counted -- "$programs/cl_exact" >counted.out ||
	failed "counted"
"$dump" counted >counted.dump || failed "counted: dump"
is "no times" "$(grep -cE '"kind":"(kernel|copy|set|sync|api)"' counted.dump)" 0
grep -q '"kind":"launch"' counted.dump || failed "no launches"
is "the same launches" "$(rows counted kernels '(0, 1)')" "$(rows timed kernels '(0, 1)')"
is "they are some" "$(json counted/results/report.json 'd["tools"][0]["tables"][0]["rows"] != []')" True
is "times are blank" "$(rows counted kernels '(2, 3, 9)' | tr -d ' ' | sed 's/\[None,None,None\],*//g')" "[]"
is "origins add up" "$(json counted/results/report.json \
	'sum(r[3] for t in d["tools"][0]["tables"] if t["name"] == "launches_by_origin" for r in t["rows"])')" \
	"$(json counted/results/report.json 'sum(r[1] for r in d["tools"][0]["tables"][0]["rows"])')"
is "no record is missed" "$(json counted/results/report.json \
	'[f["what"] for f in d["tools"][0]["findings"] if "no record" in f["what"]]')" "[]"
is "what to do for more" "$(json counted/results/report.json \
	'[f["action"] for f in d["tools"][0]["findings"] if "did not record" in f["what"]]')" \
	'["record again without '"'--level count'"'"]'
is "the program sees no more than without" "$(json counted.out 'd["seen"]')" "$("$programs/cl_exact" | python3 -c 'import json, sys; print(json.load(sys.stdin)["seen"])')"
"$ACCELPROF" run -q -t kernel_freq --level count --stacks native=1 -o stacks -- "$programs/cl_exact" >/dev/null ||
	failed "stacks"
is "from where" "$(rows stacks launches_by_origin '(2,)' | grep -c cl_exact)" 1
done_
