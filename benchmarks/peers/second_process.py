"""Compiling out of the disk cache: the same function in a second process, against tracing alone in a third."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.peers.results import Second
from benchmarks.peers.rounds import Effort, Silent, compare, trace_alone
from benchmarks.peers.workloads import COMPARED

EFFORT = Effort(rounds=3, sample=0.005, budget=0.1)


def measured(core: int | None, say: Callable[[str], None] = lambda text: None) -> list[Second]:
    """One workload after the other, at its first size: a process that fills an empty cache, then one that reads it."""
    found: list[Second] = []
    for workload in COMPARED:
        size = workload.sizes[0]
        with tempfile.TemporaryDirectory() as folder:
            rows = [
                compare(
                    workload, size, ["adjoint"], EFFORT, core, lambda text: say(f"disk cache, {text}"), Path(folder)
                )
                for _ in range(2)
            ]
        first, second = rows[0][0], rows[1][0]
        note, trace = first.note or second.note, None
        if not note:
            try:
                trace = trace_alone(workload, size, "adjoint", EFFORT, core)
            except Silent as reason:
                note = str(reason)
        found.append(Second(workload.name, size, first.compile, second.compile, trace, note))
    return found
