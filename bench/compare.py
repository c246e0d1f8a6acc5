#!/usr/bin/env python3
"""compare.py - compares the CPU time or the instructions of a command for two builds of accelprof."""

import argparse
import math
import os
import re
import statistics
import subprocess
import sys

LEVEL = 0.95


def arguments():
    parser = argparse.ArgumentParser(
        description="Run one accelprof command with two builds in turns, and compare the user "
        "CPU time that it takes. The order changes each turn. Prints the medians, the median of "
        "the ratios NEW/OLD of the turns, and an interval around that.",
        epilog="example: bench/compare.py build-old build -- report RUN -t kernel_freq --threads 1",
    )
    parser.add_argument("old", help="build directory of the baseline")
    parser.add_argument("new", help="build directory to compare with it")
    parser.add_argument("command", nargs="+", help="arguments of accelprof, after --")
    parser.add_argument("-n", "--turns", type=int, default=11, help="at least 6 (default 11)")
    parser.add_argument("-i", "--instructions", action="store_true",
                        help="also count the instructions of one run of each, with valgrind")
    args = parser.parse_args()
    if args.turns < 6:
        parser.error("a 95 % interval needs at least 6 turns")
    return args


def accelprof(build):
    return os.path.join(build, "accelprof")


def user_seconds(command):
    """Returns the user CPU time of a process and of the children that it waited for."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"compare.py: {' '.join(command)} failed")
    return usage.ru_utime


def instructions(command):
    """Returns the instructions of a process, without those of its children."""
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    try:
        done = subprocess.run(valgrind + command, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        sys.exit("compare.py: -i needs valgrind: install it")
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        sys.exit(f"compare.py: {' '.join(valgrind + command)} failed:\n{done.stderr}")
    return int(found.group(1))


def interval(values):
    """Returns two order statistics that enclose the median with a probability of at least LEVEL,
    for any distribution, and that probability."""
    count = len(values)
    rank, outside = 0, 0.0
    while True:
        more = outside + 2 * math.comb(count, rank) / 2**count
        if more > 1 - LEVEL:
            break
        rank, outside = rank + 1, more
    ordered = sorted(values)
    return ordered[rank - 1], ordered[count - rank], 1 - outside


def show(name, values):
    print(f"{name} {statistics.median(values):8.3f} s user "
          f"({min(values):.3f} to {max(values):.3f})")


def main():
    args = arguments()
    commands = [[accelprof(build)] + args.command for build in (args.old, args.new)]
    times = ([], [])

    for command in commands:  # loads the files into the page cache
        user_seconds(command)
    for turn in range(args.turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            times[which].append(user_seconds(commands[which]))
    ratios = [new / old for old, new in zip(*times)]
    low, high, level = interval(ratios)
    show("old  ", times[0])
    show("new  ", times[1])
    print(f"ratio {statistics.median(ratios):8.3f} ({low:.3f} to {high:.3f}, "
          f"{100 * level:.1f} %, {args.turns} turns)")
    if args.instructions:
        old, new = (instructions(command) for command in commands)
        print(f"instructions {old / 1e6:.1f} M, {new / 1e6:.1f} M, ratio {new / old:.3f}")


if __name__ == "__main__":
    main()
