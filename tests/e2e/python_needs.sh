#!/usr/bin/env bash
# python_needs.sh - a tool that needs Python stacks or modules has run record them; others do not.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

# tool NAME NEEDS - a plug-in that counts regions.
tool() {
	cat >"$1.c" <<-EOF2
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
		PASTA_TOOL(.name = "$1", .summary = "count", .events = PASTA_MASK(REGION), .needs = $2,
			   .state_size = sizeof(uint64_t), .event = on_event, .report = report);
	EOF2
	cc -shared -fPIC -Wall -Werror -I"$SRC/include" "$1.c" -o "$1.so" || failed "building $1"
}

# stacks OPTIONS... - prints the settings that the program receives.
stacks() {
	"$ACCELPROF" run -q "$@" -- "$behave" env PASTA_STACKS 2>err
	cat err
}

tool lines PASTA_NEED_PYTHON
tool paths PASTA_NEED_MODULES
tool neither 0
is "none" "$(stacks -t ./neither.so)" "$(stacks -t regions)"
is "lines" "$(stacks -t ./lines.so)" "python"
is "modules" "$(stacks -t ./paths.so)" "modules"
is "both" "$(stacks -t ./lines.so,./paths.so,./neither.so)" "python,modules"
is "with native" "$(stacks -t ./lines.so --stacks native=3)" "native=3,python"
is "asked for" "$(stacks --stacks modules,native,python)" "native,python,modules"
"$ACCELPROF" run -q -t ./lines.so --stacks native=1 -o run -- python3 -c 'import accelprof
with accelprof.region("a"): pass' || failed "a run with both"
is "its regions" "$(json run/results/report.json 'd["tools"][0]["tables"][0]["rows"]')" "[[2]]"
done_
