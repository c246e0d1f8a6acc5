# new_tool.sh - accelprof new-tool: what it writes builds, passes its own test and reports.
# timeout: 240
. "$SRC/tests/e2e/lib.sh" || exit 1
unset PASTA_TOOL_PATH
export PKG_CONFIG_PATH=/nowhere # no other accelprof's SDK

# refused PATTERN ARGS... - one line, and nothing is written.
refused() {
	local pattern=$1 before
	shift
	before=$(find . | sort)
	"$ACCELPROF" new-tool "$@" >../out 2>../err && failed "new-tool $*: no error"
	lines "new-tool $*" ../err 1
	has "new-tool $*" ../err "$pattern"
	is "new-tool $*: files" "$(find . | sort)" "$before"
}

gen=$BUILD/bench/accelprof-gen
[ -x "$gen" ] || {
	echo "there is no accelprof-gen here: PASTA_BENCH is off"
	exit 77
}
"$gen" -n 20000 -o run >made.json || failed "accelprof-gen"

# -- As the documentation has it, in an empty folder.

mkdir empty && cd empty || exit 1
"$ACCELPROF" new-tool foo >../out 2>../err || failed "new-tool foo"
lines "new-tool foo" ../err 0
has "new-tool foo: what is next" ../out '^  accelprof report RUN -t ./foo.so$'
is "files" "$(echo *)" "Makefile foo.c test_foo.sh"
strict='-O2 -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror'
make -s CFLAGS="$strict" CXXFLAGS="$strict" || failed "make"
make -s check ACCELPROF="$ACCELPROF" >../out 2>&1 || failed "make check: $(cat ../out)"
has "make check" ../out '^foo: passed$'
PASTA_TOOL_PATH=. "$ACCELPROF" report ../run -t foo --opt foo.top=0 --format json >../foo.json ||
	failed "report with PASTA_TOOL_PATH"
"$ACCELPROF" report ../run -t ./foo.so --opt foo.top=0 --format json >../path.json || failed "report with a path"
is "both ways" "$(json ../foo.json 'd["tools"]')" "$(json ../path.json 'd["tools"]')"
is "what was made" "$(json ../foo.json 'sorted(map(tuple, d["tools"][0]["tables"][0]["rows"]))')" \
	"$(json ../made.json 'sorted((n, k["count"], k["ns"]) for n, k in d["kernels"].items())')"

# A second one, in C++, beside it; the Makefile is there already.
cp Makefile ../Makefile.before
"$ACCELPROF" new-tool bar_2 --lang c++ >../out || failed "new-tool bar_2"
cmp -s Makefile ../Makefile.before || failed "the Makefile has changed"
make -s CFLAGS="$strict" CXXFLAGS="$strict" || failed "make, both"
make -s check ACCELPROF="$ACCELPROF" >../out 2>&1 || failed "make check, both: $(cat ../out)"
is "make check, both" "$(sort ../out)" "$(printf 'bar_2: passed\nfoo: passed')"
"$ACCELPROF" report ../run --tool-path . -t bar_2 --opt bar_2.top=0 --format json >../bar.json
is "C++ as C" "$(json ../bar.json 'd["tools"][0]["tables"][0]["rows"]')" \
	"$(json ../foo.json 'd["tools"][0]["tables"][0]["rows"]')"
# Where all are equal, names are what is sorted.
for file in foo.c bar_2.cpp; do
	name=${file%.*}
	sed -E 's/total \+= ev(->|\.)kernel\.dur;/total = 1;/' $file >../tied_$file
	cmp -s $file ../tied_$file && failed "$file adds up its times elsewhere"
	case $file in
	*.c) cc -shared -fPIC -I"$SRC/include" ../tied_$file -o ../tied.so ;;
	*) c++ -std=c++20 -shared -fPIC -I"$SRC/include" ../tied_$file -o ../tied.so ;;
	esac || failed "tied $file"
	"$ACCELPROF" report ../run -t ../tied.so --opt $name.top=0 --format json >../tied.json ||
		failed "report, tied $file"
	is "$file: ties" "$(json ../tied.json '(lambda n: len(n) > 5 and n == sorted(n))([r[0] for r in d["tools"][0]["tables"][0]["rows"]])')" True
done
# A test that can fail: the tool counts each kernel twice.
sed -i 's/k->count++;/k->count += 2;/' foo.c
make -s check ACCELPROF="$ACCELPROF" >../out 2>&1 && failed "a broken tool passes its test"
has "a broken tool" ../out 'FAILED: runs of kernels'
make -s clean
is "make clean" "$(echo *)" "Makefile bar_2.cpp foo.c test_bar_2.sh test_foo.sh"

