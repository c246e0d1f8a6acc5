# files.sh - links, pipes, owners and races against every path that accelprof opens do no harm.
# timeout: 900
. "$SRC/tests/e2e/lib.sh" || exit 1

chmod 755 . # other users are among the attackers
python3 "$SRC/tests/harm/_mutate.py" make runs || exit 1
python3 "$SRC/tests/harm/_files.py" runs || failed "attacks"
done_
