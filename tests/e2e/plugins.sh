# plugins.sh - tools in libraries: built against what is installed, found, and refused one by one.
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
unset PASTA_TOOL_PATH
gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "there is no accelprof-gen here: PASTA_BENCH is off"
	exit 77
}

# -- The examples, by CMake and by pkg-config, from a tree that was moved.

cmake --install "$BUILD" --prefix "$dir/first" >/dev/null || failed "cmake --install"
mv first prefix
accelprof=$dir/prefix/bin/accelprof
export PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig
cp -r "$SRC/examples" made
strict='-O2 -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror'
make -s -C made CFLAGS="$strict" CXXFLAGS="$strict" || failed "the examples, with make"
cmake -S "$SRC/examples" -B cmade -DCMAKE_PREFIX_PATH="$dir/prefix" >log 2>&1 &&
	cmake --build cmade >>log 2>&1 || {
	failed "the examples, with CMake"
	cat log
}
readelf -d made/*.so cmade/*.so >needed
grep -q 'NEEDED.*pasta' needed && failed "a plug-in is linked with libpasta"

n=0
for options in '-n 20000' '-n 30000 --ranks 3 --seed 5' '--profile all -n 20000 --ranks 2'; do
	n=$((n + 1))
	# shellcheck disable=SC2086
	"$dir/prefix/bin/accelprof-gen" $options -o "run$n" >/dev/null || failed "accelprof-gen"
	"$BUILD/tests/dump" "run$n" launch kernel copy set sync >events || failed "dump"
	"$accelprof" report "run$n" \
		-t ./made/kernel_gaps.so,./made/launch_latency.so,./made/launch_storms.so,./made/idle_gaps.so \
		--opt kernel_gaps.longest=7 --opt launch_storms.least=3 --opt launch_storms.top=0 \
		--format json >report.json || failed "report, $options"
	python3 "$SRC/tests/e2e/plugins.py" events report.json || failed "numbers, $options"
	"$accelprof" report "run$n" --tool-path cmade \
		-t kernel_gaps,launch_latency,launch_storms,idle_gaps \
		--opt kernel_gaps.longest=7 --opt launch_storms.least=3 --opt launch_storms.top=0 \
		--format json >other.json || failed "report with --tool-path, $options"
	is "both builds, $options" "$(json other.json 'd["tools"]')" "$(json report.json 'd["tools"]')"
done

# Where all are equal, names are what is sorted.
sed 's/add(k.latency, ev.time - where->launched)/add(k.latency, 0)/' made/launch_latency.cpp >tied.cpp
cmp -s tied.cpp made/launch_latency.cpp && failed "launch_latency adds up its times elsewhere"
c++ -std=c++20 -shared -fPIC -I"$SRC/include" tied.cpp -o tied.so || failed "tied.so"
"$accelprof" report run1 -t ./tied.so --format json >tied.json || failed "report, tied.so"
is "ties" "$(json tied.json '(lambda n: len(n) > 5 and n == sorted(n))([r[0] for r in d["tools"][0]["tables"][0]["rows"]])')" True

# -- Where they are looked for.

run=run1
"$accelprof" report $run -t kernel_gaps >out 2>err
is "a tool that is nowhere: status" $? 2
has "a tool that is nowhere" err "unknown tool 'kernel_gaps'.*.* --tool-path DIR adds"
PASTA_TOOL_PATH=/nowhere:made "$accelprof" report $run -t kernel_gaps >out 2>err || failed PASTA_TOOL_PATH
has "PASTA_TOOL_PATH" out '^== kernel_gaps ==$'
lines "PASTA_TOOL_PATH" err 1
has "PASTA_TOOL_PATH" err 'cannot look for tools in /nowhere: No such file or directory'
"$accelprof" tools --tool-path made >out 2>err || failed "tools"
has "tools: where from" out "^kernel_gaps +times in which devices .* \\($dir/made/kernel_gaps.so\\)\$"
has "tools: built in" out '^copies [^(]*$'
"$accelprof" tools made/kernel_gaps.so >out 2>err || failed "tools FILE"
has "tools FILE" out "^from: $dir/made/kernel_gaps.so\$"
has "tools FILE" out '^  longest +number +number of longest gaps'
lines "tools: nothing is wrong" err 0
make -s -C made install CFLAGS="$strict" CXXFLAGS="$strict" || failed "make install"
"$accelprof" report $run -t kernel_gaps >out 2>err || failed "installed"
lines "installed" err 0
cmake --install cmade >/dev/null || failed "cmake --install, examples"
"$accelprof" tools >out 2>err
has "installed" out "^kernel_gaps .*\\($dir/prefix/lib/accelprof/tools/kernel_gaps.so\\)\$"
# The same library by other names is loaded once; what is named, or earlier, comes first.
ln -s made also
PASTA_TOOL_PATH=also "$accelprof" tools --tool-path made:also --tool-path made >out 2>err
has "once" out "^kernel_gaps .*\\($dir/made/kernel_gaps.so\\)\$"
has "a second kernel_gaps" err "^accelprof: $dir/prefix/lib/accelprof/tools/kernel_gaps.so: tool kernel_gaps is left out: another tool has the same name \\($dir/made/kernel_gaps.so\\): rename"
lines "a second one of each" err 4
"$accelprof" tools cmade/kernel_gaps.so --tool-path made >out 2>err || failed "a path against --tool-path"
has "a path against --tool-path" out "^from: $dir/cmade/kernel_gaps.so\$"
rm -r prefix/lib/accelprof

# A run remembers its tools by name; it cannot make us load anything.
"$accelprof" run -q -o recorded -t ./made/kernel_gaps.so,regions -- "$behave" || failed "run -t PATH"
is "tools of the run" "$(json recorded/run.json 'd["tools"]')" "['kernel_gaps', 'regions']"
"$accelprof" report recorded >out 2>err || failed "report without the plug-in"
has "report without the plug-in" err "cannot use a tool that the run was recorded with: unknown tool 'kernel_gaps'"
has "report without the plug-in" out '^== regions ==$'
"$accelprof" report recorded --tool-path made >out 2>err || failed "report with the plug-in"
lines "report with the plug-in" err 0
# The advice names the tool as the user did.
"$accelprof" run -q -o other -t copies --record region -- "$behave" || failed "run without the plug-in"
"$accelprof" report other -t ./made/kernel_gaps.so >out 2>err || failed "report of what was not recorded"
has "advice" out '; record again with -t \./made/kernel_gaps\.so, or with --record all$'
sed -i "s|\"kernel_gaps\"|\"$dir/made/kernel_gaps.so\"|" recorded/run.json
"$accelprof" report recorded >out 2>err
is "a path in run.json: status" $? 1
has "a path in run.json" err "run.json was changed after accelprof wrote it"
has "a path in run.json" err "did not load the tool '.*kernel_gaps.so', with which the run was recorded, because the name is a path"
grep -q '^== kernel_gaps ==$' out && failed "a path in run.json was loaded"

# -- What cannot be used.

# tool FILE FLAGS... - a library with what is on stdin; TOOL is a tool that counts kernels.
tool() {
	local file=$1
	shift
	{
		cat <<-'EOF'
			#include <pasta/tool.h>
			static void count(void *state, const struct pasta_event *ev, const struct pasta_where *where)
			{
				*(uint64_t *)state += ev->kind == PASTA_KIND_KERNEL;
			}
			static int report(void *state, struct pasta_out *out, struct pasta_error *err)
			{
				static const struct pasta_column column = {"kernels", PASTA_COLUMN_INT, NULL};
				pasta_cell_int(pasta_out_table(out, "count", &column, 1),
					       (int64_t)*(uint64_t *)state);
				return 0;
			}
			#define TOOL PASTA_TOOL_HEAD, .name = "count", \
				.summary = "count", .events = PASTA_MASK(KERNEL), .state_size = 8, \
				.event = count, .report = report
			__attribute__((unused)) static const struct pasta_tool base = {TOOL};
		EOF
		cat
	} >tool.c
	cc -shared -fPIC -Wall -Wno-override-init "$@" -I"$SRC/include" tool.c -o "$file" ||
		failed "cannot build $file"
}

# tool_with FILE FIELDS - the same tool, but for these fields.
tool_with() {
	echo "static const struct pasta_tool t = {TOOL, $2};
	__attribute__((constructor)) static void r(void) { pasta_tool_register(&t); }" | tool "$1"
}

mkdir bad
tool_with bad/good.so '.name = "count"'
tool_with bad/api.so '.name = (const char *)8, .api_major = 7'
tool_with bad/size.so '.name = "long", .size = sizeof(struct pasta_tool) + 8'
tool_with bad/zz-dup.so '.name = "count"'
tool_with bad/taken.so '.name = "regions"'
tool_with bad/name.so '.name = "No Name"'
tool_with bad/events.so '.name = "deaf", .events = 0'
tool_with bad/callback.so '.name = "mute", .report = NULL'
tool_with bad/options.so '.name = "endless", .options = (const struct pasta_option *)&t'
sed -i 's/.options = .*&t/.options = endless/; s/^static const struct pasta_tool t/static const struct pasta_option endless[80] = {[0 ... 79] = {"x", "", ""}};\n&/' tool.c
cc -shared -fPIC -I"$SRC/include" tool.c -o bad/options.so || failed "options.so"
echo 'int nothing;' | tool bad/none.so -Wno-unused
echo 'void pasta_of_tomorrow(void);
__attribute__((constructor)) static void r(void) { pasta_of_tomorrow(); }' | tool bad/newer.so -Wno-unused
echo 'void my_function(void);
__attribute__((constructor)) static void r(void) { my_function(); }' | tool bad/unlinked.so -Wno-unused
echo 'a text' >bad/text.so
: >bad/empty.so
mkdir bad/folder.so
{
	head -c 18 bad/good.so
	printf '\377\001'
	tail -c +21 bad/good.so
} >bad/foreign.so
cc -x c - -o bad/program.so <<<'int main(void) { return 0; }' -no-pie || failed "program.so"
head -c 3000 bad/good.so >bad/torn.so
echo 'int absent;' | cc -shared -fPIC -x c - -o libabsent.so
echo 'int nothing;' | tool bad/needy.so -Wno-unused -Wl,--no-as-needed -L. -labsent
rm libabsent.so
ln -s good.so bad/again.so

"$ACCELPROF" report $run -t count,regions --tool-path bad:/nowhere --format json >report.json 2>err ||
	failed "report with bad plug-ins beside: status"
is "the good one" "$(json report.json 'd["tools"][0]["tables"][0]["rows"][0][0]')" \
	"$("$BUILD/tests/dump" $run kernel | grep -c '"kind":"kernel"')"
is "the built-in one" "$(json report.json 'd["tools"][1]["name"], len(d["tools"][1]["tables"][0]["rows"]) > 5')" \
	"('regions', True)"

# left_out FILE WHY - checks for one line about the file, which continues as WHY.
left_out() {
	is "$1: lines" "$(grep -c "^accelprof: .*/$1" err)" 1
	has "$1" err "^accelprof: $dir/bad/$1$2"
}
left_out api.so ': tool \(unknown\) is left out: the tool was built for version 7.0 of the SDK, but this accelprof has 1.0: build the tool again$'
left_out size.so ': tool long is left out: struct pasta_tool has [0-9]+ bytes, but this accelprof supports only [0-9]+: build the tool again with the SDK of this accelprof$'
left_out zz-dup.so ": tool count is left out: another tool has the same name \\($dir/bad/good.so\\): rename one of the two$"
left_out taken.so ': tool regions is left out: another tool has the same name \(built in\): rename one of the two$'
left_out name.so ': tool \(unknown\) is left out: the tool.s name must consist'
left_out events.so ': tool deaf is left out: the tool subscribes to no events: set .events'
left_out callback.so ': tool mute is left out: a tool must define .event, and either .report or .groups$'
left_out options.so ": tool endless is left out: two options of the tool are named 'x'"
left_out none.so ' is left out: the library has no tools: describe one with PASTA_TOOL$'
left_out newer.so ' is left out: undefined symbol: pasta_of_tomorrow: build the library again with the SDK of this accelprof$'
left_out unlinked.so ' is left out: undefined symbol: my_function: link the plug-in with the library that defines this symbol$'
left_out text.so ' is left out: the file is not a shared library: remove the file, or build it again$'
left_out empty.so ' is left out: the file is not a shared library: remove the file, or build it again$'
left_out foreign.so ' is left out: the library is for another processor: build the library again on this machine$'
left_out program.so ' is left out: the file is not a shared library: link the library with -shared$'
left_out torn.so ' is left out: the file is truncated: build or copy the library again$'
left_out needy.so ' is left out: libabsent.so.*: install the libraries that the plug-in needs \(ldd lists them\), or build the plug-in again$'
has "a folder with such a name" err '^accelprof: cannot load bad/folder.so: the path is a folder'
has "a folder that is not there" err '^accelprof: cannot look for tools in /nowhere: No such file'
lines "libraries left out" err 19
if [ "$(id -u)" != 0 ]; then
	mkdir closed && cp bad/good.so closed/hidden.so
	chmod a-r closed/hidden.so
	"$ACCELPROF" tools --tool-path closed >out 2>err || failed "a library that cannot be read"
	has "a library that cannot be read" err 'hidden.so is left out: Permission denied: make the file readable'
	chmod a-rx closed
	"$ACCELPROF" tools --tool-path closed >out 2>err || failed "a folder that cannot be read"
	has "a folder that cannot be read" err 'cannot look for tools in closed: Permission denied'
	has "a folder that cannot be read" out '^regions '
