# nvtx.sh - programs that use NVTX: their ranges are recorded, and NVTX's return values unchanged.
. "$SRC/tests/e2e/lib.sh" || exit 1
source=$SRC/tests/programs/nvtx_ranges.c

cp "$BUILD/tests/programs/nvtx_ranges" own
programs=own
for include in ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda/include /usr/include; do
	[ -e "$include/nvtx3/nvToolsExt.h" ] || continue
	cc -O2 -DNVTX_REAL -isystem "$include" "$source" -o real -pthread -ldl || failed "NVTX's headers"
	programs="own real"
	break
done
[ -e real ] || echo "no nvtx3/nvToolsExt.h: not tested with NVTX's own headers, but with what they do"

# rows RUN - the regions of a run, a line each: kind, name, domain and depth.
rows() {
	"$BUILD/tests/dump" "$1" region | python3 -c 'import json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["kind"] == "region":
        name = e["name"].encode("latin-1").decode()
        track = "track " if e["tid"] >= 1 << 30 else ""
        print(track + " +-!"[e["sub"]] + name, e["domain"] or "-", e["depth"], e["flags"] >> 16)'
}

cat >wanted_out <<'EOF'
nested 0 1 2 2 1 0
too many -1
crossed 0 0 1 0 1 0
ids differ
EOF
cat >wanted_rows <<'EOF'
+train nvtx 1 0
+grüß 😀 nvtx 2 0
!half nvtx 3 0
+attributes nvtx 3 0
- - 3 0
- - 2 0
- - 1 0
+read io 1 0
+solve math 2 0
+factor math 3 0
- - 3 2
- - 2 2
- - 1 0
!read math 1 0
+serve nvtx 1 0
track +epoch nvtx 1 0
track +request io 1 0
track - - 1 0
- - 1 0
+load nvtx 1 0
track - - 1 0
- - 1 0
EOF

for program in $programs; do
	./$program >alone || failed "$program alone"
	has "$program alone: no levels" alone '^nested -2 -2 -2 -2 -2 -2$'
	"$ACCELPROF" run -q -t regions -o "run-$program" -- ./$program >out 2>err
	is "$program: status" "$?" 0
	is "$program: stderr" "$(cat err)" ""
	diff wanted_out out || failed "$program: what NVTX returned"
	rows "run-$program" >rows
	diff wanted_rows rows || failed "$program: regions"
	is "$program: dropped" "$(json "run-$program/results/report.json" 'd["loss"]["dropped"]')" 0
	"$ACCELPROF" report "run-$program" --format perfetto >"$program.json" 2>err ||
		failed "$program: timeline: $(cat err)"
	has "$program: the thread's name" "$program.json" '"loader"'
	has "$program: a track" "$program.json" '"nvtx ranges 1"'
	"$ACCELPROF" run -q -t regions -o "many-$program" -- ./$program many 20000 2>err
	has "$program: many" err '^[0-9]+ ns a range$'
	is "$program: all of many" "$(json "many-$program/results/report.json" 'd["loss"]["expected"]')" 40000
done

# If no tool needs regions, none are recorded, and the levels are the same.
"$ACCELPROF" run -q -t copies -o unwanted -- ./own >out 2>err
diff wanted_out out || failed "no tool wants regions: what NVTX returned"
is "no tool wants regions: regions" "$(rows unwanted)" ""

# A library that the user has set in NVTX_INJECTION64_PATH stays in use, and a message states it.
cat >tool.c <<'EOF'
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
static int pushes;
static int push(const char *text) { (void)text; return 100 + pushes++; }
static void __attribute__((destructor)) report(void) { fprintf(stderr, "tool: %d pushes\n", pushes); }
struct callbacks { size_t size; int (*get)(int, void ***, unsigned int *); };
int InitializeInjectionNvtx2(const void *(*get)(uint32_t));
int InitializeInjectionNvtx2(const void *(*get)(uint32_t))
{
	const struct callbacks *c = get(1);
	unsigned int n;
	void **table;
#ifdef REFUSES
	return 0;
#endif
	if (!c->get(1, &table, &n))
		return 0;
	*(int (**)(const char *))table[9] = push;
	return 1;
}
EOF
cc -shared -fPIC tool.c -o tool.so && cc -DREFUSES -shared -fPIC tool.c -o refuses.so || failed "a tool"
NVTX_INJECTION64_PATH=$PWD/tool.so "$ACCELPROF" run -t regions -o chained -- ./own >out 2>err
is "another's tool: status" "$?" 0
has "another's tool: it is asked" out '^nested 100 '
has "another's tool: it counts" err '^tool: 3 pushes$'
has "another's tool: a message" err 'NVTX_INJECTION64_PATH names another library'
NVTX_INJECTION64_PATH=$PWD/refuses.so "$ACCELPROF" run -q -t regions -o refused -- ./own >out 2>err
diff wanted_out out || failed "a tool that refuses"
NVTX_INJECTION64_PATH=/nowhere.so "$ACCELPROF" run -q -t regions -o nowhere -- ./own >out 2>err
diff wanted_out out || failed "a tool that is not there"

# Without a run the agent refuses.
NVTX_INJECTION64_PATH=$BUILD/lib/libpasta-agent.so ./own >out 2>err
diff alone out || failed "the agent without a run"
"$ACCELPROF" doctor >out 2>&1
has "doctor" out '^ok +nvtx '
done_
