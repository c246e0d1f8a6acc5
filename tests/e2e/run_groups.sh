#!/usr/bin/env bash
# run_groups.sh - a signal for the process group reaches the program once, as one for accelprof does.
# timeout: 180
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 - "$ACCELPROF" "$behave" <<'P'
import os, signal, subprocess, sys, time

accelprof, behave = sys.argv[1:]
failed = 0


def check(what, got, wanted):
    global failed
    if got != wanted:
        print(f"FAILED: {what}: got {got!r}, wanted {wanted!r}")
        failed = 1


class Program:
    """Below accelprof, in a process group of its own. It prints each signal that it gets."""

    def __init__(self, *does, before=(), signals=(signal.SIGUSR1, signal.SIGUSR2)):
        prints = [word for sig in signals for word in ("print", str(int(sig)))]
        self.process = subprocess.Popen(
            [*before, accelprof, "run", "-q", "--", behave, *prints, *does, "ready", "cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            start_new_session=True)
        self.pid = self.process.pid
        self.program = int(self.line().split()[1])

    def line(self):
        return self.process.stdout.readline()

    def one(self, sig):
        """Send it to accelprof alone."""
        os.kill(self.pid, sig)

    def group(self, sig):
        os.killpg(self.pid, sig)

    def end(self):
        """Returns the unread output, and the status."""
        rest = self.process.communicate()[0]
        return rest, self.process.returncode

    def children(self):
        with open(f"/proc/{self.pid}/task/{self.pid}/children") as file:
            return [int(pid) for pid in file.read().split() if int(pid) != self.program]


got = {sig: f"got {int(sig)}\n" for sig in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN + 1)}

# One after the other: each waits for the one before, so that none are merged natively.
p = Program()
for sig in (signal.SIGUSR1, signal.SIGUSR2) * 15:
    p.group(sig)
    check("a signal for the group", p.line(), got[sig])
check("signals for the group, once each", p.end(), ("", 0))

p = Program()
for sig in (signal.SIGUSR1, signal.SIGUSR2) * 15:
    p.one(sig)
    check("a signal for accelprof", p.line(), got[sig])
check("signals for accelprof, once each", p.end(), ("", 0))

# Queued ones count: five are five.
real = signal.SIGRTMIN + 1
for how in (Program.one, Program.group):
    p = Program(signals=(real, signal.SIGUSR1))
    for _ in range(5):
        how(p, real)
    check(f"queued signals, {how.__name__}", [p.line() for _ in range(5)], [got[real]] * 5)
    check(f"no more queued signals, {how.__name__}", p.end(), ("", 0))

# timeout(1) signals the process and the group: natively the two are mostly one.
once = 0
for _ in range(10):
    p = Program(before=("timeout", "600"), signals=(signal.SIGTERM,))
    os.kill(p.pid, signal.SIGTERM)
    check("timeout", p.line(), "got 15\n")
    once += p.end()[0] == ""
if once <= 5:
    check("timeout(1), once", once, "more than half of 10")

# A program that has left the group does not get the group's signals...
p = Program("leave")
subprocess.run(["kill", "-USR1", "--", f"-{p.pid}"], check=True)
p.one(signal.SIGUSR2)
check("after setsid: a signal for accelprof", p.line(), got[signal.SIGUSR2])
check("after setsid: none for the group", p.end(), ("", 0))
# ...but it gets its parent's, which, as timeout's, may have been for the process, too.
p = Program("leave")
p.one(signal.SIGUSR1)
p.group(signal.SIGUSR1)
check("after setsid: of the parent", p.line(), got[signal.SIGUSR1])
p.end()

# The witness: it holds nothing, it is not found by accelprof's name, and it can be killed.
p = Program()
(witness,) = p.children()
links = [os.readlink(f"/proc/{witness}/fd/{fd}") for fd in os.listdir(f"/proc/{witness}/fd")]
check("what it holds", [link.split(":")[0] for link in links], ["socket"])
with open(f"/proc/{witness}/cmdline", "rb") as file:
    check("its name", file.read().strip(b"\0"), b"pasta-witness")
with open(f"/proc/{witness}/comm") as file:
    check("its short name", file.read(), "pasta-witness\n")
os.kill(witness, signal.SIGKILL)
for sig in (signal.SIGUSR1, signal.SIGUSR2) * 3:
    p.one(sig)
    check("without a witness", p.line(), got[sig])
check("without a witness, once each", p.end(), ("", 0))

p = Program()
(witness,) = p.children()
os.kill(witness, signal.SIGSTOP)
for sig in (signal.SIGUSR1, signal.SIGUSR2):
    p.one(sig)
    check("with a stopped witness", p.line(), got[sig])
p.group(signal.SIGUSR1)  # it may arrive twice: accelprof cannot know that the group has it
check("with a stopped witness, for the group", p.line(), got[signal.SIGUSR1])
p.one(signal.SIGUSR2)  # accelprof has taken the one before, then
while (line := p.line()) == got[signal.SIGUSR1]:
    pass
check("with a stopped witness, after that", line, got[signal.SIGUSR2])
os.kill(witness, signal.SIGCONT)
p.one(signal.SIGUSR2)
check("with a witness again", p.line(), got[signal.SIGUSR2])
p.one(signal.SIGUSR1)
check("with a witness that was stopped", p.line(), got[signal.SIGUSR1])
check("with a stopped witness, once each", p.end(), ("", 0))

# All of them stopped and continued.
p = Program(signals=(signal.SIGCONT,))
p.group(signal.SIGSTOP)
p.group(signal.SIGCONT)
check("continued", p.line(), "got 18\n")
check("continued once", p.end(), ("", 0))

# It ends with accelprof, whatever ends that.
for ends in (Program.end, lambda p: os.kill(p.pid, signal.SIGKILL)):
    p = Program()
    (witness,) = p.children()
    ends(p)
    for _ in range(600):
        if not os.path.exists(f"/proc/{witness}/fd"):
            break
        time.sleep(0.05)
    check("it ends with accelprof", os.path.exists(f"/proc/{witness}/fd"), False)
    p.process.communicate()
sys.exit(failed)
P
is "groups" $? 0
done_
