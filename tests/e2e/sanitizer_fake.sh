#!/usr/bin/env bash
# sanitizer_fake.sh - without a GPU, on a fake of the Compute Sanitizer: what is counted is what the
# program's kernels did.
# timeout: 300
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1
programs=$BUILD/tests/programs
dump=$BUILD/tests/dump
unset CUDA_INJECTION64_PATH PASTA_CUDA_INJECTION CUDA_HOME CUDA_PATH PASTA_CUPTI PASTA_PATCHES
unset FAKE_SANITIZER_FAIL FAKE_SANITIZER_HELD FAKE_SANITIZER_SHARED FAKE_SANITIZER_WRONG
export PASTA_SANITIZER=$programs/fake_sanitizer.so

# An agent with patches beside it, which the fake does not read; and a driver.
mkdir agent lib
cp "$BUILD/lib/libpasta-agent.so" agent/
mkdir -p share/accelprof # what the agent has beside it
ln -s "$SRC/python" share/accelprof/python
echo patches >agent/pasta-patches.fatbin
ln -s "$programs/fake_cupti.so" lib/libcuda.so.1
export PASTA_AGENT=$PWD/agent/libpasta-agent.so LD_LIBRARY_PATH=$PWD/lib

# record NAME STATUS OPTIONS -- ARGS... - run fake_kernels: NAME, NAME.out, NAME.err, NAME.dump.
record() {
	local name=$1 status=$2 options=()
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	timeout 60 "$ACCELPROF" run -q "${options[@]}" -o "$name" -- "$programs/fake_kernels" "$@" \
		>"$name.out" 2>"$name.err"
	is "$name: status" $? "$status"
	"$dump" "$name" >"$name.dump" 2>"$name.dump.err"
	grep -v patched "$name.out" >"$name.want"
}

# exact NAME - checks each object's counts against the program's output.
exact() {
	python3 "$SRC/tests/e2e/_accesses.py" objects "$1.dump" "$1.want" || failed "$1: not exact"
	[ -s "$1.want" ] || failed "$1: the program printed nothing"
}

# launches NAME TEXT
launches() {
	is "$1: launches" "$(python3 "$SRC/tests/e2e/_accesses.py" launches "$1.dump")" "$2"
}

# why NAME TEXT
why() {
	is "$1: why not" "$(python3 "$SRC/tests/e2e/_accesses.py" why "$1.dump")" "$2"
}

clean() {
	is "$1: stderr" "$(cat "$1.err")" ""
}

# found NAME - all that the tools have found, a line each: what, where, evidence, action.
found() {
	json "$1/results/report.json" \
		'"\n".join(", ".join(f[k] for k in ("what", "where", "evidence", "action") if f[k]) for t in d["tools"] for f in t["findings"])'
}

# patched NAME P U - how often modules were patched, and unpatched.
patched() {
	is "$1: patched" "$(grep -o '^patched.*unpatched [0-9]*' "$1.out")" "patched $2 unpatched $3"
}

# -- Counts by object: two threads, four streams, memory that comes and goes --
record all 0 -t hotness --all --record all -- all 50
clean all
exact all
launches all "counted 200 sampled 0 filtered 0 refused 0"
patched all 1 0
is "all: launches recorded" "$(grep -c '"kind":"launch"' all.dump)" 200
is "all: launches of kernels" "$(grep '"kind":"launch"' all.dump | grep -c '"work":1[,}]')" 200
is "all: module" "$(grep -c '"kind":"module"' all.dump)" 2
is "all: our own memory is none of the program's" "$(grep -c '"kind":"alloc"' all.dump)" 202
is "all: freed, at last with its context" "$(grep -c '"kind":"free"' all.dump)" 202
# The report shows where memory was allocated.
record origins 0 -t hotness --all --stacks native=1 -- all 5
is "origins" "$(json origins/results/report.json \
	'{" at " in r[0] for t in d["tools"][0]["tables"] for r in t["rows"] if r[0].startswith("buffer")}')" "{True}"
# Memory that only uncounted launches use has unknown accesses.
record some 0 -t hotness -- all 50
is "some: known" "$(json some/results/report.json \
	'sorted({(r[2] is None, r[7] > 0) for r in d["tools"][0]["tables"][0]["rows"] if r[0].startswith("buffer")})')" \
	"[(False, True), (True, False)]"
