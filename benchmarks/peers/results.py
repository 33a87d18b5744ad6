"""All figures of a run, on the machine they were taken on; kept beside the page as docs/benchmarks/peers.json."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.peers.rounds import ROOT, Measured

STORE = ROOT / "docs" / "benchmarks" / "peers.json"
LIBRARIES = ("numpy", "scipy", "jax", "torch", "autograd", "casadi", "numba", "llvmlite")
WORST_ERROR = {"f64": 1e-10, "f32": 1e-4}  # beyond this an answer is wrong


def processor() -> str:
    """Its name, and the widest vectors that it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = facts.get("flags", "").split()
    vectors = next((name for flag, name in (("avx512f", "AVX-512"), ("avx2", "AVX2")) if flag in flags), "")
    return ", ".join(part for part in (facts.get("model name", platform.machine()), vectors) if part)


def versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for library in LIBRARIES:
        if importlib.util.find_spec(library) is not None:
            found[library] = importlib.metadata.version(library)
    return found


@dataclass
class Second:
    """Compiling in a first process, which fills the disk cache, and in a second one, which reads it; CPU seconds."""

    workload: str
    size: str
    first: float | None
    second: float | None
    trace: float | None
    note: str = ""  # why there is no figure

    @property
    def beyond_tracing(self) -> float | None:
        return None if self.second is None or self.trace is None else max(0.0, self.second - self.trace)


@dataclass
class Results:
    """What was measured. `growth` is by the name of the series."""

    processor: str
    versions: dict[str, str]
    rows: list[Measured] = field(default_factory=list)
    growth: dict[str, list[Measured]] = field(default_factory=dict)
    second: list[Second] = field(default_factory=list)

    @classmethod
    def here(cls) -> Results:
        """Nothing measured yet, on this machine."""
        return cls(processor(), versions())

    @classmethod
    def stored(cls, path: Path = STORE) -> Results:
        """Those of the last full run; none when there was none."""
        if not path.exists():
            return cls.here()
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = {one.name for one in fields(Measured)}  # a file of an older version may tell more
        rows = lambda given: [Measured(**{k: v for k, v in row.items() if k in known}) for row in given]
        growth = {name: rows(given) for name, given in found["growth"].items()}
        second = [Second(**entry) for entry in found["second"]]
        return cls(found["processor"], found["versions"], rows(found["rows"]), growth, second)

    def store(self, path: Path = STORE) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def replace(self, rows: Iterable[Measured]) -> None:
        """New rows in place of older ones of the same contenders."""
        rows, here = list(rows), processor()
        for row in rows:
            row.processor = "" if here == self.processor else here
        renewed = {(row.workload, row.size, row.contender) for row in rows}
        kept = [row for row in self.rows if (row.workload, row.size, row.contender) not in renewed]
        self.rows = kept + rows

    def of(self, workload: str, size: str) -> list[Measured]:
        return [row for row in self.rows if (row.workload, row.size) == (workload, size)]

    def pairs(self) -> list[tuple[str, str]]:
        """Workloads and sizes that were measured, in order."""
        return list(dict.fromkeys((row.workload, row.size) for row in self.rows))

    def wrong(self) -> list[Measured]:
        """Rows whose answer differs from the reference by more than rounding."""
        grown = [row for rows in self.growth.values() for row in rows]
        return [row for row in [*self.rows, *grown] if row.error is not None and not row.error <= worst_error(row)]

    def elsewhere(self) -> dict[str, list[str]]:
        """Workloads that were measured on other machines, by the processor."""
        found: dict[str, list[str]] = {}
        for row in self.rows:
            if row.processor and row.workload not in found.setdefault(row.processor, []):
                found[row.processor].append(row.workload)
        return found

    def missing(self) -> Sequence[str]:
        return [name for name in LIBRARIES if name not in self.versions]


def worst_error(row: Measured) -> float:
    return WORST_ERROR["f32" if row.size.startswith("f32") else "f64"]