# -- What is refused.

refused 'foo.c exists: choose another name, or remove that file' foo
refused 'test_foo.sh exists: choose another name, or remove that file' foo --lang c++
rm test_foo.sh
refused 'foo.c exists: choose another name, or remove that file' foo --lang c++
refused "a tool named 'copies' already exists \\(built in\\): choose another name" copies
for name in '' Foo 1foo foo-bar ../foo 'a b' 'a$b' _x aaaaaaaaaaaaaaaaaaaaaaaaa; do
	refused "is not a valid tool name: use at most 24 characters from a-z, 0-9 and _, and begin with a letter" "$name"
done
refused "expected one argument, the name of the new tool; try 'accelprof new-tool --help'"
refused 'expected one argument, the name of the new tool' one two
refused "lang needs c or c\\+\\+, not 'rust'" --lang rust one
refused 'cannot create folder .*/no/such/folder' one -o "$dir/no/such/folder"
refused 'cannot write .*/out/one.c: Not a directory' one -o "$dir/out"
if [ "$(id -u)" != 0 ]; then
	mkdir ../frozen && chmod a-w ../frozen
	refused 'cannot write ../frozen/one.c: Permission denied' one -o ../frozen
fi
cd ..

# -- Into another folder; one with a Makefile of its owner's.

"$ACCELPROF" new-tool baz -o made/here >out 2>err && failed "two folders deep"
"$ACCELPROF" new-tool baz -o made >out || failed "new-tool -o"
has "new-tool -o" out '^  cd made$'
make -s -C made && "$ACCELPROF" report run -t made/baz.so >out || failed "make, -o"
mkdir theirs && echo 'all:' >theirs/Makefile
"$ACCELPROF" new-tool qux -o theirs >out || failed "a Makefile of theirs"
has "a Makefile of theirs" out 'the Makefile was not changed: add a rule that builds qux.so'
is "a Makefile of theirs" "$(cat theirs/Makefile)" "all:"

# Installed, and moved, it finds its own SDK, with pkg-config and without.
cmake --install "$BUILD" --prefix "$dir/first" >/dev/null || failed "cmake --install"
mv first prefix
prefix/bin/accelprof new-tool quux -o with >out || failed "installed"
has "installed: the SDK" with/Makefile "^PASTA_INCLUDE .*= $dir/prefix/include$"
make -s -C with && PATH=$dir/prefix/bin:$PATH make -s -C with check >out 2>&1 ||
	failed "installed, without pkg-config: $(cat out)"
PKG_CONFIG_PATH=$dir/prefix/lib/pkgconfig make -s -C with -B PASTA_INCLUDE=/nowhere ||
	failed "installed, with pkg-config"

# -- In a copy of our own tree.

mkdir tree
(cd "$SRC" && tar -cf - --exclude='./build*' --exclude=./.git --exclude='./accelprof-run*' .) | tar -xf - -C tree
cd tree || exit 1
refused "tools in AccelProf's own source tree must be written in C" widget --lang c++
refused 'tests/unit/test_agent.c exists' agent
"$ACCELPROF" new-tool widget >../out || failed "new-tool in the tree"
has "new-tool in the tree" ../out "ctest --test-dir build -R 'test_widget\\$'"
[ -f tools/widget.c ] && [ -f tests/unit/test_widget.c ] || failed "files in the tree"
# The house style holds, whatever the length of the name.
"$ACCELPROF" new-tool w >/dev/null && "$ACCELPROF" new-tool widgets_of_two_dozens_ab >/dev/null ||
	failed "a short and a long name"
format=$(command -v clang-format-14 || command -v clang-format)
case $("${format:-true}" --version) in
*version\ 14.*) "$format" --dry-run -Werror tools/w*.c tests/unit/test_w*.c || failed "format" ;;
esac
rm tools/w.c tests/unit/test_w.c tools/widgets*.c tests/unit/test_widgets*.c
# With ccache, what this tree has compiled already is found there.
export CCACHE_BASEDIR=$PWD
cmake -G Ninja -S . -B build -DPASTA_BENCH=OFF -DPASTA_WERROR=ON >../log 2>&1 &&
	cmake --build build --target test_widget pasta-tools >>../log 2>&1 || {
	failed "the build in the tree"
	tail -n 30 ../log
}
ctest --test-dir build -R 'test_widget$' >../log 2>&1 || failed "the test in the tree: $(cat ../log)"
has "the test in the tree" ../log '100% tests passed.* out of 1'
[ -f build/CMakeFiles/pasta-tools.dir/tools/widget.c.o ] || failed "the tool is not in accelprof"
done_
