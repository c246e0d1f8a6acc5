#!/usr/bin/env bash
# run_large.sh - arguments near the kernel's limit: the program runs, if need be unrecorded.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 - "$ACCELPROF" "$behave" <<'P'
import errno, os, subprocess, sys

accelprof, behave = sys.argv[1:]
failed = 0


def check(what, got, wanted):
    global failed
    if got != wanted:
        print(f"FAILED: {what}: got {got!r}, wanted {wanted!r}")
        failed = 1


def arguments(size):
    return ["x" * 100000] * (size // 100000) + ["y" * (size % 100000)]


def run(options, size):
    """None: not even accelprof can be executed."""
    command = [accelprof, "run", *options, "--", behave, "env", "PASTA_RUN", "env", "KEPT", "exit", "7"]
    try:
        return subprocess.run(command + arguments(size), capture_output=True, text=True,
                              env={**os.environ, "KEPT": "this"})
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        return None


fits, too_large = 0, 1 << 24
while too_large - fits > 1:
    size = (fits + too_large) // 2
    try:
        subprocess.run([accelprof, "--version", *arguments(size)], stdout=subprocess.DEVNULL)
        fits = size
    except OSError:
        too_large = size
size = fits
while (result := run(["-o", "large"], size)) is None:  # the rest of the command line
    size -= 64
check("status", result.returncode, 7)
check("the program's environment", result.stdout, "(unset)\nthis\n")
check("a line gives the reason", "accelprof: the program ran unrecorded: its arguments and environment" in
      result.stderr, True)
check("and that alone", "nothing was recorded" in result.stderr, False)
quiet = run(["-q", "-o", "quiet"], size - 64)
check("quiet, too", (quiet.returncode, quiet.stderr.count("\n")), (7, 1))

size -= 20000
recorded = run(["-q", "-o", "small"], size)
check("with room it is recorded", recorded.stdout, os.path.realpath("small") + "\nthis\n")
check("no message", recorded.stderr, "")

# One variable is too long for more: the list of libraries.
long = "/none" * 26210 # 21 bytes less than a string may have
if subprocess.run([behave], env={**os.environ, "PYTHONPATH": long}).returncode == 0:
    result = subprocess.run([accelprof, "run", "-q", "-o", "list", "--", behave, "env", "PYTHONPATH"],
                            capture_output=True, text=True, env={**os.environ, "PYTHONPATH": long})
    check("one variable", (result.returncode, result.stdout == long + "\n"), (0, True))
sys.exit(failed)
P
is "large" $? 0
done_
