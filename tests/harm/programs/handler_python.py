"""Cancellation, signals, fork and descriptors in a Python program, with PyTorch or without.

    handler_python.py cancel|signals|fork|descriptors|processes [torch]

The trace is the same on every native run.
"""

import ctypes
import os
import random
import signal
import subprocess
import sys
import threading
import time

import accelprof

TICKS = 200
LAST = 1023
torch = None


class Cancelled(BaseException):
    """What ends a thread: Python's way of asynchronous cancellation."""


def unit():
    """One piece of work, the result of which is known."""
    with accelprof.region("unit"):
        accelprof.counter("count", 1.0)
        accelprof.step()
        if torch is not None:
            ones = torch.ones(4)
            if (ones + ones).sum().item() != 8.0:
                raise ValueError("PyTorch's result is wrong")


def run_cancelled(started, ended):
    try:
        started.set()
        while True:
            unit()
    except Cancelled:
        unit()
        ended.append(1)


def cancel():
    """Threads that end at a random moment. An exception may come out of any line, so that a region
    may stay open: only that the program goes on is looked at."""
    random.seed(int(os.environ.get("HARM_SEED", "0")))
    ended = []
    for _ in range(20):
        started = threading.Event()
        thread = threading.Thread(target=run_cancelled, args=(started, ended))
        thread.start()
        started.wait()
        time.sleep(random.random() / 1000)
        while thread.is_alive():
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(Cancelled))
            thread.join(1)
        unit()
    print(len(ended), "ended")


def signals():
    ticks = 0

    def on_tick(_number, _frame):
        nonlocal ticks
        ticks += 1
        with accelprof.region("handler"):
            accelprof.counter("ticks", float(ticks))

    signal.signal(signal.SIGALRM, on_tick)
    signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
    while ticks < TICKS:
        unit()
    signal.setitimer(signal.ITIMER_REAL, 0)
    print("ticked")


def fork():
    """What Python prints about threads and fork is on the program's stderr, and compared."""
    for number in range(6):
        unit()
        sys.stdout.flush()
        pid = os.fork()
        if not pid:
            if number % 2:
                unit()
            if number % 3:
                sys.exit(number)
            os._exit(number)
        _, status = os.waitpid(pid, 0)
        print("child", os.waitstatus_to_exitcode(status))
    if torch is None:  # PyTorch's own threads count, too
        print("threads", threading.active_count())


def show(when):
    for number in range(LAST + 1):
        try:
            name = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        print(when, number, os.path.basename(name).split("[")[0])


def run_beside(finished):
    while not finished.is_set():
        unit()


def descriptors():
    unit()
    show("open")
    used = set()
    for number in range(LAST + 1):
        try:
            os.fstat(number)
            used.add(number)
        except OSError:
            pass
    finished = threading.Event()
    thread = threading.Thread(target=run_beside, args=(finished,))
    thread.start()
    own = os.open("own", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    used.add(own)
    for number in range(3, LAST + 1):
        if number in used:
            continue
        os.dup2(own, number)
        os.write(number, b"%5d\n" % number)
        os.close(number)
    finished.set()
    thread.join()
    print("size", os.fstat(own).st_size)
    os.close(own)
    show("at the end")


def processes():
    """Other programs, Python and not, with what they inherit."""
    unit()
    for command in (["/bin/echo", "from echo"], [sys.executable, __file__, "leaf"],
                    [sys.executable, "-c", "import sys; sys.exit(7)"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        print(done.returncode, done.stdout.strip())
    unit()


def leaf():
    unit()
    show("inherited")


def main():
    global torch
    if sys.argv[2:] == ["torch"]:
        import torch as found

        torch = found
        torch.set_num_threads(1)
    {"cancel": cancel, "signals": signals, "fork": fork, "descriptors": descriptors,
     "processes": processes, "leaf": leaf}[sys.argv[1]]()
    print("done")


if __name__ == "__main__":
    main()
