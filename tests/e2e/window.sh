# window.sh - accelprof run --delay and --duration: activity within, state always.
# labels: asan, tsan
# timeout: 120
. "$SRC/tests/e2e/lib.sh" || exit 1

# names RUN - of the regions that were recorded.
names() {
	json "$1/results/report.json" '" ".join(sorted(r[0].split("/")[-1] for r in d["tools"][0]["tables"][0]["rows"]))'
}

program=("$behave" region a sleep 1500 region b sleep 1500 region c)
run=("$ACCELPROF" run -q -t regions)
"${run[@]}" -o all -- "${program[@]}" &
"${run[@]}" --delay 1s -o delay -- "${program[@]}" &
"${run[@]}" --duration 1s -o duration -- "${program[@]}" &
"${run[@]}" --delay 1s --duration 1.5s -o both -- "${program[@]}" &
"${run[@]}" --paused --delay 1s -o paused -- "${program[@]}" 2>/dev/null &
"${run[@]}" --delay 1h -o never -- "${program[@]}" 2>/dev/null &
# Processes that begin later are in the same window.
# shellcheck disable=SC2016 # the shell that is started expands it
"${run[@]}" --duration 1s -o child -- sh -c '"$1" region a; sleep 1.5; "$1" region b' sh "$behave" &
wait
is "all" "$(names all)" "a b c main"
is "delay" "$(names delay)" "b c"
is "duration" "$(names duration)" "a main"
is "delay and duration" "$(names both)" "b"
is "delay, paused: shards" "$(find paused/shards -name '*.pst' | wc -l)" 0
is "never: shards" "$(find never/shards -name '*.pst' | wc -l)" 0
is "child" "$(names child)" "a main"
for name in all delay duration both child; do
	is "$name: dropped" "$(json "$name/results/report.json" 'd["loss"]["dropped"]')" 0
done
done_
