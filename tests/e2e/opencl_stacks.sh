#!/usr/bin/env bash
# opencl_stacks.sh - launches and allocations of a real OpenCL program know where they come from.
# labels: asan
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

"$ACCELPROF" doctor | grep -q '^ok *opencl' || {
	echo "no OpenCL device here"
	exit 77
}
many=$BUILD/tests/programs/cl_many
"$ACCELPROF" run -q -t memory --record all --stacks native=1 -o run -- "$many" 1000 2 2 >out 2>err ||
	failed "cl_many: $(cat err)"
"$BUILD/tests/dump" run >events || failed "dump"
python3 - events <<-'EOF' || failed "stacks"
	import json, sys
	launches = with_stack = allocs = alloc_stack = modules = 0
	for line in open(sys.argv[1]):
	    e = json.loads(line)
	    if e["kind"] == "launch":
	        launches += 1
	        with_stack += bool(e["stack"])
	    elif e["kind"] == "alloc":
	        allocs += 1
	        alloc_stack += bool(e["stack"])
	    elif e["kind"] == "module" and "cl_many" in str(e.get("name")) + str(e.get("path")):
	        modules += 1
	print(launches, with_stack, allocs, alloc_stack, modules)
	sys.exit(not (launches and launches == with_stack and allocs and allocs == alloc_stack and modules))
EOF
"$ACCELPROF" report run -t memory --format json -o report.json || failed "report"
has "sites are functions of the program" report.json 'new_buffer .cl_common.h:[0-9]+.'
"$ACCELPROF" export run --to sqlite -o run.db || failed "export"
python3 - run.db <<-'EOF' || failed "stacks in a database"
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	stacks = [stack for stack, in db.execute("SELECT stack FROM launch")]
	sys.exit(not (stacks and all("(cl_many.c:" in stack for stack in stacks)))
EOF
done_
