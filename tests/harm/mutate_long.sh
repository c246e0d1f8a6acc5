# mutate_long.sh - damages ten thousand files of runs with live rings, and two thousand of other runs.
# labels: long
# timeout: 1800
. "$SRC/tests/e2e/lib.sh" || exit 1
mutate=(python3 "$SRC/tests/harm/_mutate.py")

"${mutate[@]}" make runs || exit 1
for run in live family mixed; do
	"${mutate[@]}" attack runs --seed "${HARM_SEED:-long}" --count 3400 --only $run || failed "$run"
done
for run in ended raw modules imported; do
	"${mutate[@]}" attack runs --seed "${HARM_SEED:-long}" --count 500 --only $run || failed "$run"
done
done_
