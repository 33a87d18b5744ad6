"""Stiff equations beside SciPy's, CVODE and diffrax: time for a value and a gradient, at equal achieved error.

    PYTHONPATH=src:. python benchmarks/stiff_equations.py

Every solver is run at a ladder of tolerances; its time is that of the loosest one whose error at the end is at most the
error asked for. Peers are called as their users call them, with f in NumPy (diffrax: in JAX).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate
from benchmarks.differential_equations import best_time, robertson
from tests.integrate.stiff_problems import POLLUTION, PROBLEMS, hires, pollu

TOLERANCES = [10.0**-k for k in range(3, 13)]
METHODS = ["rodas5p", "radau", "bdf", "kvaerno5"]


def brusselator(size: int) -> tuple[Any, Any, Any]:
    """Two species on a torus of size² points: 2 size² equations."""
    x = np.arange(size) / size
    X, Y = np.meshgrid(x, x, indexing="ij")
    start = np.stack([22 * Y * (1 - Y) ** 1.5, 27 * X * (1 - X) ** 1.5])

    def f(t: Any, y: Any, p: Any) -> Any:
        u, v = np.reshape(y, (2, size, size))
        spread = lambda w: (
            (np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1) - 4 * w) * (p[2] * size**2)
        )
        return np.reshape(
            np.stack([p[1] + u * u * v - (p[0] + 1) * u + spread(u), p[0] * u - u * u * v + spread(v)]), (-1,)
        )

    return f, start.ravel(), np.array([3.4, 1.0, 0.1])


def error_of(found: Any, expected: Any) -> float:
    """The largest relative error, of components that are not tiny."""
    scale = np.abs(expected) + 1e-6 * np.max(np.abs(expected))
    return float(np.max(np.abs(np.asarray(found) - expected) / scale))


def ladder(make: Callable[[float], Callable[[], Any]], expected: Any, wanted: float, rounds: int = 5) -> Any:
    """(time, tolerance) at the loosest tolerance that reaches the error; None if none does."""
    for tol in TOLERANCES:
        run = make(tol)
        try:
            found = run()
        except Exception:
            continue
        if error_of(found, expected) <= wanted:
            return best_time(run, rounds), tol
    return None


def cvode(f: Any, span: Any, y0: Any, p: Any, size: Any, pattern: Any) -> Callable[[float], Callable[[], Any]]:
    """CVODE by scikit-sundae: dense, or with a sparse pattern."""
    from scipy.sparse import csc_matrix
    from sksundae.cvode import CVODE

    def right(t: float, y: Any, yp: Any) -> None:
        yp[:] = f(t, y, p)

    extra: dict[str, Any] = {}
    if pattern is not None:
        given = csc_matrix(pattern)
        given.indices, given.indptr = given.indices.astype(np.int32), given.indptr.astype(np.int32)
        extra = {"linsolver": "sparse", "sparsity": given}

    def make(tol: float) -> Callable[[], Any]:
        solver = CVODE(right, method="BDF", rtol=tol, atol=tol * size, max_num_steps=100_000, **extra)
        return lambda: solver.solve(np.array(span), y0).y[-1]

    return make


def scipy_by(name: str, f: Any, span: Any, y0: Any, p: Any, size: Any, pattern: Any) -> Any:
    """SciPy's, with the pattern of the Jacobian where it takes one."""
    from scipy.integrate import solve_ivp

    extra = {} if pattern is None else {"jac_sparsity": pattern}
    return lambda tol: (
        lambda: solve_ivp(f, span, y0, method=name, rtol=tol, atol=tol * size, args=(p,), **extra).y[:, -1]
    )


def measure(title: str, f: Any, span: Any, y0: Any, p: Any, wanted: float, size: Any, sparse: bool = False) -> None:
    """One workload."""
    y0, p = np.asarray(y0, float), np.asarray(p, float)
    methods = ["bdf"] if sparse else METHODS
    solve = lambda p, tol, method: (
        integrate.solve(f, span, y0, args=(p,), method=method, rtol=tol, atol=tol * size).last
    )
    exact = np.asarray(solve(p, 1e-12 if not sparse else 1e-10, "radau" if not sparse else "bdf"))
    found = {}
    for method in methods:
        value = ad.jit(lambda p, tol, method=method: solve(p, tol, method))
        found[method] = ladder(lambda tol, value=value: lambda: value(p, tol), exact, wanted)
    reached = {m: v for m, v in found.items() if v is not None}
    best = min(reached, key=lambda m: reached[m][0])
    seconds, tol = reached[best]
    gradient = ad.jit(ad.grad(lambda p, tol: np.sum(solve(p, tol, best))))
    both = best_time(lambda: gradient(p, tol))
    shown = ", ".join(f"{m} {v[0] * 1e3:.3f} ms" for m, v in reached.items())
    print(f"{title} to {wanted:g}: {shown}; gradient by {best} {both * 1e3:.3f} ms", flush=True)
    pattern = None
    if sparse:
        pattern = ad.sparse.pattern(lambda y, p: f(0.0, y, p))(y0, p).astype(float)
    peers = {
        f"SciPy's {n}": scipy_by(n, f, span, y0, p, size, pattern)
        for n in (["BDF"] if sparse else ["BDF", "LSODA", "Radau"])
    }
    peers["CVODE"] = cvode(f, span, y0, p, size, pattern)
    for name, make in peers.items():
        theirs = ladder(make, exact, wanted, 2)
        if theirs is not None:
            print(f"    {name}: {theirs[0] * 1e3:.2f} ms, {theirs[0] / seconds:.1f} times as long", flush=True)


def main() -> None:
    for wanted in (1e-6, 1e-9):
        measure(
            "ROBER", robertson, (0.0, 1e5), [1.0, 0, 0], [0.04, 3e7, 1e4], wanted, np.array([1.0, 1e-4, 1.0]) * 1e-3
        )
        measure(
            "HIRES", lambda t, y, p: p[0] * hires(t, y), (0.0, 321.8122), PROBLEMS["HIRES"].start, [1.0], wanted, 1e-3
        )
        measure("POLLU", pollu, (0.0, 60.0), PROBLEMS["POLLU"].start, POLLUTION, wanted, 1e-3)
    for size in (32, 64):
        f, start, p = brusselator(size)
        measure(f"Brusselator, {2 * size**2} equations", f, (0.0, 1.0), start, p, 1e-5, 1.0, sparse=True)


if __name__ == "__main__":
    main()
