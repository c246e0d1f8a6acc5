# files_long.sh - two hundred reports for each path, which becomes a link and a file again meanwhile.
# labels: long
# timeout: 1800
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 "$SRC/tests/harm/_mutate.py" make runs || exit 1
python3 "$SRC/tests/harm/_files.py" runs races 200 || failed "races"
done_