# Beside counting there are no times: blanks, not zeros, and no guess at why.
"$ACCELPROF" report all -t kernel_freq --format json >times.json || failed "times"
is "all: times" "$(json times.json '[[r[1], set(r[2:])] for r in d["tools"][0]["tables"][0]["rows"]]')" "[[100, {None}], [100, {None}]]"
is "all: why there are no times" "$(json times.json '[f["action"] for f in d["tools"][0]["findings"]]')" \
	"['possible reasons: the program ended before the kernels, records of kernels were dropped, or the run counted memory accesses and therefore has no times of CUDA kernels', 'record device times in a separate run, without memory accesses']"
# Freed and used again while launches wait: each has what was there when it was launched.
record queued 0 -t hotness --all -- queued 40
clean queued
exact queued
launches queued "counted 40 sampled 0 filtered 0 refused 0"
is "queued: objects" "$(grep -c '"kind":"object"' queued.dump)" 41
# More objects than a slot has room for at first.
record many 0 -t hotness --sample launches=2000 -- many 1500
clean many
exact many
# Where a thread in which a launch begins holds up the calls of all others.
FAKE_SANITIZER_HELD=1 record held 0 -t hotness --all -- all 50
clean held
exact held
launches held "counted 200 sampled 0 filtered 0 refused 0"
# A context that ends frees its own memory only, although it was notified of other memory.
# contexts NAME OPTIONS... - 9 pieces of memory, of which 4 are freed, and 2 are of the one that goes
contexts() {
	local name=$1
	shift
	record "$name" 0 -t hotness --all --record all "$@" -- contexts 5
	clean "$name"
	exact "$name"
	launches "$name" "counted 17 sampled 0 filtered 0 refused 0"
	is "$name: objects" "$(grep -c '"kind":"object"' "$name.dump")" 9
	is "$name: allocated" "$(grep -c '"kind":"alloc"' "$name.dump")" 9
	is "$name: freed" "$(grep -c '"kind":"free"' "$name.dump")" 6
}
contexts contexts
FAKE_SANITIZER_SHARED=1 contexts shared
FAKE_SANITIZER_SHARED=1 contexts sharedhost --processor cpu
record graphs 0 -t hotness --all --record launch -- graphs 6
clean graphs
exact graphs
launches graphs "counted 6 sampled 0 filtered 0 refused 0"
is "graphs: launches of graphs" "$(grep '"kind":"launch"' graphs.dump | grep -c '"work":4[,}]')" 6

# -- By site: each instruction, by its offset in its function --
record sites 0 -t access_pattern --all -- windows 5
clean sites
python3 - sites.dump <<-'END' || failed "sites"
	import collections, json, sys
	events = [json.loads(l) for l in open(sys.argv[1], encoding="utf-8") if l.startswith("{")]
	sites = {e["id"]: e for e in events if e.get("kind") == "site"}
	rows = collections.Counter()
	for e in events:
	    if e.get("kind") == "access_sum" and e["reducer"] == 3:
	        rows[sites[e["key0"]]["callee"]] += e["loads"] + e["stores"]
	want = {"+0x10": 600, "+0x20": 60, "+0x30": 300, "+0x40": 84, "+0x50": 18}
	if rows != want or len(sites) != 5:
	    sys.exit(f"got {dict(rows)} of {len(sites)} sites, wanted {want}")
END

# -- Barriers: counted on the device with any --processor, if a tool needs them --
judge=(python3 "$SRC/tests/gpu/sanitizer.py" barriers)
echo '{"barriers": [["waits", 0, 400, 12800, 12800], ["waits", 1, 40, 640, 1280]]}' >waits.json
# waits NAME OPTIONS... - what the tool shows of five launches
waits() {
	local name=$1
	shift
	record "$name" 0 "$@" -- barriers 5
	clean "$name"
	is "$name: a block" "$(json "$name/results/report.json" \
		'[[r[0], r[1], r[12]] for o in d["tools"] for t in o["tables"] if t["name"] == "blocks" for r in t["rows"]]')" \
		"[['waits', 4, 22]]"
	is "$name: sites" "$(json "$name/results/report.json" \
		'[r for o in d["tools"] for t in o["tables"] if t["name"] == "barriers" for r in t["rows"]]')" \
		"[['waits', None, None, 440, 13440, 95.45454545454545]]"
}
# all_wait NAME OPTIONS... - and all rows
all_wait() {
	waits "$@" --all
	"$ACCELPROF" export "$1" --to sqlite -o "$1.db" >/dev/null 2>&1 || failed "$1: export"
	"${judge[@]}" "$1.db" waits.json >"$1.judge" || failed "$1: $(cat "$1.judge")"
}
all_wait barriers -t block_divergence
launches barriers "counted 5 sampled 0 filtered 0 refused 0"
is "barriers: accesses are not counted" \
	"$(grep '"kind":"access_sum"' barriers.dump | grep -Ecv '"reducer":(7|10)[,}]')" 0
