"""Differential equations beside SciPy's: time for a value and a gradient, at equal achieved error.

    PYTHONPATH=src:. python benchmarks/differential_equations.py

Every solver is run at a ladder of tolerances; its time is that of the loosest one whose error at the end is at most the
error asked for. Times are minima of interleaved rounds, on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import integrate

TOLERANCES = [10.0**-k for k in range(3, 13)]


def prey(t: Any, y: Any, w: Any) -> Any:
    return np.stack([w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]])


def robertson(t: Any, y: Any, k: Any) -> Any:
    a, b, c = y[0], y[1], y[2]
    return np.stack([-k[0] * a + k[2] * b * c, k[0] * a - k[2] * b * c - k[1] * b**2, k[1] * b**2])


WORKLOADS: dict[str, Any] = {
    "Lotka-Volterra, 1e-8": (prey, (0.0, 10.0), [10.0, 1.0], [1.5, 1.0, 3.0, 1.0], 1e-8, "dopri5", ["RK45", "DOP853"]),
    "Robertson, 1e-6": (
        robertson,
        (0.0, 1e5),
        [1.0, 0, 0],
        [0.04, 3e7, 1e4],
        1e-6,
        "rodas5p",
        ["BDF", "LSODA", "Radau"],
    ),
}


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


def ladder(
    make: Callable[[float], Callable[[], Any]], expected: Any, wanted: float
) -> tuple[float, float, float] | None:
    """(time, error, tolerance) at the loosest tolerance that reaches the error."""
    for tol in TOLERANCES:
        run = make(tol)
        error = float(np.max(np.abs(np.asarray(run()) - expected) / (np.abs(expected) + 1e-12)))
        if error <= wanted:
            return best_time(run), error, tol
    return None


def measure(name: str, f: Any, span: Any, start: Any, rates: Any, wanted: float, method: str, peers: list[str]) -> None:
    """One workload: our times, and how much longer each peer takes for the same error."""
    from scipy.integrate import solve_ivp

    y0, w = np.array(start, float), np.array(rates, float)
    small = 1e-6 if f is robertson else 1.0

    def solve(w: Any, tol: Any) -> Any:
        return integrate.solve(f, span, y0, args=(w,), method=method, rtol=tol, atol=tol * small).last

    exact = solve(w, 1e-13)
    value, gradient = ad.jit(solve), ad.jit(ad.grad(lambda w, tol: np.sum(solve(w, tol))))
    ours = ladder(lambda tol: lambda: value(w, tol), exact, wanted)
    assert ours is not None
    seconds, _, tol = ours
    print(f"{name}: {method} {seconds * 1e6:.1f} µs, with gradient {best_time(lambda: gradient(w, tol)) * 1e6:.1f} µs")

    def peer_at(peer: str, tol: float) -> Callable[[], Any]:
        return lambda: solve_ivp(f, span, y0, method=peer, rtol=tol, atol=tol * small, args=(w,)).y[:, -1]

    for peer in peers:
        theirs = ladder(lambda tol, peer=peer: peer_at(peer, tol), exact, wanted)
        if theirs is not None:
            print(f"    SciPy's {peer}: {theirs[0] * 1e3:.2f} ms, {theirs[0] / seconds:.0f} times as long")


def main() -> None:
    for name, workload in WORKLOADS.items():
        measure(name, *workload)


if __name__ == "__main__":
    main()
