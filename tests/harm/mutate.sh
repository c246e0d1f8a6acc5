# mutate.sh - damages files of runs: no crash, no hang, no silent change, no file deleted.
# timeout: 300
. "$SRC/tests/e2e/lib.sh" || exit 1
mutate=(python3 "$SRC/tests/harm/_mutate.py")

"${mutate[@]}" make runs || exit 1
"${mutate[@]}" attack runs --seed "${HARM_SEED:-quick}" --count "${HARM_COUNT:-1200}" || failed "mutations"
done_