all_wait beside -t block_divergence,hotness,access_pattern
exact beside
all_wait onhost --processor cpu -t block_divergence,hotness
exact onhost
waits two -t block_divergence --sample launches=2
launches two "counted 2 sampled 3 filtered 0 refused 0"
sed 's/12800/12801/' waits.json >false.json
! "${judge[@]}" barriers.db false.json >judge.out || failed "a judge who sees nothing"
has "the judge's verdict" judge.out '^waits: warps, threads, none, of threads by barrier: counted'
FAKE_SANITIZER_FAIL=pasta_all_barrier=1 record nobarrier 0 -t block_divergence --all -- barriers 5
launches nobarrier "counted 0 sampled 0 filtered 0 refused 5"
FAKE_SANITIZER_FAIL=pasta_all_barrier=1 record unwanted 0 -t hotness,access_pattern --all -- barriers 5
clean unwanted
launches unwanted "counted 5 sampled 0 filtered 0 refused 0"

# -- Raw accesses: stored, and counted by the host --
# traced NAME - what mem_trace has of each launch, the same lines once.
traced() {
	json "$1/results/report.json" \
		'"\n".join(sorted({" ".join(map(str, [r[0], *r[2:7]])) for o in d["tools"] for t in o["tables"] if o["name"] == "mem_trace" and t["name"] == "launches" for r in t["rows"]}))'
}
record trace 0 -t mem_trace --all -- windows 5
clean trace
launches trace "counted 6 sampled 0 filtered 0 refused 0"
is "trace" "$(traced trace)" "other 170 117 60 1052 0
window 170 117 60 1052 0"
is "trace: no rows" "$(grep -c '"kind":"access_sum"' trace.dump)" 0
record both 0 -t hotness,mem_trace --all -- all 50
clean both
exact both
launches both "counted 200 sampled 0 filtered 0 refused 0"
is "both" "$(traced both)" "one 170 117 60 1052 0
two 170 117 60 1052 0"
# More than the ring holds, again and again.
record long 0 -t hotness,mem_trace --all -- long 3
clean long
exact long
is "long" "$(traced long)" "long 1020000 702000 360000 6312000 0"
# Accesses that don't fit in the ring are missing from the file and from the host's counts, not from
# the device's.
record lossy 0 --lossy -t hotness,mem_trace --all -- long 3
clean lossy
has "lossy: why" <(found lossy) '^dropped accesses: [0-9]+, possible reasons: a launch never ended, .*, run without --lossy'
record parttrace 0 -t mem_trace --all --sample blocks=1/2 -- windows 5
has "parttrace: that it is a part" <(found parttrace) \
	'^in 6 launches, only one thread block in 2 was recorded, numbers cover only the recorded thread blocks, and are not scaled'
exact lossy
is "lossy: each is there, or dropped" \
	"$(json lossy/results/report.json 'sum(r[2] + r[6] for r in d["tools"][1]["tables"][0]["rows"])')" 6120000
is "lossy: reported" \
	"$(json lossy/results/report.json '[t["name"] for t in d["tools"] for f in t["findings"] if "lost" in f["what"] or "dropped" in f["what"]]')" \
	"['mem_trace', 'mem_trace']"
record lossyhost 0 --lossy --processor cpu -t hotness --all -- long 3
clean lossyhost
has "lossyhost: reported" <(found lossyhost) '^dropped accesses: [0-9]+, sums do not include dropped accesses; '
record host 0 --processor cpu -t hotness,access_pattern --all -- all 50
clean host
exact host
launches host "counted 200 sampled 0 filtered 0 refused 0"
record longhost 0 --processor cpu -t hotness --all -- long 3
clean longhost
exact longhost
for name in heldtrace heldhost; do
	[ $name = heldhost ] && options="--processor cpu -t hotness" || options="-t hotness,mem_trace"
	# shellcheck disable=SC2086
	FAKE_SANITIZER_HELD=1 record $name 0 $options --all -- all 50
	clean $name
	exact $name
	launches $name "counted 200 sampled 0 filtered 0 refused 0"
