"""`adjoint doctor`: what this machine has, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.api.gradients import grad
from adjoint.base.config import config
from adjoint.command.failures import Exit
from adjoint.command.printing import console, table
from adjoint.compile import cache, machine
from adjoint.jit import jit

HELP = """
Tell which versions of Python and of packages are in use, what the processor can do, where compiled code is kept, and
how many threads there are; then take a gradient, eagerly and compiled. What is wrong comes with what to do about it.
"""

# Needed, and the lowest version; not needed, and what each is for.
_NEEDED = {"numpy": "2.0", "scipy": "", "rich": "", "llvmlite": ""}
_OPTIONAL = {
    "matplotlib": "pictures (pip install 'adjoint[plot]')",
    "scikit-learn": "the data of the tour (pip install 'adjoint[learn]')",
    "pandas": "gradients of data frames",
    "attrs": "attrs classes as containers",
    "mpmath": "testing.mp_difference",
}
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_FEATURES = ("avx512f", "avx2", "fma", "avx", "sse4.2", "neon", "sve")

WELL, REMARK, WRONG = "", "note", "wrong"


@dataclass(frozen=True)
class Finding:
    """One fact, and what to do when it is bad."""

    part: str
    name: str
    value: str
    state: str = WELL
    remedy: str = ""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `adjoint doctor`."""
    parser.add_argument("--json", action="store_true", help="the findings as JSON")


def run(options: argparse.Namespace) -> Exit:
    """Look at everything, and tell."""
    report = list(findings())
    wrong = [finding for finding in report if finding.state == WRONG]
    if options.json:
        print(json.dumps([asdict(finding) for finding in report]))
    else:
        tell(report)
    return Exit.NO if wrong else Exit.WELL


def findings() -> Iterator[Finding]:
    """All findings, part by part."""
    yield from versions()
    yield from processor()
    yield from threads()
    yield from find_code_cache()
    yield from settings()
    yield from gradients()


def find_version(name: str) -> str | None:
    """The version of a package; None when it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def numbers(text: str) -> tuple[int, ...]:
    """`2.1.3` as (2, 1, 3), as far as there are numbers."""
    digits: list[int] = []
    for part in text.split("."):
        if not part.isdigit():
            break
        digits.append(int(part))
    return tuple(digits)


def versions() -> Iterator[Finding]:
    """Python and packages."""
    yield Finding("versions", "adjoint", f"{sys.modules['adjoint'].__version__}, {Path(__file__).parents[1]}")
    python = f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"
    yield Finding("versions", "Python", python)
    for name, lowest in _NEEDED.items():
        version = find_version(name)
        if version is None:
            yield Finding("versions", name, "not installed", WRONG, f"pip install {name}")
        elif lowest and numbers(version) < numbers(lowest):
            yield Finding("versions", name, version, WRONG, f"pip install '{name}>={lowest}'")
        else:
            yield Finding("versions", name, version)
    for name, purpose in _OPTIONAL.items():
        yield Finding("versions", name, find_version(name) or f"not installed; for {purpose}")


def processor() -> Iterator[Finding]:
    """What the machine is, and what compiled code makes of it."""
    yield Finding("processor", "system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    yield Finding("processor", "model", model_name())
    try:
        cpu, listed = machine.host()
    except Exception as error:
        remedy = "Functions run without a compiler; install llvmlite for this machine: pip install -U llvmlite"
        yield Finding("processor", "LLVM", f"does not start: {error}", WRONG, remedy)
        return
    features = {feature[1:] for feature in listed.split(",") if feature.startswith("+")}
    llvm = ".".join(map(str, machine.llvm().llvm_version_info))
    yield Finding("processor", "LLVM", f"{llvm}, code for {cpu}, vectors of {machine.vector_bits()} bits")
    yield Finding("processor", "features", ", ".join(name for name in _FEATURES if name in features) or "none known")
    if platform.machine() in ("x86_64", "AMD64") and "avx2" not in features:
        yield Finding("processor", "vectors", "128 bits only", REMARK, "This processor has no AVX2; code is slower.")


def model_name() -> str:
    """The processor's own name."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def threads() -> Iterator[Finding]:
    """Cores, and how many of them NumPy's linear algebra takes."""
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    yield Finding("threads", "cores", f"{cores}" if usable == cores else f"{usable} of {cores} for this process")
    settings = [f"{name}={os.environ[name]}" for name in _THREADS if name in os.environ]
    yield Finding("threads", "variables", ", ".join(settings) or "none set: NumPy takes all cores for large matrices")
    yield Finding("threads", "BLAS", blas_name())
    for name in _THREADS:
        text = os.environ.get(name, "1")
        if not text.strip().isdigit():
            yield Finding("threads", name, text, WRONG, f"{name} should be an integer; unset it, or set it to 1")


