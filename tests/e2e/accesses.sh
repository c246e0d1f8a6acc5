# accesses.sh - accesses of OpenCL kernels, counted: exact, and the program is none the wiser.
# timeout: 240
. "$SRC/tests/e2e/lib.sh" || exit 1
. "$SRC/tests/e2e/_opencl.sh" || exit 1
need
[ -e "$BUILD/lib/libpasta-opencl-trace.so" ] || skip "there was no LLVM of PoCL's version when this was built"
"$ACCELPROF" doctor | grep -q '^ok  accesses' || skip "$("$ACCELPROF" doctor | grep accesses)"
counts=(python3 "$SRC/tests/e2e/_accesses.py")
# All tables, whatever the tools want.
every=(env PASTA_ACCESSES=0x7e,launches=0)

# Thirteen kernels whose accesses are known by formula: by object, by line, by both.
"$programs/cl_kernels" >native.out || failed "native: status $?"
"$ACCELPROF" run -q --record all -o kernels -- "${every[@]}" "$programs/cl_kernels" >kernels.out 2>kernels.err
is "kernels: status" $? 0
is "kernels: results" "$(cat kernels.out)" "$(cat native.out)"
is "kernels: stderr" "$(cat kernels.err)" ""
"$dump" kernels >kernels.dump || failed "kernels: dump"
"${counts[@]}" kernels kernels.dump native.out || failed "kernels: not what is known"
"${counts[@]}" split kernels.dump || failed "kernels: bytes read and written"
is "kernels: dropped" "$(tail -n 1 kernels.dump | grep -o '"dropped":[0-9]*')" '"dropped":0'

# The ways that programs have to launch kernels.
for way in link svm parts once together clone image wrong free ended; do
	"$ACCELPROF" run -q --record all -o "$way" -- "${every[@]}" "$programs/cl_count" "$way" >"$way.out" 2>"$way.err"
	is "$way: status" $? 0
	is "$way: stderr" "$(cat "$way.err")" ""
	"$dump" "$way" >"$way.dump" || failed "$way: dump"
	"${counts[@]}" objects "$way.dump" "$way.out" || failed "$way: not what it printed"
	is "$way: refused" "$("${counts[@]}" why "$way.dump")" ""
done
is "image: what is not counted" "$(grep '"kind":"site"' image.dump | grep -c '"callee":"read_imagei"')" 1

# More pages than a thread has cells for: each has its row.
"$ACCELPROF" run -q --record all -o large -- env PASTA_ACCESSES=0x6,page=5,launches=0 "$programs/cl_count" large >large.out 2>large.err
is "large: status" $? 0
is "large: stderr" "$(cat large.err)" ""
"$dump" large >large.dump || failed "large: dump"
"${counts[@]}" objects large.dump large.out || failed "large: not what it printed"
is "large: pages" "$(grep '"kind":"access_sum"' large.dump | grep -c '"bytes":32,.*"reducer":2,')" 131072
is "large: no room" "$(grep '"kind":"access_sum"' large.dump | grep -c '"key0":18446744073709551615')" 0
is "large: dropped" "$(tail -n 1 large.dump | grep -o '"dropped":[0-9]*')" '"dropped":0'

# The program's own errors.
"$programs/cl_bad" arguments >bad.native
"$ACCELPROF" run -q --record all -o bad -- "${every[@]}" "$programs/cl_bad" arguments >bad.out 2>bad.err
is "arguments: status" $? 4
is "arguments: what it sees" "$(cat bad.out)" "$(cat bad.native)"
is "arguments: stderr" "$(cat bad.err)" ""

# No leak of ours. PoCL has one, now and then, when it compiles.
for words in 0x7e,launches=0 0x7e,launches=0,raw; do
	rm -rf exact
	"$ACCELPROF" run -q --record all -o exact -- env PASTA_ACCESSES=$words "$programs/cl_exact_asan" >exact.out 2>exact.err
	is "leaks, $words: of ours" "$(grep pasta exact.err)" ""
	is "leaks, $words: results" "$(tail -c 2 exact.out)" "}"