done
record graphtrace 0 -t hotness,mem_trace --all -- graphs 6
clean graphtrace
exact graphtrace
is "graphtrace" "$(traced graphtrace)" "graph: node 55 55 0 440 0"
record endtrace 0 -t hotness,mem_trace --all -- ends
clean endtrace
exact endtrace
record forktrace 0 -t hotness,mem_trace --all -- fork 5
clean forktrace
exact forktrace
record leavetrace 0 --processor cpu -t hotness --all -- _exit 5
clean leavetrace
exact leavetrace
record stucktrace 0 -t hotness,mem_trace --all -- stuck
has "stucktrace" stucktrace.err '^launches took 2\.[0-9] s'
launches stucktrace "counted 4 sampled 0 filtered 0 refused 3"
why stucktrace "beside: the raw-access buffer cannot be used yet: an earlier launch that writes to it has not ended"
record faulttrace 3 -t hotness,mem_trace --all -- fault 5
clean faulttrace
exact faulttrace
FAKE_SANITIZER_FAIL=sanitizerAllocHost=2 record unpinned 0 -t mem_trace --all -- windows 2
why unpinned "other: not enough pinned memory for the raw-access buffer
window: not enough pinned memory for the raw-access buffer"
# Where none could be, the others of their shape are not as they: they are left out, too.
for tool in mem_trace hotness; do
	FAKE_SANITIZER_FAIL=sanitizerAlloc$([ $tool = hotness ] || echo Host)=2 record none$tool 0 -t $tool -- windows 8
	launches none$tool "counted 0 sampled 5 filtered 0 refused 4"
	is "none$tool" "$(found none$tool | sed 's/: not enough .*, \(window\|other\),/: why, \1,/')" \
		"accesses of this kernel could not be counted: why, window, launches that were not counted: 8
accesses of this kernel could not be counted: why, other, launches that were not counted: 1"
done

# -- Both at once, and compared --
# same NAME LAUNCHES ROWS - checks that the only finding is that both counts are equal.
same() {
	is "$1: stderr" "$(cat "$1.err")" \
		"accelprof: accesses: device and host counted the same accesses (launches: $2, rows: $3)"
}
record twice 0 --processor both -t hotness --all -- all 50
exact twice
launches twice "counted 200 sampled 0 filtered 0 refused 0"
same twice 200 "$(grep -c '"kind":"access_sum"' twice.dump)"
record twicesites 0 --processor both -t hotness,access_pattern,mem_trace --all -- windows 5
exact twicesites
same twicesites 6 "$(grep -c '"kind":"access_sum"' twicesites.dump)"
is "twicesites: traced" "$(traced twicesites)" "$(traced trace)"
record twicelong 0 --processor both -t access_pattern --all -- long 3
same twicelong 6 "$(grep -c '"kind":"access_sum"' twicelong.dump)"
record twicegraphs 0 --processor both -t hotness,access_pattern --all -- graphs 6
exact twicegraphs
same twicegraphs 6 "$(grep -c '"kind":"access_sum"' twicegraphs.dump)"
record twiceblocks 0 --processor both -t block_divergence,hotness --all -- barriers 5
same twiceblocks 5 "$(grep '"kind":"access_sum"' twiceblocks.dump | grep -Ec '"reducer":[12][,}]')"
# Who goes without a word has none.
record twiceleave 0 --processor both -t hotness --all -- _exit 5
exact twiceleave
clean twiceleave
# The report has the device's counts, and names the first difference.
FAKE_SANITIZER_WRONG=1 record wrong 0 --processor both -t hotness --all -- windows 5
lines "wrong" wrong.err 1
has "wrong" wrong.err "^accelprof: accesses differ: device and host counted differently \\(launches: 6 of 6, rows: 6 of [1-9][0-9]*\\); kernel (window|other), row 0x[0-9a-f]+ 0 by object: loads, stores, bytes and extra are 111 0 560 0 on the device, and 110 0 560 0 on the host\$"
# What never ended, and what is behind it, is not compared.
record twicestuck 0 --processor both -t hotness --all -- stuck
has "twicestuck" twicestuck.err 'device and host counted no comparable accesses \(launches: 0, rows: 0\); launches not compared, because counts are incomplete: 4$'

