# annotate.sh - annotate.h compiles everywhere, links nothing, and leaves programs alone.
. "$SRC/tests/e2e/lib.sh" || exit 1
programs=$BUILD/tests/programs

cat >use.c <<'EOF'
#include <pasta/annotate.h>
int main(void)
{
	pasta_start();
	pasta_region_begin("a");
	pasta_mark("m");
	pasta_iteration(1);
	pasta_counter("c", 1.0);
	pasta_thread_name("t");
	pasta_region_end();
	pasta_stop();
	return 0;
}
EOF
printf '#include <pasta/annotate.h>\nvoid other(void);\nvoid other(void) { pasta_mark("other"); }\n' >other.c
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for std in c99 c11 c17; do
		$cc -std=$std -Wall -Wextra -Wpedantic -Werror -O2 -I"$SRC/include" use.c other.c -o use ||
			failed "$cc -std=$std"
	done
done
for cxx in g++ clang++; do
	command -v $cxx >/dev/null || continue
	for std in c++11 c++17 c++20; do
		$cxx -x c++ -std=$std -Wall -Wextra -Wpedantic -Werror -O2 -I"$SRC/include" use.c -o use ||
			failed "$cxx -std=$std"
	done
done
gcc -DPASTA_ANNOTATE_OFF -Wall -Wextra -Werror -I"$SRC/include" use.c -o off || failed "switched off"
nm off | grep -qi pasta_annotate_ops && failed "something is left when it is switched off"

# Two files of one program share one agent; a static program has none, and runs.
gcc -I"$SRC/include" use.c other.c -o two && ./two || failed "two files"
gcc -static -I"$SRC/include" use.c -o static 2>/dev/null && {
	"$ACCELPROF" run -q -o static-run -- ./static || failed "a static program"
}

# A missing or invalid agent does not affect the program.
PASTA_AGENT=/nowhere.so ./two || failed "no agent"
PASTA_AGENT=$dir/use.c ./two || failed "an agent that is no library"
PASTA_AGENT=$BUILD/lib/libpasta-agent.so ./two || failed "an agent without a run"
PASTA_AGENT=$BUILD/lib/libpasta-agent.so PASTA_RUN=/nowhere ./two || failed "a run that is not there"

"$ACCELPROF" run -q -o asan -- "$programs/careful_asan" >out 2>err
is "ASan program: status" "$?" 0
is "ASan program: output" "$(cat out err)" "done"
is "ASan program: events" "$(json asan/results/report.json 'd["loss"]["captured"]')" 2000
"$ACCELPROF" run -q -o asan2 -- "$programs/careful_asan" fault >out 2>err
is "ASan program with a fault: status" "$?" 1
has "ASan program with a fault: reported" err heap-buffer-overflow
is "ASan program with a fault: events" "$(json asan2/results/report.json 'd["loss"]["captured"]')" 2000

"$ACCELPROF" run -q -t regions -o cpp -- "$programs/cplusplus" >out
is "C++: output" "$(cat out)" "done"
is "C++: regions" "$(json cpp/results/report.json 'sorted(r[0] for r in d["tools"][0]["tables"][0]["rows"])')" \
	"['after main', 'before main', 'main']"
is "C++: dropped" "$(json cpp/results/report.json 'd["loss"]["dropped"]')" 0
done_