done

# What cannot be counted runs as it is, and is named.
for way in binary loose; do
	"$ACCELPROF" run -q --record all -o "$way" -- "${every[@]}" "$programs/cl_count" "$way" >"$way.out" 2>"$way.err"
	is "$way: status" $? 0
	"$dump" "$way" >"$way.dump" || failed "$way: dump"
	is "$way: launches" "$("${counts[@]}" launches "$way.dump")" "counted 0 sampled 0 filtered 0 refused 1"
	is "$way: rows" "$(grep -c '"kind":"access_sum"' "$way.dump")" 0
done
is "binary: why" "$("${counts[@]}" why binary.dump)" "add: the kernel's program was not created from source"
is "loose: why" "$("${counts[@]}" why loose.dump | grep -o 'use run --inexact to count this kernel')" "use run --inexact to count this kernel"
"$ACCELPROF" run -q --record all -o rounded -- env PASTA_ACCESSES=2,inexact "$programs/cl_count" loose >rounded.out
"$dump" rounded >rounded.dump || failed "rounded: dump"
is "rounded: launches" "$("${counts[@]}" launches rounded.dump)" "counted 1 sampled 0 filtered 0 refused 0"

# Three launches of a shape, and none of kernels that are left out.
"$ACCELPROF" run -q --record all -o some -- env PASTA_ACCESSES=2,launches=3 "$programs/cl_count" together >some.out
"$dump" some >some.dump || failed "some: dump"
is "some: launches" "$("${counts[@]}" launches some.dump)" "counted 3 sampled 29 filtered 0 refused 0"
"$ACCELPROF" run -q --record all -o others -- env PASTA_ACCESSES=2 PASTA_ACCESS_EXCLUDE='^a' "$programs/cl_count" together >others.out
"$dump" others >others.dump || failed "others: dump"
is "others: launches" "$("${counts[@]}" launches others.dump)" "counted 0 sampled 0 filtered 32 refused 0"

# A tool that needs every launch has them all, and none of a run that sampled.
sed 's/PASTA_NEED_ACCESS_COALESCE/& | PASTA_NEED_EVERY_LAUNCH/' "$SRC/tests/programs/plugin_accesses.c" >every.c
cc -std=c17 -shared -fPIC -I"$SRC/include" every.c -o every.so || failed "every.so"
"$ACCELPROF" run -q -t ./every.so -o every -- "$programs/cl_count" together >every.out || failed "every"
"$dump" every >every.dump || failed "every: dump"
is "every: launches" "$("${counts[@]}" launches every.dump)" "counted 32 sampled 0 filtered 0 refused 0"
"$ACCELPROF" report every -t ./every.so >every.out 2>every.err || failed "every: report"
"$ACCELPROF" run -q -t object_traffic,access_pattern -o sampled -- "$programs/cl_count" together >sampled.out || failed "sampled"
"$ACCELPROF" report sampled -t ./every.so,object_traffic >sampled.out 2>sampled.err
is "sampled: status" $? 1
has "sampled: refused" sampled.err 'tool needs_accesses failed: the run counted the memory accesses of only some launches, but the tool needs every launch: record again with -t ./every.so, or with --all$'
has "sampled: the other tool" sampled.out '^== object_traffic =='

# Memory touched only by kernels that a filter excludes is not reported as untouched.
"$ACCELPROF" run -t hotness --exclude matmul -o without -- "$programs/cl_kernels" matmul wide >without.out 2>without.err
is "without: status" $? 0
has "without: never touched" without.err '^note: bytes never touched by counted launches: [1-9]'
has "without: left out" without.err "^note: launches excluded by the run's filters: [1-9]"

# Without counting, no program is built twice and no argument is stored.
"$ACCELPROF" run -q --record all -o none -- "$programs/cl_count" free >none.out
"$dump" none >none.dump || failed "none: dump"
is "none: launches" "$("${counts[@]}" launches none.dump)" "counted 0 sampled 0 filtered 0 refused 0"
done_