# -- Sampling: a module is patched when it is to be counted, and not for ever --
record windows 0 -t hotness -- windows 300
launches windows "counted 4 sampled 297 filtered 0 refused 0"
patched windows 2 1
record few 0 -t hotness -- windows 60
patched few 1 0
# The second time it takes twice as many.
record again 0 -t hotness --sample launches=1 -- again 100
launches again "counted 3 sampled 400 filtered 0 refused 0"
patched again 2 2
record filtered 0 -t hotness --kernel nothing -- windows 300
launches filtered "counted 0 sampled 0 filtered 301 refused 0"
patched filtered 2 1
is "filtered: reported" "$(found filtered)" "launches excluded by the run's filters: 301
the report covers only the part of the run that matches the filter: --kernel nothing"
record tracefiltered 0 -t mem_trace --kernel nothing -- windows 5
is "tracefiltered: reported" "$(found tracefiltered)" "$(found filtered | sed 's/301/6/')"
record paused 0 -t hotness --all --paused -- windows 20
launches paused "counted 0 sampled 0 filtered 0 refused 0"
patched paused 1 0

# A kernel runs without a wait: work that would wait for it is postponed.
record never 0 -t hotness --exclude never -- beside 300
clean never
launches never "counted 4 sampled 297 filtered 1 refused 0"
patched never 1 0

# -- What goes wrong --
record stuck 0 -t hotness --all -- stuck
has "stuck" stuck.err '^launches took 2\.[0-9] s'
launches stuck "counted 7 sampled 0 filtered 0 refused 0"
exact stuck
is "stuck: the kernel that never ended, and those after it, are dropped" \
	"$(grep '"kind":"access_launch"' stuck.dump | grep -c '"lost":1')" 4
has "stuck: reported" <(found stuck) '^dropped accesses: 4, sums do not include dropped accesses; '
is "stuck: more memory would not help" "$(found stuck | grep -c -e --memory)" 0
is "stuck: in the account" "$(json stuck/run.json '[k for k, n in d["loss"]["reasons"].items() if n]')" "['source']"
record killed 137 -t hotness --all -- killed 5
exact killed
launches killed "counted 6 sampled 0 filtered 0 refused 0"
has "killed: reported" <(found killed) '^launches with incomplete accesses: 1, '
record fault 3 -t hotness --all -- fault 5
clean fault
exact fault
why fault "late: an earlier kernel of the same CUDA context failed"
record ends 0 -t hotness --all -- ends
clean ends
exact ends
record fork 0 -t hotness --all -- fork 5
clean fork
exact fork
record leave 0 -t hotness --all -- _exit 5
clean leave
exact leave
FAKE_SANITIZER_FAIL=pasta_page_global=1 record refused 0 -t hotness --all -- windows 5
launches refused "counted 0 sampled 0 filtered 0 refused 6"
has "a patch that is refused" <(python3 "$SRC/tests/e2e/_accesses.py" why refused.dump) \
	'^window: some of its instructions cannot be patched'
FAKE_SANITIZER_FAIL=pasta_floor_global=1 PASTA_PATCHES=floor record floor 0 -t hotness --all -- windows 5
launches floor "counted 0 sampled 0 filtered 0 refused 6"
FAKE_SANITIZER_FAIL=sanitizerAddPatchesFromFile=1 record unloadable 0 -t hotness --all -- windows 5
has "patches that cannot be loaded" unloadable.err \
	'no accesses are counted on device 0, because the patches cannot be loaded \(the fake says no\): build'
lines "patches that cannot be loaded" unloadable.err 1
why unloadable "other: cannot load the patches onto the launch's device
window: cannot load the patches onto the launch's device"
FAKE_SANITIZER_FAIL=sanitizerAlloc=7 record full 0 -t hotness --all -- windows 2
why full "other: not enough device memory for the launch's counters
window: not enough device memory for the launch's counters"
FAKE_SANITIZER_FAIL=sanitizerSubscribe=10 record taken 0 -t hotness -- windows 2
has "another subscriber" taken.err 'another library in the program uses the Compute Sanitizer'
PASTA_SANITIZER=/nowhere record missing 0 -t hotness -- windows 2
has "no library" missing.err 'PASTA_SANITIZER is not the path of a libsanitizer-public.so: /nowhere'
rm agent/pasta-patches.fatbin
record unpatched 0 -t hotness -- windows 2
has "no patches" unpatched.err 'pasta-patches.fatbin is missing from the agent.s folder: build accelprof with nvcc'

# -- doctor --
"$ACCELPROF" doctor >out
has "doctor: no patches" out '^no  sanitizer .*pasta-patches.fatbin is missing from the agent.s folder'
echo patches >agent/pasta-patches.fatbin
"$ACCELPROF" doctor >out
has "doctor" out '^ok  sanitizer .*fake_sanitizer.so'
rm lib/libcuda.so.1
"$ACCELPROF" doctor >out
has "doctor: no driver" out '^no  sanitizer .*cannot load libcuda.so.1'
done_
