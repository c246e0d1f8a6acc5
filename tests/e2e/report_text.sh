#!/usr/bin/env bash
# report_text.sh - text reports: their width, their characters, and what is printed once.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

unset COLUMNS LC_ALL LC_CTYPE LANG NO_COLOR
cp -r "$SRC/tests/data/runs/gpt2-train" . # a report may write into a run of one's own
train=gpt2-train
tools=ops,kernel_freq,tensors,python_flame

# hasnt WHAT FILE PATTERN
hasnt() {
	if LC_ALL=C.UTF-8 grep -E -- "$3" "$2"; then failed "$1: a line like '$3'"; fi
}

# widest OPTIONS... - the width of the longest line of the report. Notes are not wrapped.
widest() {
	"$ACCELPROF" report "$train" -t $tools "$@" | grep -v '^note: ' |
		python3 -c 'import sys; print(max(len(line) - 1 for line in sys.stdin))'
}

export LC_ALL=C.UTF-8
is "not a terminal" "$(widest)" 100
for width in 80 130 200; do
	is "--width $width" "$(widest --width $width)" $width
	is "COLUMNS=$width" "$(COLUMNS=$width widest)" $width
	is "--width $width, COLUMNS=90" "$(COLUMNS=90 widest --width $width)" $width
done
is "COLUMNS=x" "$(COLUMNS=x widest)" 100
for width in 19 10001 -1 x ''; do
	"$ACCELPROF" report "$train" --width "$width" >out 2>err
	is "--width '$width': status" $? 2
	has "--width '$width'" err "report: --width needs a number from 20 to 10000, not '$width'"
done

# With the width that the report names, no column is missing.
"$ACCELPROF" report "$train" -t $tools >narrow
width=$(sed -n 's/^columns that do not fit: .* (--width \([0-9]*\) shows them)$/\1/p' narrow)
"$ACCELPROF" report "$train" -t $tools --width "$width" >wide
hasnt "--width $width" wide '^columns that do not fit'
"$ACCELPROF" report "$train" -t $tools --width $((width - 1)) >wide
has "--width $width - 1" wide '^columns that do not fit'

# Other formats have the full names of kernels, text has short ones.
"$ACCELPROF" report "$train" -t kernel_freq --format json >json
"$ACCELPROF" report "$train" -t kernel_freq --format csv --table kernels >csv
for file in json csv; do
	has "$file" $file 'sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x64x8_stage3.*__5x_cublas'
done
has "text" narrow '^gemm f32 nn 64x64x8 sm80 +72 '
hasnt "text" narrow 'xmma'

# Without UTF-8, everything is ASCII. A terminal without colors gets no escape sequences.
for locale in C POSIX ''; do
	LC_ALL=$locale "$ACCELPROF" report "$train" -t $tools,memory >ascii
	if LC_ALL=C grep -n '[^ -~]' ascii | head -n 3 | grep .; then
		failed "LC_ALL=$locale: the report is not ASCII"
	fi
	has "LC_ALL=$locale" ascii '^\.\.\. [0-9]+ more rows'
	has "LC_ALL=$locale" ascii '\.\.\.'
done

# A terminal sets the width, and has colors unless it is dumb.
python3 - "$ACCELPROF" "$train" <<'P' || failures=1
import fcntl, os, pty, re, struct, subprocess, sys, termios

accelprof, train = sys.argv[1:]

def report(columns, variables):
    pid, fd = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(accelprof, [accelprof, "report", train, "-t", "ops,regions", "--rows", "5"],
                  dict(os.environ, **variables))
    text = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        text += more
    os.waitpid(pid, 0)
    return text.decode()

def plain(text):
    return re.sub("\x1b\\[[0-9]*m|\r", "", text)

failed = 0
for columns, variables, width, colors in (
        (90, {}, 90, True), (140, {}, 140, True), (90, {"COLUMNS": "140"}, 140, True),
        (90, {"NO_COLOR": "1"}, 90, False), (90, {"TERM": "dumb"}, 90, False)):
    variables = dict({"TERM": "xterm"}, **variables)
    text = report(columns, variables)
    wanted = subprocess.run(
        [accelprof, "report", train, "-t", "ops,regions", "--rows", "5", "--width", str(width)],
        stdout=subprocess.PIPE, check=True).stdout.decode()
    if plain(text) != wanted or ("\x1b" in text) != colors:
        print(f"FAILED: {columns} columns, {variables}: {text!r}, wanted {wanted!r}")
        failed = 1
sys.exit(failed)
P

# A note of several tools is printed once.
"$ACCELPROF" report "$train" -t ops,kernel_freq,copies --kernel gemm >out
is "a note of three tools" "$(grep -c '^note: the report covers only the part' out)" 1
has "a note of three tools" out 'matches the filter: .* \(reported by 3 tools\)$'
done_
