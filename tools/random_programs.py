"""Random programs, compiled and compared with NumPy: the long run.

    python tools/random_programs.py --seconds 600 --processes 2

Seeds are tried in child processes, so that a crash of machine code is caught, named and can be repeated:
`--first SEED --count 1` runs one seed alone, `--show SEED` prints its function. A file given with `--log` gets the
faults as they are found, and a summary from time to time.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parent.parent
SILENT = 240.0  # seconds without a line: a seed that hangs
BATCH = 200  # seeds of one child: it ends before its memory is worth a look
SUMMARY_EVERY = 120.0


def work(first: int, count: int, nested: bool) -> None:
    """The child: one line of JSON before and after every seed."""
    sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
    from adjoint.compile import histories
    from tests.random_programs.agreement import Outcome, check_seed
    from tests.random_programs.loops import check_loops
    from tests.random_programs.modes import check_nested
    from tests.random_programs.scripted import check_script

    histories.FIRST_ROWS = 1  # so that memory grows, and moves, in short loops too
    for seed in range(first, first + count):
        print(json.dumps({"begin": seed}), flush=True)
        try:
            found = check_nested(seed)
            if not nested:
                found.add(check_seed(seed))
                found.failures += check_loops(seed)
                found.add(check_script(seed))
        except Exception as problem:  # of the comparison itself
            found = Outcome()
            found.failures.append(f"seed {seed}: the comparison raises {type(problem).__name__}: {problem}")
        line = {
            "seed": seed,
            "programs": found.programs,
            "any_size": found.any_size,
            "failures": found.failures,
            "notes": found.notes,
            "seen": found.seen,
        }
        print(json.dumps(line), flush=True)


class Tally:
    """What was found so far, by all children."""

    def __init__(self, log: TextIO | None) -> None:
        self.log, self.lock = log, threading.Lock()
        self.seeds = self.programs = self.any_size = 0
        self.failures: list[str] = []
        self.crashes: list[str] = []
        self.notes: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.began = self._said = time.monotonic()

    def add(self, line: dict[str, Any]) -> None:
        with self.lock:
            self.seeds += 1
            self.programs += line["programs"]
            self.any_size += line["any_size"]
            self.notes.update(line["notes"])
            self.seen.update(line["seen"])
            for failure in line["failures"]:
                self.failures.append(failure)
                self.say(failure)
            if time.monotonic() - self._said > SUMMARY_EVERY:
                self._said = time.monotonic()
                self.say(self.summary())

    def crash(self, seed: int, how: str) -> None:
        with self.lock:
            self.crashes.append(f"seed {seed}: {how}")
            self.say(f"CRASH, seed {seed}: {how}")

    def say(self, text: str) -> None:
        print(text, flush=True)
        if self.log is not None:
            print(text, file=self.log, flush=True)

    def summary(self) -> str:
        failing = {f.split(",")[0].split(":")[0] for f in self.failures}
        return (
            f"{self.seeds} seeds, {self.programs} programs ({self.any_size} by code for any size) in "
            f"{time.monotonic() - self.began:.0f} s: {len(self.failures)} faults in {len(failing)} seeds, "
            f"{len(self.crashes)} crashes, {len(self.seen)} operations; {dict(self.notes)}"
        )


def run_batch(first: int, count: int, tally: Tally, end: float, nested: bool) -> int:
    """One child; gives back the seed to go on with."""
    command = [sys.executable, __file__, "--work", "--first", str(first), "--count", str(count)]
    command += ["--nested"] if nested else []
    environment = {**os.environ, "ADJOINT_CACHE": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment["MALLOC_PERTURB_"] = "165"  # what is read before it is written, or after it is freed, is garbage
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)
    lines: queue.Queue[str | None] = queue.Queue()

    def read() -> None:
        assert child.stdout is not None
        for line in child.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    seed, how = first, ""
    while True:
        try:
            line = lines.get(timeout=SILENT)
        except queue.Empty:
            how = f"no answer for {SILENT:.0f} s"
            break
        if line is None:
            break
        found = json.loads(line)
        if "begin" in found:
            seed = found["begin"]
            continue
        tally.add(found)
        seed = found["seed"] + 1
        if time.monotonic() > end:
            child.kill()
            child.wait()
            return seed
    child.kill() if how else None
    code = child.wait()
    if code != 0 or how:
        tally.crash(seed, how or (signal.Signals(-code).name if code < 0 else f"the process ended with {code}"))
        return seed + 1
    return seed


def run(arguments: argparse.Namespace) -> int:
    tally = Tally(open(arguments.log, "a") if arguments.log else None)  # noqa: SIM115  (open until the end)
    end = time.monotonic() + arguments.seconds
    last = arguments.first + arguments.count
    batches: queue.Queue[int] = queue.Queue()
    for first in range(arguments.first, last, BATCH):
        batches.put(first)

    def serve() -> None:
        while time.monotonic() < end and tally.programs < arguments.programs:
            try:
                first = batches.get_nowait()
            except queue.Empty:
                return
            stop = min(first + BATCH, last)
            while first < stop and time.monotonic() < end:
                first = run_batch(first, stop - first, tally, end, arguments.nested)

    threads = [threading.Thread(target=serve) for _ in range(arguments.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.say(tally.summary())
    for crash in tally.crashes:
        tally.say(crash)
    return 1 if tally.failures or tally.crashes else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", "--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=10**6, help="how many seeds at most")
    parser.add_argument("--programs", type=int, default=10**9, help="stop after so many programs")
    parser.add_argument("--seconds", type=float, default=600.0, help="stop after so long")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--log", help="a file to append to")
    parser.add_argument("--nested", action="store_true", help="only functions of loops in loops, in every mode")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the function of a seed")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.show is not None:
        sys.path[:0] = [str(ROOT / "src"), str(ROOT)]
        from tests.random_programs.functions import LOOPS_IN_LOOPS, random_function
        from tests.random_programs.loops import random_loops
        from tests.random_programs.scripts import random_script

        print(random_function(arguments.show, LOOPS_IN_LOOPS))
        print(random_function(arguments.show))
        print(random_loops(arguments.show).text)
        print(random_script(arguments.show).text)
        return 0
    if arguments.work:
        work(arguments.first, arguments.count, arguments.nested)
        return 0
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
