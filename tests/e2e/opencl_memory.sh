# opencl_memory.sh - copies have the types of memory that the program used, waits a type, and builds
# and allocations a duration.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need

"$ACCELPROF" run -q --record all -o run -- "$programs/cl_memory" >out 2>err
is "status" $? 0
is "stderr" "$(cat err)" ""
"$dump" run >events || failed "dump"
python3 - events out <<-'EOF' || failed "see above"
	import collections, json, sys
	events = [json.loads(line) for line in open(sys.argv[1])]
	said = [line.split() for line in open(sys.argv[2])]
	by = collections.defaultdict(list)
	for e in events:
	    by[e["kind"]].append(e)
	wrong = []
	# Copies are in the order in which they were enqueued.
	got = [(e["sub"], e["src_memory"], e["dst_memory"])
	       for e in sorted(by["copy"], key=lambda e: e["corr"])]
	wanted = [tuple(map(int, words[1:])) for words in said if words[0] == "copy"]
	if got != wanted:
	    wrong.append(f"copies: got {got}, wanted {wanted}")
	if len(wanted) < 15:
	    wrong.append(f"only {len(wanted)} copies")
	most = [int(words[1]) for words in said if words[0] == "slow"][0]
	builds = [e for e in by["module"] if e.get("name") == "build"]
	if len(builds) != 1 or not most / 2 < builds[0]["dur"] <= most:
	    wrong.append(f"builds: {builds}, which took {most}")
	calls = [e["dur"] for e in by["api"] if e.get("name") == "clBuildProgram"]
	if len(calls) != 1 or not builds[0]["dur"] <= calls[0] <= most:
	    wrong.append(f"calls of clBuildProgram: {calls}")
	waits = collections.Counter(e["sub"] for e in by["sync"])
	if set(waits) != {1, 3} or waits[1] != 1:  # an event, a queue
	    wrong.append(f"waits: {waits}")
	tids = {e["tid"] for e in by["launch"]}
	if {e["tid"] for e in by["sync"] + by["module"] if e.get("name") == "build" or e["kind"] == "sync"} != tids:
	    wrong.append("threads of waits and builds")
	made = [e for e in by["alloc"] if e["dur"]]
	if len(made) != len(by["alloc"]) or not made or max(e["dur"] for e in made) > 10**10:
	    wrong.append(f"durations of allocations: {by['alloc']}")
	print(*wrong, sep="\n")
	print(len(got), "copies,", sum(waits.values()), "waits, a build of", builds[0]["dur"], "ns")
	sys.exit(len(wrong) > 0)
EOF
done_
