"""Contenders of one workload in turn, and the least time of each.

Every contender has a process of its own that stays alive while the others run. A round asks each for a sample of some
milliseconds; noise only ever adds time, and what disturbs the machine for a while disturbs all of them.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.contender import Workload

ROOT = Path(__file__).resolve().parent.parent.parent
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ADJOINT_THREADS")
QUIET = 0.97  # a sample counts as undisturbed when the process held the core for this share of it


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    rounds: int = 40
    sample: float = 0.01  # seconds of one sample, at least one call
    budget: float = 1.5  # seconds of samples for each contender; three samples at least (one, if a call takes seconds)
    patience: float = 150.0  # seconds that building or a call may take


FULL, QUICK = Effort(), Effort(rounds=12, sample=0.005, budget=0.2, patience=20.0)


@dataclass
class Measured:
    """One contender on one workload and size; times in seconds, memory in MB."""

    workload: str
    size: str
    contender: str
    seconds: float | None = None  # the least over all rounds; where none was quiet, the least CPU time
    quiet: int = 0  # samples in which nobody else had the core
    samples: int = 0
    compile: float | None = None  # CPU time of building and first call, less a steady call
    peak: float | None = None
    above: float | None = None  # of the peak, what imports and arguments do not explain
    error: float | None = None
    note: str = ""  # why there is no figure
    report: str = ""
    processor: str = ""  # where it was measured, if not where most of the run was

    @property
    def library(self) -> str:
        return library_of(self.contender)

    @property
    def is_ours(self) -> bool:
        return self.library == "adjoint"

    @property
    def compiles(self) -> bool:
        """Whether there is a compile time to be told: not for those that run operation by operation."""
        return self.contender not in {"numpy by hand", "autograd", "torch"}

    @property
    def is_peer(self) -> bool:
        """Differentiates by itself, and is not us."""
        return not self.is_ours and "by hand" not in self.contender


class Silent(Exception):
    """A worker did not answer; the text says what happened."""


@dataclass
class Process:
    """A worker seen from here."""

    measured: Measured
    effort: Effort
    core: int | None
    cache: Path
    do: str = "build"  # or "trace"
    calls: int = 1
    spent: float = 0.0
    first: float = 0.0
    wall: float = float("inf")
    cpu: float = float("inf")
    child: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        order = {
            "workload": self.measured.workload,
            "size": self.measured.size,
            "contender": self.measured.contender,
            "core": self.core,
            "do": self.do,
        }
        self.child = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.peers.worker", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self.cache,
            env=environment(self.cache),
            start_new_session=True,
        )

    def answer(self, **command: Any) -> dict[str, Any]:
        """Send a command (none: wait for what comes first) and wait for the answer."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        if command:
            with contextlib.suppress(BrokenPipeError):
                self.child.stdin.write(json.dumps(command) + "\n")
                self.child.stdin.flush()
        ready, _, _ = select.select([self.child.stdout], [], [], self.effort.patience)
        if not ready:
            raise Silent(f"no answer in {self.effort.patience:.0f} s")
        line = self.child.stdout.readline()
        if not line:
            raise Silent(f"its process ended with status {self.child.wait()}")
        found = json.loads(line.replace(f"{ROOT}{os.sep}", ""))  # places in the code, not on this machine
        if reason := found.get("failed"):
            raise Silent(reason)
        return found

    def get_ready(self) -> None:
        """Wait until it is built, and choose the number of calls in a sample."""
        self.first = self.answer()["first"]
        for _ in range(3):
            once = self.answer(do="run", calls=self.calls)["wall"]
            self.calls = max(1, round(self.effort.sample / once))

    def sample(self) -> None:
        found = self.answer(do="run", calls=self.calls)
        self.wall, self.cpu = min(self.wall, found["wall"]), min(self.cpu, found["cpu"])
        m = self.measured
        m.samples += 1
        m.quiet += found["cpu"] > QUIET * found["wall"]
        m.seconds = self.wall if m.quiet else self.cpu
        self.spent += found["wall"] * (self.calls + 1)

    def takes_part(self, turn: int) -> bool:
        least = 1 if self.measured.seconds is not None and self.measured.seconds > 1.0 else 3
        return turn < least or self.spent < self.effort.budget

    def close_the_account(self) -> None:
        m = self.measured
        assert m.seconds is not None
        m.compile = max(0.0, self.first - m.seconds)
        memory = self.answer(do="memory")
        m.peak, m.above = memory["peak"], memory["above"]
        m.report = self.answer(do="report")["report"]
        m.error = self.answer(do="error")["error"]

    def stop(self) -> None:
        """End the worker, and the C compiler that it may wait for."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.communicate()


def environment(cache: Path) -> dict[str, str]:
    """One thread, and caches of its own, so that compiling starts from nothing."""
    own = dict.fromkeys(ONE_THREAD, "1")
    own |= {name: str(cache) for name in ("XDG_CACHE_HOME", "TMPDIR", "TORCHINDUCTOR_CACHE_DIR", "ADJOINT_CACHE_DIR")}
    own |= {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "PYTHONWARNINGS": "ignore", "TF_CPP_MIN_LOG_LEVEL": "2"}
    # torch.compile would otherwise start a pool of processes, whose CPU time nobody counts
    own |= {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
    return os.environ | own


def library_of(contender: str) -> str:
    """The first word of its name."""
    return contender.replace(",", " ").split()[0]


def is_installed(contender: str) -> bool:
    library = library_of(contender)
    return library == "adjoint" or importlib.util.find_spec(library) is not None


def compare(
    workload: Workload,
    size: str,
    contenders: Iterable[str],
    effort: Effort,
    core: int | None,
    say: Callable[[str], None] = lambda text: None,
    cache: Path | None = None,
) -> list[Measured]:
    """Measure the contenders of a workload at one size, in turn. `cache`: a folder for all, that they share."""
    rows = [Measured(workload.name, size, name) for name in contenders]
    processes: list[Process] = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, row in enumerate(rows):
                if reason := workload.left_out.get((size, row.contender)):
                    row.note = reason
                    continue
                say(f"{workload.name} {size}: {row.contender} builds")
                own = cache or Path(folder, str(number))
                own.mkdir(exist_ok=True)
                processes.append(Process(row, effort, core, own))
                attempt(processes, processes[-1], Process.get_ready)
            take_turns(processes, effort, lambda turn: say(f"{workload.name} {size}: round {turn + 1}"))
            for process in list(processes):
                attempt(processes, process, Process.close_the_account)
        finally:
            for process in processes:
                process.stop()
    return rows


def trace_alone(workload: Workload, size: str, contender: str, effort: Effort, core: int | None) -> float:
    """CPU seconds of tracing in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        process = Process(Measured(workload.name, size, contender), effort, core, Path(folder), do="trace")
        try:
            return process.answer()["first"]
        finally:
            process.stop()


def take_turns(processes: list[Process], effort: Effort, say: Callable[[int], None]) -> None:
    for turn in range(effort.rounds):
        playing = [process for process in processes if process.takes_part(turn)]
        if not playing:
            return
        say(turn)
        # forwards, then backwards, so that nobody always follows the same neighbor
        for process in playing if turn % 2 == 0 else reversed(playing):
            attempt(processes, process, Process.sample)


def attempt(processes: list[Process], process: Process, action: Callable[[Process], None]) -> None:
    """Let a process act; one that fails says why in its row, and leaves."""
    try:
        action(process)
    except Silent as reason:
        process.measured.note = str(reason)
        process.measured.seconds = process.measured.compile = None
        process.stop()
        processes.remove(process)


def a_core() -> int | None:
    """The last core that this process may use: the first one serves interrupts more often."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def chosen(workload: Workload, wanted: Sequence[str] | None) -> list[str]:
    """Contenders that are installed, and wanted when a list of names is given."""
    return [name for name in workload.contenders if is_installed(name) and (wanted is None or name in wanted)]
