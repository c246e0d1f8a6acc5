# kills_long.sh - a thousand kills in all phases: expected = captured + dropped.
# labels: long
# timeout: 1800
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 "$SRC/tests/harm/_kills.py" --seed "${HARM_SEED:-2}" 1000
status=$?
[ $status != 77 ] || exit 77
is "kills: status" $status 0
done_
