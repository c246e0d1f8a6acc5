# files_long.sh - two hundred reports on each path that turns into a link and back while they run.
# labels: long
# timeout: 1800
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 "$SRC/tests/harm/_mutate.py" make runs || exit 1
python3 "$SRC/tests/harm/_files.py" runs races 200 || failed "races"
done_
