# install.sh - what is installed works from where it is, and tool authors find it.
. "$SRC/tests/e2e/lib.sh" || exit 1

cmake --install "$BUILD" --prefix "$dir/first" >/dev/null || failed "cmake --install"
mv first moved # nothing may depend on where it was
accelprof=$dir/moved/bin/accelprof
export PKG_CONFIG_PATH=$dir/moved/lib/pkgconfig

# shellcheck disable=SC2046
cc -O2 $(pkg-config --cflags pasta) "$SRC/tests/programs/regions_demo.c" -o demo -pthread ||
	failed "a program, with pkg-config"
"$accelprof" run -q -o run -- ./demo >out || failed "accelprof run, installed"
is "events" "$(json run/results/report.json 'd["loss"]["captured"]')" 59
cmp moved/share/accelprof/report.schema.json "$SRC/docs/schema/report.schema.json" &&
	cmp moved/share/accelprof/run.schema.json "$SRC/docs/schema/run.schema.json" ||
	failed "the schemas"
"$accelprof" run -q -t regions -o python -- python3 -c 'import accelprof
with accelprof.region("installed"): pass
print(accelprof.__file__)' >out || failed "a Python program, installed"
has "the package" out "^$dir/moved/share/accelprof/python/accelprof/__init__.py"
is "its regions" "$(json python/results/report.json 'd["loss"]["captured"]')" 2
if [ -d "$BUILD/made" ]; then
	"$accelprof" man | cmp - moved/share/man/man1/accelprof.1 || failed "the manual page"
	"$accelprof" man run | cmp - moved/share/man/man1/accelprof-run.1 || failed "a manual page"
	for file in bash:bash-completion/completions/accelprof zsh:zsh/site-functions/_accelprof \
		fish:fish/vendor_completions.d/accelprof.fish; do
		"$accelprof" completion "${file%%:*}" | cmp - "moved/share/${file#*:}" ||
			failed "completion for ${file%%:*}"
	done
elif [ -z "${SANITIZER:-}" ]; then
	failed "no manual pages"
fi
"$accelprof" doctor >doctor || failed "accelprof doctor, installed"

cat >tool.c <<'EOF'
#include <pasta/tool.h>
static void on_event(void *state, const struct pasta_event *ev, const struct pasta_where *where)
{
	*(uint64_t *)state += ev->kind == PASTA_KIND_REGION;
}
static int report(void *state, struct pasta_out *out, struct pasta_error *err)
{
	static const struct pasta_column column = {"events", PASTA_COLUMN_INT, NULL};
	pasta_cell_int(pasta_out_table(out, "count", &column, 1), *(int64_t *)state);
	return 0;
}
PASTA_TOOL(.name = "count", .summary = "count", .events = PASTA_MASK(REGION),
	   .state_size = sizeof(uint64_t), .event = on_event, .report = report);
EOF
# shellcheck disable=SC2046
cc -shared -fPIC -Wall -Werror $(pkg-config --cflags pasta) tool.c -o tool.so \
	$(pkg-config --libs pasta) || failed "a tool, with pkg-config"
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.22)
project(tool C)
find_package(Pasta 0.1 REQUIRED)
add_library(tool MODULE tool.c)
target_link_libraries(tool Pasta::pasta)
EOF
cmake -S . -B cmake-build -DCMAKE_PREFIX_PATH="$dir/moved" >cmake.log 2>&1 &&
	cmake --build cmake-build >>cmake.log 2>&1 || {
	failed "a tool, with CMake"
	cat cmake.log
}
done_
