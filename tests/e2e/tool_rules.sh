#!/usr/bin/env bash
# tool_rules.sh - tools leave lookup, names and allocations to the framework.
. "$SRC/tests/e2e/lib.sh" || exit 1

# code FILE - without comments and strings: those may have any word.
code() {
	cc -fpreprocessed -dD -E -P "$1" 2>/dev/null | sed 's/"[^"]*"/""/g'
}

# broken FILE - the rules that it breaks, a line each.
broken() {
	code "$1" >code
	grep -nE '\b(malloc|calloc|realloc)\(' code | sed 's/^/allocates: use groups, series or lists: /'
	grep -niE '\bhash|_hash|0x9e3779b9|0xc6a4a793|0xff51afd7' code |
		sed 's/^/hashes: use groups: /'
	# Tensors come and go, and rows of groups do not go.
	[ "$(basename "$1")" = tensors.c ] ||
		grep -nE '\bpasta_map_new\(' code | sed 's/^/has a map: use groups: /'
	grep -nE '\bprocess\.(pid|host|rank)\b|->pid\b' code |
		sed 's/^/names processes: use pasta_process: /'
	grep -nE '\bdevice\.name\b' code | sed 's/^/names devices: use pasta_device: /'
	# The tool anomaly counts calls, not memory.
	[ "$(basename "$1")" = anomaly.c ] ||
		! grep -qE 'PASTA_MASK\((ALLOC|FREE)\)' code || grep -qE '\.ledger = ' code ||
		echo "follows allocations: use the ledger"
	# Single accesses have addresses of objects, not of allocations: the ledger has no such ranges.
	[ "$(basename "$1")" = mem_trace.c ] ||
		grep -nE '\bpasta_ranges_new\(' code | sed 's/^/follows ranges of memory: use the ledger: /'
}

count=0
for tool in "$SRC"/tools/*.c "$SRC"/examples/*.c; do
	broken "$tool" >rules
	[ ! -s rules ] || failed "$(basename "$tool"): $(cat rules)"
	count=$((count + 1))
done
[ "$count" -ge 17 ] || failed "only $count tools"

# caught WHAT LINE - the rules find it.
caught() {
	{ cat "$SRC/tools/kernel_freq.c" && echo "$2"; } >planted.c
	[ -n "$(broken planted.c)" ] || failed "$1 is not found"
}
caught "a table of its own" 'static void *rows(void) { return calloc(4, 4); }'
caught "hashing" 'static unsigned mix(unsigned x) { return x * 0x9e3779b9u; }'
caught "a map" 'static void *m(void) { return pasta_map_new(8); }'
caught "a process's name" 'static unsigned p(const struct pasta_event *ev) { return ev->process.pid; }'
caught "allocations" 'static const unsigned long kinds = PASTA_MASK(ALLOC);'
caught "ranges" 'static void *r(void) { return pasta_ranges_new(8); }'
done_
