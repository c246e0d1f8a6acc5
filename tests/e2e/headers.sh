#!/usr/bin/env bash
# headers.sh - each header of the SDK compiles alone, as C17 and as C++20, without a warning.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

strict="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$SRC/include"
for header in "$SRC"/include/pasta/*.h; do
	name=${header##*/}
	# C++, and only with the source of a reducer behind it: test_reducer_host compiles it.
	[ "$name" != reducer_host.h ] || continue
	echo "#include <pasta/$name>" >alone.c
	# shellcheck disable=SC2086
	cc -std=c17 $strict alone.c || failed "$name, as C17"
	# shellcheck disable=SC2086
	c++ -std=c++20 -x c++ $strict alone.c || failed "$name, as C++20"
done

# A finding from initializers, in either language.
cat >finding.c <<'C'
#include <pasta/out.h>
void find(struct pasta_out *out);
void find(struct pasta_out *out)
{
	pasta_out_report(out, .severity = PASTA_SEVERITY_NOTE, PASTA_COUNT(3), .what = "many");
}
C
# shellcheck disable=SC2086
cc -std=c17 $strict finding.c || failed "a finding, as C17"
# shellcheck disable=SC2086
c++ -std=c++20 -x c++ $strict finding.c || failed "a finding, as C++20"
done_
