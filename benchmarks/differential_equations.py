"""Differential equations and integrals beside diffrax, torchdiffeq, SciPy, numba and quadax, at equal achieved error.

    PYTHONPATH=src:. python benchmarks/differential_equations.py [words of workloads] [--write]

Every solver is run at a ladder of tolerances; its time is that of the loosest one whose error at the end is at most the
error asked for. A gradient is taken at the tolerance of its value. Times are minima of rounds, on one core. Peers that
are not installed are left out, and so are workloads that were not asked for. `--write` writes
docs/benchmarks/differential_equations.md.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate
from benchmarks import equation_peers as peers

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "differential_equations.md"
TOLERANCES = [10.0**-k for k in range(3, 14)]
Row = tuple[str, str, float | None, float | None]  # workload, who, seconds of a value, of a gradient


def prey(t: Any, y: Any, w: Any) -> Any:
    return np.stack([w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]])


def robertson(t: Any, y: Any, k: Any) -> Any:
    a, b, c = y[0], y[1], y[2]
    return np.stack([-k[0] * a + k[2] * b * c, k[0] * a - k[2] * b * c - k[1] * b**2, k[1] * b**2])


def kepler(t: Any, y: Any, w: Any) -> Any:
    r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
    return np.stack([y[2], y[3], -w[0] * y[0] / r3, -w[0] * y[1] / r3])


def pleiades(t: Any, y: Any, mass: Any) -> Any:
    """Seven stars in a plane (Hairer, Nørsett and Wanner, II.10): y has x, y and their velocities."""
    x, z = y[:7], y[7:14]
    dx, dz = x[None, :] - x[:, None], z[None, :] - z[:, None]
    r3 = (dx**2 + dz**2 + np.eye(7)) ** 1.5  # a star does not pull itself: its distance only must not be 0
    return np.concatenate([y[14:], (dx / r3) @ mass, (dz / r3) @ mass])


STARS = [3.0, 3, -1, -3, 2, -2, 2, 3, -3, 2, 0, 0, -4, 4, 0, 0, 0, 0, 0, 1.75, -1.5, 0, 0, 0, -1.25, 1, 0, 0]
# name: f, span, start, parameters, error, our method, SciPy's, diffrax's, torchdiffeq's
WORKLOADS: dict[str, tuple[Any, ...]] = {
    "Lotka-Volterra": (prey, (0.0, 10.0), [10.0, 1.0], [1.5, 1.0, 3.0, 1.0], 1e-8, "dopri5",
                       ["RK45", "DOP853"], "Dopri5", "dopri5"),
    "Kepler": (kepler, (0.0, 20.0), [0.4, 0.0, 0.0, 2.0], [1.0], 1e-9, "verner9", ["DOP853", "LSODA"], "Dopri8", None),
    "pleiades": (pleiades, (0.0, 3.0), STARS, [1.0, 2, 3, 4, 5, 6, 7], 1e-7, "dop853", ["DOP853", "LSODA"], "Dopri8",
                 None),
}  # fmt: skip
MANY = 1000


def best_time(run: Callable[[], Any], rounds: int = 5) -> float:
    """The shortest of some rounds, each of about a hundredth of a second."""
    run()
    count, begin = 1, time.perf_counter()
    run()
    once = time.perf_counter() - begin
    count = max(1, int(0.01 / max(once, 1e-7)))
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        found.append((time.perf_counter() - begin) / count)
    return min(found)


def error_of(found: Any, expected: Any) -> float:
    """The largest error, beside the largest number."""
    return float(np.max(np.abs(np.asarray(found) - expected)) / np.max(np.abs(expected)))


def reach(make: Callable[[float], Callable[[], Any]], expected: Any, wanted: float) -> tuple[Any, float] | None:
    """A call and its tolerance: the loosest one that reaches the error."""
    for tol in TOLERANCES:
        run = make(tol)
        if error_of(run(), expected) <= wanted:
            return run, tol
    return None


def interleave(title: str, runs: dict[str, tuple[Any, Any]], rounds: int = 5) -> list[Row]:
    """The least time of each value and gradient, of interleaved rounds."""
    least: dict[tuple[str, int], float] = {}
    for _ in range(rounds):
        for name, pair in runs.items():
            for k, run in enumerate(pair):
                if run is not None and least.get((name, k), 0.0) < 2.0:  # slow ones run once
                    least[name, k] = min(best_time(run, 1), least.get((name, k), np.inf))
    rows: list[Row] = [(title, name, least.get((name, 0)), least.get((name, 1))) for name in runs]
    for row in rows:
        show(row, rows[0])
    return rows


def reference(f: Any, span: Any, y0: Any, w: Any) -> Any:
    """The end, by SciPy at its smallest tolerance."""
    from scipy.integrate import solve_ivp

    return solve_ivp(f, span, y0, method="DOP853", rtol=2.5e-14, atol=1e-15, args=(w,)).y[:, -1]


def solved(title: str, workload: tuple[Any, ...]) -> list[Row]:
    """One equation: value and gradient of the sum of its end in its parameters."""
    from scipy.integrate import solve_ivp

    f, span, start, rates, wanted, method, scipy_names, diffrax_name, torch_name = workload
    y0, w = np.array(start, float), np.array(rates, float)
    exact = reference(f, span, y0, w)

    def solve(w: Any, tol: Any) -> Any:
        return integrate.solve(f, span, y0, args=(w,), method=method, rtol=tol, atol=tol).last

    value, gradient = ad.jit(solve), ad.jit(ad.grad(lambda w, tol: np.sum(solve(w, tol))))
    ours = reach(lambda tol: lambda: value(w, tol), exact, wanted)
    assert ours is not None, f"{title}: no tolerance reaches {wanted:g}"
    runs = {f"adjoint, {method}": (ours[0], lambda: gradient(w, ours[1]))}

    def scipy_at(name: str, tol: float) -> Callable[[], Any]:
        return lambda: solve_ivp(f, span, y0, method=name, rtol=tol, atol=tol, args=(w,)).y[:, -1]

    for name in scipy_names:
        theirs = reach(lambda tol, name=name: scipy_at(name, tol), exact, wanted)
        runs[f"SciPy, {name}"] = (theirs and theirs[0], None)
    makers: list[tuple[str, Any]] = []
    if find_spec("diffrax"):
        makers.append((f"diffrax, {diffrax_name}", lambda: peers.diffrax_solver(title, diffrax_name, span, y0)))
    if find_spec("torchdiffeq") and torch_name:
        makers.append((f"torchdiffeq, {torch_name}", lambda: peers.torch_solver(title, torch_name, span, y0)))
    if find_spec("numba") and title == "Lotka-Volterra":
        makers.append(("numba by hand, dopri5", lambda: peers.numba_solver(span, y0)))
    for name, make in makers:
        value_of, gradient_of = make()
        theirs = reach(lambda tol, v=value_of: lambda: v(w, tol), exact, wanted)
        slope = None
        if theirs and gradient_of:
            slope = lambda g=gradient_of, tol=theirs[1]: g(w, tol)
            np.testing.assert_allclose(slope(), gradient(w, ours[1]), rtol=1e-3)
        runs[name] = (theirs and theirs[0], slope)
    return interleave(title, runs)


def batched() -> list[Row]:
    """A thousand Lotka-Volterra equations under vmap, beside as many single solves."""
    f, span, start, rates, wanted, method, _, diffrax_name, _ = WORKLOADS["Lotka-Volterra"]
    y0 = np.array(start)
    w = np.array(rates) * (1 + 0.1 * np.random.default_rng(0).uniform(-1, 1, size=(MANY, 4)))
    few = np.stack([reference(f, span, y0, one) for one in w[:10]])
    one = lambda w, tol: integrate.solve(f, span, y0, args=(w,), method=method, rtol=tol, atol=tol).last
    slope = ad.grad(lambda w, tol: np.sum(one(w, tol)))
    value, gradient = (ad.jit(ad.vmap(g, in_axes=(0, None))) for g in (one, slope))
    ours = reach(lambda tol: lambda: value(w, tol)[:10], few, wanted)
    assert ours is not None
    tol, single, single_slope = ours[1], ad.jit(one), ad.jit(slope)
    runs: dict[str, tuple[Any, Any]] = {
        "adjoint, vmap": (ours[0], lambda: gradient(w, tol)),
        "adjoint, one by one": (lambda: [single(v, tol) for v in w], lambda: [single_slope(v, tol) for v in w]),
    }
    if find_spec("diffrax"):
        value_of, gradient_of = peers.diffrax_solver("Lotka-Volterra", diffrax_name, span, y0, many=True)
        theirs = reach(lambda tol: lambda: value_of(w, tol)[:10], few, wanted)
        if theirs:
            runs["diffrax, vmap"] = (theirs[0], lambda: gradient_of(w, theirs[1]))
    return interleave(f"{MANY} Lotka-Volterra", runs, 3)


def wave(p: Any, tol: float) -> Any:
    """∫ exp(-a x) sin(b x) over (0, ∞), which is b / (a² + b²)."""
    return integrate.quad(lambda x: np.exp(-p[0] * x) * np.sin(p[1] * x), 0.0, np.inf, rtol=tol, atol=tol).value


def scipy_wave(p: Any, tol: float) -> float:
    from scipy.integrate import quad

    a, b = p
    return quad(lambda x: np.exp(-a * x) * np.sin(b * x), 0.0, np.inf, epsabs=tol, epsrel=tol, limit=200)[0]


def quadratures(title: str, p: Any) -> list[Row]:
    """One integral, or many under vmap; SciPy takes one at a time."""
    single, exact = p.ndim == 1, p[..., 1] / (p[..., 0] ** 2 + p[..., 1] ** 2)

    def compiled(tol: float, derivative: bool) -> Callable[[], Any]:
        g = lambda p: wave(p, tol)
        g = ad.grad(g) if derivative else g
        g = ad.jit(g if single else ad.vmap(g))
        return lambda: g(p)

    ours = reach(lambda tol: compiled(tol, False), exact, 1e-10)
    assert ours is not None
    runs: dict[str, tuple[Any, Any]] = {"adjoint": (ours[0], compiled(ours[1], True))}
    if single:
        theirs = reach(lambda tol: lambda: scipy_wave(p, tol), exact, 1e-10)
        runs["SciPy"] = (theirs and theirs[0], None)
    if find_spec("quadax"):
        value_of, gradient_of = peers.quadax_solver(many=not single)
        found = reach(lambda tol: lambda: value_of(p, tol), exact, 1e-10)
        if found:
            runs["quadax"] = (found[0], lambda: gradient_of(p, found[1]))
    return interleave(title, runs, 3)


def shown_time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{seconds * 1e6:.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def cells(row: Row, ours: Row) -> list[str]:
    ratios = [f"{theirs / own:.3g}" if theirs and own else "-" for theirs, own in zip(row[2:], ours[2:], strict=True)]
    return [row[0], row[1], shown_time(row[2]), ratios[0], shown_time(row[3]), ratios[1]]


def show(row: Row, ours: Row) -> None:
    print("  ".join(f"{cell:>22}" for cell in cells(row, ours)), flush=True)


def write(rows: list[Row]) -> None:
    """The page: text above the table stays as it is."""
    kept = PAGE.read_text(encoding="utf-8").split("\n| workload | |")[0]
    lines = ["| workload | | value | ratio | with gradient | ratio |", "|---|---|---|---|---|---|"]
    ours = {row[0]: row for row in reversed(rows)}
    lines += [f"| {' | '.join(cells(row, ours[row[0]]))} |" for row in rows]
    PAGE.write_text(kept + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="workloads whose name begins so; all without it")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    runs: dict[str, Callable[[], list[Row]]] = {
        name: (lambda name=name, workload=workload: solved(name, workload)) for name, workload in WORKLOADS.items()
    }
    many = np.random.default_rng(0).uniform([0.5, 1.0], [2.0, 5.0], (10_000, 2))
    runs |= {"batch": batched, "quad": lambda: quadratures("quad", np.array([1.0, 3.0])),
             "many quad": lambda: quadratures("10⁴ quad, vmap", many)}  # fmt: skip
    rows: list[Row] = []
    for name, run in runs.items():
        if not asked.words or any(name.startswith(word) for word in asked.words):
            rows += run()
    if asked.write:
        write(rows)


if __name__ == "__main__":
    main()
