# limits.sh - a program with limits of its own, or on a full disk, runs as it would without us.
. "$SRC/tests/e2e/lib.sh" || exit 1
tally=$BUILD/tests/programs/tally

# A file-size limit is no signal to the program.
(
	ulimit -f 64
	exec "$ACCELPROF" run -q -o fsize -- "$tally" counts 2 1000000 2>err
)
is "file size limit: status" "$?" 0
has "file size limit: reported" err 'File too large'

(
	ulimit -v 600000
	exec "$ACCELPROF" run -q -o memory -- "$tally" counts 2 100000 2>err
)
is "memory limit: status" "$?" 0

(
	ulimit -n 16
	exec "$ACCELPROF" run -q -o files -- "$tally" counts 2 100000 2>err
)
is "few files: status" "$?" 0
is "few files: events" "$(json files/results/report.json 'd["loss"]["expected"]')" 200000

# A disk that fills up: the program runs on, and dropped events are counted.
mkdir disk
if mount -t tmpfs -o size=6m tmpfs disk 2>/dev/null; then
	dd if=/dev/zero of=disk/filler bs=64k count=20 2>/dev/null
	"$ACCELPROF" run -q -o disk/run -- "$tally" counts 1 8000000 2>err
	is "full disk: status" "$?" 0
	has "full disk: reported" err 'No space left'
	rm disk/filler
	"$ACCELPROF" report disk/run --format json -o report.json 2>err || failed "report after the disk was full: $(cat err)"
	is "full disk: adds up" "$(json report.json 'd["loss"]["expected"]')" 8000000
	umount disk
else
	echo "no right to mount: the full disk is not tried"
fi
done_
