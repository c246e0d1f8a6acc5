#!/usr/bin/env bash
# behave_rest_long.sh - processes, descriptors, limits and sandboxes, twenty times each.
# labels: long
# timeout: 1800
export HARM_REPEAT=20 HARM_JOBS=2
failed=0
for theme in family descriptors limits sandbox; do
	echo "-- $theme"
	bash "$SRC/tests/harm/behave_$theme.sh" || failed=1
done
exit $failed
