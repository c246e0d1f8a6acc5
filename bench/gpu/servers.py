"""servers.py - measures processes in turns.

A server prints "ready", and then answers each line of its input with a line of JSON. A generation is one
server of each variant, all alive at the same time. They get requests one after the other, in another
order for each block; waiting servers use no CPU time. The memory layout of a process biases all its
blocks, so there are several generations.
"""
import json
import os
import random
import select
import signal
import subprocess
import sys
import time

STRIKES = 2  # after so many failures a variant is not started again
TAIL = 8  # lines of output that an error shows


class Failure(Exception):
    """A server that is dead, hangs, or answers nonsense."""


class Server:
    def __init__(self, name, command, env, log):
        self.name, self.log, self.rest = name, log, b""
        with open(log, "wb") as err:
            # A session of its own, so that its children are killed with it.
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=err,
                                            start_new_session=True)
        self.answer = None

    def words(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return "".join("\n  | " + x.rstrip() for x in f.readlines()[-TAIL:])

    def line(self, until):
        """Returns the next line of its output, or None at the end."""
        while b"\n" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failure("hangs")
            got = os.read(self.process.stdout.fileno(), 1 << 16)
            if not got:
                return None
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode("utf-8", "replace").strip()

    def wait_for(self, fits, until):
        """Skips other lines, which a profiler may print in between."""
        while True:
            line = self.line(until)
            if line is None:
                raise Failure(f"ended, {self.status(until)}")
            if fits(line):
                return line

    def status(self, until):
        try:
            return f"status {self.process.wait(max(until - time.monotonic(), 0))}"
        except subprocess.TimeoutExpired:
            return "and does not end"

    def ready(self, until):
        self.wait_for(lambda line: line == "ready", until)

    def ask(self, line, seconds):
        until = time.monotonic() + seconds
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failure(f"ended, {self.status(until)}") from None
        self.answer = json.loads(self.wait_for(lambda x: x.startswith("{"), until))
        return self.answer

    def shut(self):
        """Closes its input, so that it ends."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def end(self, until):
        while self.line(until) is not None:
            pass
        status = self.status(until)
        if status != "status 0":
            raise Failure(status)

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.shut()
        self.process.stdout.close()


class Limits:
    """Seconds after which a server counts as hanging."""

    def __init__(self, ready, block, end):
        self.ready, self.block, self.end = ready, block, end


class Crew:
    """Variants by name. start(name) makes a server. ended(name, answer) checks what a server has left,
    and raises Failure if that is wrong: then its blocks of this generation do not count."""

    def __init__(self, names, start, ended, limits):
        self.names, self.start, self.ended, self.limits = list(names), start, ended, limits
        self.strikes = {}
        self.refused = set()
        self.failures = []
        self.servers = {}
        self.blocks = []

    def fail(self, name, why, strikes=1):
        server = self.servers.pop(name, None)
        if server:
            server.kill()
            why += server.words()
        self.failures.append(f"{name}: {why}")
        print(f"{name}: {why}", file=sys.stderr, flush=True)
        self.strikes[name] = self.strikes.get(name, 0) + strikes
        if self.strikes[name] >= STRIKES and name in self.names:
            self.names.remove(name)

    def attempt(self, name, work):
        """Returns the result of work, or None if the server failed."""
        try:
            return work()
        except Failure as e:
            self.fail(name, str(e), STRIKES if str(e) == "hangs" else 1)
        except ValueError as e:
            self.fail(name, f"its answer is not JSON: {e}")
        return None

    def open(self):
        until = time.monotonic() + self.limits.ready
        for name in list(self.names):
            try:
                self.servers[name] = self.start(name)
            except OSError as e:
                self.fail(name, f"cannot be started: {e}", STRIKES)
        for name, server in list(self.servers.items()):
            self.attempt(name, lambda s=server: s.ready(until))

    def round(self, generation, number, kinds):
        """Measures a block of each kind with each variant. Kinds are (name, count)."""
        for kind, count in kinds:
            order = [n for n in self.servers if (n, kind) not in self.refused]
            random.shuffle(order)
            for turn, name in enumerate(order):
                answer = self.attempt(name, lambda n=name: self.servers[n].ask(
                    f"{kind} {count}", self.limits.block))
                if answer is None:
                    continue
                if "error" in answer:
                    self.refused.add((name, kind))
                    self.failures.append(f"{name}: {kind}: {answer['error']}")
                    continue
                self.blocks.append({"generation": generation, "round": number, "kind": kind,
                                    "variant": name, "turn": turn, **answer})

    def close(self, generation):
        until = time.monotonic() + self.limits.end
        for server in self.servers.values():
            server.shut()
        for name, server in list(self.servers.items()):
            try:
                server.end(until)
            except Failure as e:  # it has answered all the same
                self.fail(name, f"at its end: {e}", STRIKES if str(e) == "hangs" else 0)
            try:
                self.ended(name, server.answer)
            except Failure as e:
                self.blocks[:] = [b for b in self.blocks
                                  if (b["generation"], b["variant"]) != (generation, name)]
                self.fail(name, str(e))
        self.kill()

    def kill(self):
        for server in self.servers.values():
            server.kill()
        self.servers.clear()


def generations(title, crew, kinds, rounds, most, until):
    """Runs up to the given number of generations and rounds, fewer if the time is over."""
    begin = time.monotonic()
    overhead = a_round = 0.0
    for generation in range(most):
        now = time.monotonic()
        if generation and now + overhead + 2 * a_round > until:
            return
        crew.open()
        overhead = time.monotonic() - now
        for number in range(rounds):
            now = time.monotonic()
            if not crew.servers or (number and now + a_round > until):
                break
            crew.round(generation, number, kinds)
            a_round = time.monotonic() - now
        now = time.monotonic()
        crew.close(generation)
        overhead += time.monotonic() - now
        print(f"{title}: generation {generation + 1}, {len(crew.blocks)} blocks, "
              f"{time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
        if not crew.names:
            return
