# kills.sh - kills the program or accelprof in every phase: expected = captured + dropped.
# timeout: 300
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 "$SRC/tests/harm/_kills.py" --seed "${HARM_SEED:-1}" 120
status=$?
[ $status != 77 ] || exit 77
is "kills: status" $status 0
done_
