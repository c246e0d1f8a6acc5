#!/usr/bin/env bash
# headers.sh - each header of the SDK compiles alone, as C17 and as C++20, without a warning.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

strict="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$SRC/include"
for header in "$SRC"/include/pasta/*.h "$SRC"/include/pasta/*.hpp; do
	name=${header##*/}
	# A reducer has to follow it: test_reducer_host.cpp has one.
	[ "$name" = reducer_host.h ] && continue
	echo "#include <pasta/$name>" >alone.c
	case $name in
	*.hpp) ;; # C++ alone
	*)
		# shellcheck disable=SC2086
		cc -std=c17 $strict alone.c || failed "$name, as C17"
		;;
	esac
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

# What PASTA_GROUP and the others set comes first: C++ wants the order of the struct.
cat >members.c <<'C'
#include <pasta/tool.h>
struct row {
	struct {
		uint32_t name;
	} key;
	uint64_t part, whole;
};
struct state {
	struct pasta_group *rows, *plain;
	struct pasta_series_set *series;
	struct pasta_windows *windows;
};
static int64_t call(const void *row, const void *state)
{
	return row && state;
}
static const struct pasta_member members[] = {
	PASTA_KEY(struct row),
	PASTA_MEMBER(NAME, struct row, key.name, .column = "name", .unit = "", .flags = 0, .role = 0),
	PASTA_MEMBER_OF(PERCENT, struct row, part, whole, .column = "share"),
	PASTA_MEMBER_BY(CALL, .column = "call", .call = call)};
extern const struct pasta_group_def groups[];
const struct pasta_group_def groups[] = {
	PASTA_GROUP(struct state, rows, struct row, members, .table = "rows", .order = "name",
		    .flags = PASTA_GROUP_REST, .limit = 3, .limit_per = 1, .rest = "rest"),
	PASTA_GROUP(struct state, plain, struct row, members)};
extern const struct pasta_series_def series[];
const struct pasta_series_def series[] = {
	PASTA_SERIES(struct state, series, SUM, uint32_t, 100),
	PASTA_SERIES(struct state, series, SUM, uint32_t, 100, .width = 8)};
extern const struct pasta_window_def windows[];
const struct pasta_window_def windows[] = {
	PASTA_WINDOWS(struct state, windows, uint64_t, .key_size = 4, .length = 10, .step = 5)};
C
strict="$strict -Wno-missing-field-initializers"
# shellcheck disable=SC2086
cc -std=c17 $strict members.c || failed "members, as C17"
# shellcheck disable=SC2086
c++ -std=c++20 -x c++ $strict members.c || failed "members, as C++20"
done_
