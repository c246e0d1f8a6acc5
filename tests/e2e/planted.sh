#!/usr/bin/env bash
# planted.sh - summary finds planted causes first, and bounds what their fixes save.
. "$SRC/tests/e2e/lib.sh" || exit 1
python3 -B "$SRC/tests/e2e/planted.py" "$ACCELPROF" >out || failed "$(grep ^FAIL out)"
done_
