# kill.sh - after SIGKILL every event whose emit had returned is in the report or in its account.
# labels: asan, tsan
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1
tally=$BUILD/tests/programs/tally
rounds=20
[ -z "${SANITIZER:-}" ] || rounds=8 # a report takes three times as long there

for i in $(seq $rounds); do
	"$ACCELPROF" run -q -t regions -o "run$i" -- sh -c 'echo $$ >pid; exec "$0" "$@"' "$tally" "counts$i" 2 \
		2>"err$i" &
	parent=$!
	until_line pid . || break
	sleep "0.$(printf '%03d' $((RANDOM % 600)))"
	kill -KILL "$(cat pid)"
	wait "$parent" 2>/dev/null
	is "status of run $i" "$?" 137
	rm pid
	python3 - "run$i/results/report.json" "counts$i" <<-'EOF' || failed "run $i does not add up"
		import json, os, struct, sys
		counted = 0
		if os.path.exists(sys.argv[2]) and os.path.getsize(sys.argv[2]):
		    counted = sum(struct.unpack("512Q", open(sys.argv[2], "rb").read()))
		# One that was killed before its first event has nothing to report.
		if not os.path.exists(sys.argv[1]):
		    sys.exit(counted != 0)
		report = json.load(open(sys.argv[1]))
		loss = report["loss"]
		marks = sum(row[-1] for t in report["tools"][0]["tables"] if t["name"] == "marks" for row in t["rows"])
		print("counted", counted, "marks", marks, loss["expected"], loss["captured"], loss["dropped"])
		ok = loss["expected"] == loss["captured"] + loss["dropped"]
		ok &= marks == loss["captured"]
		# A thread that was killed between its emit and its count is one ahead.
		ok &= counted <= loss["expected"] <= counted + 2
		ok &= loss["reasons"]["damaged"] == 0
		sys.exit(not ok)
	EOF
	[ -z "$(ls "run$i/shards" | grep ring)" ] || failed "a ring file is left in run $i"
done
done_
