#!/usr/bin/env bash
# run.sh - pytest, in python3 and in each other Python here that has it.
# timeout: 300
set -u
: "${ACCELPROF:?}" "${BUILD:?}" "${SRC:?}"

tried=0
status=0
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
# shellcheck disable=SC2086 # a list
for python in ${PASTA_PYTHON:-} /usr/bin/python3 python3 ${VIRTUAL_ENV:+"$VIRTUAL_ENV/bin/python"}; do
	real=$("$python" -c 'import pytest, sys; print(sys.executable)' 2>/dev/null) || continue
	case " ${done_with:-} " in *" $real "*) continue ;; esac
	done_with="${done_with:-} $real"
	tried=$((tried + 1))
	PYTHONPATH=$SRC/python PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -p no:cacheprovider \
		"$SRC/tests/python" || status=1
done
[ $tried -gt 0 ] || {
	echo "no Python here has pytest: run scripts/bootstrap"
	exit 77
}
exit $status
