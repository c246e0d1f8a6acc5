#!/usr/bin/env bash
# abi.sh - the tool interface keeps what its versions froze: layouts, numbers, functions, names.
. "$SRC/tests/e2e/lib.sh" || exit 1

"$SRC/scripts/abi" check "$BUILD" 2>abi.err || {
	failed "the interface has changed"
	cat abi.err
}

# A copy of the tree in which something moved, went or was named wrongly is refused.
cp -r "$SRC/include" "$SRC/share" .
mkdir scripts && cp "$SRC/scripts/abi" scripts/
# refused WHAT PATTERN FILE SED
refused() {
	cp "$SRC/$3" "$3"
	sed -i "$4" "$3"
	! cmp -s "$SRC/$3" "$3" || failed "$1: nothing to change in $3"
	! scripts/abi check "$BUILD" 2>err || failed "$1 is not found"
	has "$1" err "$2"
	cp "$SRC/$3" "$3"
}
refused "a member that moved" 'changed or removed: PASTA_FROZEN.struct pasta_where, iteration' \
	include/pasta/tool.h 's/^\tuint64_t iteration;/\tuint64_t before;\n&/'
refused "an enumerator with another number" 'changed or removed: PASTA_NUMBERED.PASTA_SEVERITY_WARNING' \
	include/pasta/out.h 's/PASTA_SEVERITY_NOTE,/PASTA_SEVERITY_NOTE, PASTA_SEVERITY_NEW,/'
refused "an enumerator outside of its namespace" 'PASTA_HIDDEN is not PASTA_SEVERITY_' \
	include/pasta/out.h 's/PASTA_SEVERITY_PROBLEM/&, PASTA_HIDDEN/'
refused "a field without a summary" 'kernel.dur has no summary' \
	include/pasta/events.def 's/FIELD(kernel, u64, dur, "[^"]*")/FIELD(kernel, u64, dur, "")/'
refused "a function that was removed" 'pasta_nothing is no longer exported' \
	share/abi/1.0/symbols '$a pasta_nothing'
done_
