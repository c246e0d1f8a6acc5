#!/usr/bin/env bash
# run_terminal.sh - Ctrl-C, Ctrl-Z and fg at a terminal do what they do without accelprof.
set -u
. "$SRC/tests/e2e/lib.sh" || exit 1

python3 - "$ACCELPROF" "$behave" <<'P'
import os, pty, re, select, sys, time

accelprof, behave = sys.argv[1:]
failed = 0

class Shell:
    def __init__(self):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(PS1="$ ", TERM="dumb", HISTFILE="")
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.text = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait(self, pattern, seconds=15):
        global failed
        end = time.time() + seconds
        while time.time() < end:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return True
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:
                    break
        print(f"FAILED: no {pattern!r} in {self.text!r}")
        failed = 1
        return False

sh = Shell()
sh.send(f"{accelprof} run -o c -- {behave} region r ready sleep 20000; echo status $?\r")
sh.wait(r"ready \d+\r\n")
sh.send("\x03\x03\x03")
sh.wait(r"main .* 1 .*\r\n(.*\r\n)*.*run saved in c")
sh.wait(r"status 130|\$ ")

sh.send(f"{accelprof} run -o z -- {behave} ready sleep 1500 caught\r")
sh.wait(r"ready \d+\r\n")
sh.send("\x1a")
sh.wait(r"Stopped")
sh.send("fg\r")
sh.wait(r"caught 0")
sh.wait(r"run saved in z")

sh.send(f"{accelprof} run -q -o y -- {behave} count 18 ready sleep 1500 caught\r")
sh.wait(r"ready \d+\r\n")
sh.send("\x1a")
sh.wait(r"Stopped")
sh.send("fg\r")
sh.wait(r"caught 1\r")  # SIGCONT, of the shell alone

sh.send(f"{accelprof} run -o b -- {behave} ready cat >/dev/null &\r")
sh.wait(r"\[1\]")
time.sleep(0.7)
sh.send("\rjobs\r")
sh.wait(r"Stopped")
sh.send("fg\r")
time.sleep(0.3)
sh.send("\x04")
sh.wait(r"run saved in b")

sh.send(f"{accelprof} run -q -o n -- {behave} count 2 ready await\r")
sh.wait(r"ready \d+\r\n")
sh.send("\x03")
sh.wait(r"caught 1\r\n")

sh.send(f"TERM=xterm {accelprof} report z\r")
sh.wait("\x1b\\[1m== summary ==\x1b\\[m\r\n")
for variable in "TERM=xterm NO_COLOR=1", "TERM=dumb":
    sh.send(f"{variable} {accelprof} report z\r")
    sh.wait("\n== summary ==\r\n(.*\r\n)*events: ")
sh.send("exit\r")
sys.exit(failed)
P
[ $? = 0 ] || failures=1
done_