fi

# What is named has to work.
for file in api taken none newer text foreign; do
	"$ACCELPROF" report $run -t regions,./bad/$file.so >out 2>err
	is "-t $file.so: status" $? 2
	lines "-t $file.so" err 1
	has "-t $file.so" err "/bad/$file.so"
	is "-t $file.so: no report" "$(cat out)" ""
done
"$ACCELPROF" run -t ./nowhere.so -o never -- true >out 2>err
is "run -t ./nowhere.so: status" $? 2
has "run -t ./nowhere.so" err 'cannot load ./nowhere.so: No such file'
[ ! -e never ] || failed "a run was made with a tool that is not there"
"$ACCELPROF" report $run -t ./bad >out 2>err
has "-t FOLDER" err 'the path is a folder; use --tool-path for folders'

# What crashes when it is loaded is named, and left out.
ulimit -c 0
mkdir wild
wild() {
	local name=$1 why=$2 code=$3
	rm -f wild/*
	cp bad/good.so wild/aa-good.so
	echo "#include <stdlib.h>
#include <signal.h>
static volatile int zero;
__attribute__((unused)) static int deep(volatile char *p)
{
	volatile char room[4096];
	room[0] = *p;
	return deep(room) + room[0];
}
__attribute__((constructor)) static void r(void) { $code; }" |
		tool "wild/$name.so" -Wno-unused -Wno-infinite-recursion
	"$ACCELPROF" report $run -t regions --tool-path wild >out 2>err
	is "$name: status" $? 0
	lines "$name" err 1
	has "$name" err "^accelprof: $dir/wild/$name.so is left out: the plug-in $why: remove the file, or build it again\$"
	has "$name: the others" out '^== regions ==$'
}
wild segv 'crashed while it was loaded \(SIGSEGV\)' '*(volatile int *)8 = 1'
wild raise 'crashed while it was loaded \(SIGSEGV\)' 'raise(SIGSEGV)'
wild abort 'crashed while it was loaded \(SIGABRT\)' 'abort()'
wild trap 'crashed while it was loaded \(SIGILL\)' '__builtin_trap()'
wild exit 'called exit while it was loaded' 'exit(0)'
wild stack 'crashed while it was loaded \(SIGSEGV\)' 'zero = deep((volatile char *)"x")'
"$ACCELPROF" run -t ./wild/stack.so -o never -- true >out 2>err
is "run -t ./wild/stack.so: status" $? 2
has "run -t ./wild/stack.so" err 'wild/stack.so is left out: the plug-in crashed while it was loaded'
[ ! -e never ] || failed "a run was made with a tool that crashes"
odd=$(printf 'wild/o\033[31md.so')
cp wild/stack.so "$odd"
"$ACCELPROF" tools "./$odd" >out 2>err
has "a name that a terminal would obey" err 'wild/o\\x1b\[31md.so is left out: the plug-in crashed while it was loaded'
cp bad/good.so "$odd"
"$ACCELPROF" tools "./$odd" >out 2>err || failed "tools, an odd name"
has "tools, an odd name" out '^from: .*wild/o\\x1b\[31md.so$'

# Verbs and formats that need no tools load none.
PASTA_TOOL_PATH=bad "$ACCELPROF" doctor >out 2>err
lines "doctor" err 0
PASTA_TOOL_PATH=bad "$ACCELPROF" report $run --format perfetto -o timeline.json 2>err ||
	failed "perfetto"
lines "perfetto" err 0
done_
