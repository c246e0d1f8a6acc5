# test_skeleton.sh - tests skeleton with a run that accelprof-gen makes, whose numbers are known.
set -eu
cd "$(dirname "$0")"
accelprof=${ACCELPROF:-accelprof}
bin=$(dirname "$(command -v "$accelprof" || echo "$accelprof")")
for gen in "${ACCELPROF_GEN:-}" "$bin/accelprof-gen" "$bin/bench/accelprof-gen"; do
	[ ! -x "$gen" ] || break
done
[ -x "$gen" ] || {
	echo "cannot find accelprof-gen next to $accelprof: set ACCELPROF_GEN to its path" >&2
	exit 1
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# is WHAT GOT WANTED
is() {
	[ "$2" = "$3" ] || {
		echo "FAILED: $1: got '$2', wanted '$3'"
		exit 1
	}
}

# made KEY - prints a number of the generated run.
made() {
	sed 's/.*"'"$1"'":\([0-9]*\).*/\1/' "$dir/made"
}

# Two processes, to test merging as well.
"$gen" -n 20000 --ranks 2 -o "$dir/run" >"$dir/made"
"$accelprof" report "$dir/run" -t ./skeleton.so --opt skeleton.top=0 --format csv --table skeleton |
	tr -d '\r' | sed 1d >"$dir/rows"
is "runs of kernels" "$(awk -F, '{ n += $(NF - 1) } END { print n }' "$dir/rows")" "$(made kernel)"
is "time of kernels" "$(awk -F, '{ n += $NF } END { printf "%.0f\n", n }' "$dir/rows")" \
	"$(made kernel_ns)"

"$accelprof" report "$dir/run" -t ./skeleton.so --opt skeleton.top=3 --format csv --table skeleton |
	sed 1d >"$dir/rows"
is "rows" "$(wc -l <"$dir/rows" | tr -d ' ')" 3
! "$accelprof" report "$dir/run" -t ./skeleton.so --opt skeleton.top=many >/dev/null 2>"$dir/err"
is "a bad option is refused" "$(grep -c "skeleton.top must be a number .*, not 'many'" "$dir/err")" 1
echo "skeleton: passed"