def blas_name() -> str:
    """Which library multiplies NumPy's matrices."""
    try:
        built: Any = np.show_config(mode="dicts")
        linked = built["Build Dependencies"]["blas"]
        return f"{linked.get('name', 'unknown')} {linked.get('version', '')}".strip()
    except (KeyError, TypeError, AttributeError):
        return "unknown"


def find_code_cache() -> Iterator[Finding]:
    """The folder of compiled code."""
    usage = cache.info()
    if usage.directory is None:
        if not config.cache:
            yield Finding("cache", "folder", "switched off", REMARK, "config.cache = True, or ADJOINT_CACHE=1")
            return
        remedy = "Name a folder of your own: ADJOINT_CACHE_DIR=~/adjoint-cache; without one all is compiled anew"
        yield Finding("cache", "folder", usage.problem or "cannot be used", WRONG, remedy)
        return
    allowed = config.cache_size
    yield Finding("cache", "folder", usage.directory)
    yield Finding("cache", "size", f"{usage.files:,} entries, {usage.bytes / 1e6:,.0f} MB of {allowed:,} MB")
    free = shutil.disk_usage(usage.directory).free
    if free < 100e6:
        remedy = "Make room on the disk, or name another folder: ADJOINT_CACHE_DIR"
        yield Finding("cache", "disk", f"{free / 1e6:.0f} MB left", WRONG, remedy)
    if not os.access(usage.directory, os.W_OK):
        yield Finding("cache", "folder", "cannot be written to", WRONG, "Change its permissions, or ADJOINT_CACHE_DIR")


def settings() -> Iterator[Finding]:
    """What differs from the defaults."""
    changed = [
        f"{name} = {getattr(config, name)!r}"
        for name, setting in config.settings().items()
        if getattr(config, name) != setting.default
    ]
    yield Finding("settings", "changed", ", ".join(changed) or "none: all as they come")
    known = {setting.variable for setting in config.settings().values()}
    for name in sorted(os.environ):
        if name.startswith("ADJOINT_") and name not in known:
            yield Finding("settings", name, "unknown", REMARK, f"The settings are {', '.join(sorted(known))}")


def gradients() -> Iterator[Finding]:
    """The proof: derivatives of sum(sin(x)²), which is sin(2x), both ways."""
    x = np.linspace(0.0, 3.0, 7)
    for name, transform in (("eager", grad), ("compiled", lambda f: jit(grad(f)))):
        try:
            gradient = transform(lambda x: np.sum(np.sin(x) ** 2))(x)
            error = float(np.max(np.abs(gradient - np.sin(2 * x))))
        except Exception as problem:
            yield Finding(
                "gradients", name, f"{type(problem).__name__}: {problem}", WRONG, "Reinstall adjoint and llvmlite"
            )
            continue
        state, remedy = (WELL, "") if error < 1e-12 else (WRONG, "Reinstall NumPy, llvmlite and adjoint")
        yield Finding("gradients", name, f"right to {error:.0e}", state, remedy)


def tell(report: list[Finding]) -> None:
    """One table for each part, then the problems with their remedies."""
    out = console()
    rows = table("", "", "", "", left=3)
    rows.show_header = False
    part = ""
    marks = {WELL: "", REMARK: "[yellow]![/] ", WRONG: "[red]✗[/] "}
    from rich.markup import escape

    for finding in report:
        if part and finding.part != part:
            rows.add_section()
        heading = finding.part if finding.part != part else ""
        rows.add_row(f"[bold]{heading}[/]", escape(finding.name), marks[finding.state] + escape(finding.value))
        part = finding.part
    out.print(rows)
    for finding in report:
        if finding.remedy:
            out.print(f"{marks[finding.state]}{escape(f'{finding.name}: {finding.value}. {finding.remedy}.')}")
    wrong = sum(finding.state == WRONG for finding in report)
    out.print("[green]All is well.[/]" if not wrong else f"[red]{wrong} {'problem' if wrong == 1 else 'problems'}.[/]")
