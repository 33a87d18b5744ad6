"""One contender in a process of its own: it gets ready, then runs when it is told to.

    python -m benchmarks.peers.worker '{"workload": "ode", "size": "9", "contender": "jax", "core": 0, "do": "build"}'

Commands arrive on the standard input, answers leave on the standard output, one line of JSON each:

    (nothing)               → first: CPU seconds of building and of the first call, compilers of C included; where the
                              order says "trace", of tracing alone
    {"do": "run", "calls"}  → wall and CPU seconds of that many calls, after one that brings its data back to the cache
    {"do": "memory"}        → peak of the process, and how far that is above what imports and arguments need
    {"do": "error"}         → relative error against the reference, in float64
    {"do": "report"}        → what the compiler says of its work
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.peers.contender import Contender, Problem, Workload, relative_error
from benchmarks.peers.workloads import WORKLOADS


def private_output() -> Any:
    """The standard output for answers alone: what libraries print goes to the standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return answers


def pin(core: int | None) -> None:
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def megabytes(name: str) -> float:
    """A figure of /proc/self/status (VmRSS, VmHWM); where there is no such file, the peak that the system counts."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))


def forget_peak() -> None:
    """Let the peak of memory start here; without this right it also counts the imports."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def cpu_seconds() -> float:
    """Of this process and of the children it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(call: Callable[[], Any], calls: int) -> dict[str, float]:
    """Wall and CPU seconds of `calls` calls. The collector is off, as in timeit: garbage is collected before."""
    gc.collect()
    gc.disable()
    call()
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in repeat(None, calls):
        call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    gc.enable()
    return {"wall": wall / calls, "cpu": cpu / calls}


class Worker:
    """The contender, made ready: arguments converted, compilers warm, nothing built yet."""

    def __init__(self, workload: Workload, size: str, contender: str) -> None:
        self.workload, self.problem = workload, workload.problem(size)
        self.contender: Contender = workload.contenders[contender](self.problem)
        gc.collect()
        self.before = megabytes("VmRSS")
        forget_peak()

    def build(self) -> dict[str, float]:
        wall, cpu = time.perf_counter(), cpu_seconds()
        self.call = self.contender.build()
        self.call()
        result = {"first": cpu_seconds() - cpu, "wall": time.perf_counter() - wall}
        gc.collect()
        gc.freeze()  # imported modules need not be searched for garbage again
        return result

    def run(self, calls: int) -> dict[str, float]:
        return timed(self.call, calls)

    def memory(self) -> dict[str, float]:
        peak = megabytes("VmHWM")
        return {"peak": peak, "above": max(0.0, peak - self.before)}

    def trace(self) -> dict[str, float]:
        """For the first time in this process, as building begins with it."""
        if self.contender.trace is None:
            raise ValueError("this contender cannot trace alone")
        start = time.process_time()
        self.contender.trace()
        return {"first": time.process_time() - start}

    def error(self) -> dict[str, float]:
        problem: Problem = self.problem
        return {"error": relative_error(self.contender.answers(self.call()), self.workload.reference(problem))}

    def report(self) -> dict[str, str]:
        return {"report": self.contender.report() if self.contender.report else ""}


def main() -> None:
    order = json.loads(sys.argv[1])
    answers = private_output()
    pin(order["core"])

    def answer(produce: Callable[..., Any], **arguments: Any) -> bool:
        """Send what a function gives; say what went wrong otherwise. True when all is well."""
        try:
            found, well = produce(**arguments), True
        except Exception as problem:
            found, well = {"failed": f"{type(problem).__name__}: {problem}"}, False
        answers.write(json.dumps(found) + "\n")
        return well

    made: list[Worker] = []

    def first() -> dict[str, float]:
        made.append(Worker(WORKLOADS[order["workload"]], order["size"], order["contender"]))
        return getattr(made[0], order["do"])()

    if not answer(first):
        return
    for line in sys.stdin:
        command = json.loads(line)
        answer(getattr(made[0], command.pop("do")), **command)


if __name__ == "__main__":
    main()
