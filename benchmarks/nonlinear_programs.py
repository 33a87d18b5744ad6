"""Nonlinear programs beside CasADi with IPOPT: problem 71 of Hock and Schittkowski, and one of ten thousand unknowns.

    PYTHONPATH=src:. python benchmarks/nonlinear_programs.py [--unknowns 10000]

Problem 71 is compiled here, and built before in CasADi. In the large one van der Pol's oscillator is steered to rest by
a bounded force, with a bound on its speed (trapezoidal collocation: two states and a force at each time). "Posed and
solved" is all from Python functions to the solution: patterns, coloring, derivatives here, symbols and derivatives in
CasADi. "Solved again" is the same program for other initial states, built before: in a compiled function here. One
thread, rounds taken alternately, the least processor time; the solver for the large one is Uno's interior point method.
The ratio is ours / theirs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import casadi  # noqa: E402
import numpy as np  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import optimize  # noqa: E402

LENGTH, SLOWEST, FORCE, ROUNDS = 10.0, -0.4, (-0.75, 1.0), 5
QUIET = {"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes"}


def hs71() -> None:
    """A product, a sum of squares, four unknowns between 1 and 5."""
    start = np.array([1.0, 5.0, 5.0, 1.0])
    f = lambda x: x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]
    rules = [optimize.inequality(lambda x: 25.0 - np.prod(x)), optimize.equality(lambda x: np.sum(x**2) - 40.0)]

    def compile_method(method: str) -> Any:
        return ad.jit(lambda x: optimize.minimize(f, x, subject_to=rules, bounds=(1.0, 5.0), method=method))

    x = casadi.SX.sym("x", 4)
    g = casadi.vertcat(x[0] * x[1] * x[2] * x[3], casadi.sumsqr(x))
    solver = casadi.nlpsol("s", "ipopt", {"x": x, "f": f([x[i] for i in range(4)]), "g": g}, QUIET)
    theirs = lambda: solver(x0=start, lbx=1.0, ubx=5.0, lbg=[25.0, 40.0], ubg=[np.inf, 40.0])
    ours = {name: compile_method(name) for name in ("interior point", "sqp")}
    values = [float(run(start).raise_if_failed().fun) for run in ours.values()]
    print(f"HS71; values {values}, {float(theirs()['f'])}")
    least = dict.fromkeys([*ours, "CasADi"], np.inf)
    for _ in range(40):
        for name, run in (*[(name, lambda run=run: run(start)) for name, run in ours.items()], ("CasADi", theirs)):
            begin = time.process_time()
            for _ in range(10):
                run()
            least[name] = min(least[name], (time.process_time() - begin) / 10)
    for name, seconds in least.items():
        print(f"{name:18} {1e6 * seconds:8.1f} µs   ratio to CasADi {seconds / least['CasADi']:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--unknowns", type=int, default=10_000)
    times = parser.parse_args().unknowns // 3
    hs71()
    h, n = LENGTH / (times - 1), 3 * times
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    lower[times : 2 * times] = SLOWEST
    lower[2 * times :], upper[2 * times :] = FORCE

    def split(z: Any) -> Any:
        return z[:times], z[times : 2 * times], z[2 * times :]

    def cost(z: Any, state: Any) -> Any:
        p, v, u = split(z)
        return h * (np.sum(p**2) + np.sum(v**2) + np.sum(u**2))

    def motion(z: Any, state: Any) -> Any:
        p, v, u = split(z)
        a = (1 - p**2) * v - p + u
        ends = np.stack([p[0] - state[0], v[0] - state[1]])
        return np.concatenate(
            [p[1:] - p[:-1] - h / 2 * (v[1:] + v[:-1]), v[1:] - v[:-1] - h / 2 * (a[1:] + a[:-1]), ends]
        )

    def ours(state: Any) -> Any:
        rule = optimize.equality(motion)
        return optimize.minimize(cost, np.zeros(n), state, subject_to=rule, bounds=(lower, upper), method="uno")

    def build() -> Any:
        z, state = casadi.SX.sym("z", n), casadi.SX.sym("s", 2)
        p, v, u = split(z)
        a = (1 - p**2) * v - p + u
        motions = [p[1:] - p[:-1] - h / 2 * (v[1:] + v[:-1]), v[1:] - v[:-1] - h / 2 * (a[1:] + a[:-1])]
        rules = casadi.vertcat(*motions, p[0] - state[0], v[0] - state[1])
        objective = h * (casadi.sumsqr(p) + casadi.sumsqr(v) + casadi.sumsqr(u))
        return casadi.nlpsol("s", "ipopt", {"x": z, "p": state, "f": objective, "g": rules}, QUIET)

    def theirs(solver: Any, state: Any) -> Any:
        return solver(x0=np.zeros(n), p=state, lbx=lower, ubx=upper, lbg=0, ubg=0)

    again, built = ad.jit(ours), build()
    states = (np.array([1.0, 0.5]) + 0.01 * k for k in itertools.count())
    first = next(states)
    found, other = again(first).raise_if_failed(), theirs(built, first)
    print(f"{n} unknowns; values {float(found.fun):.9g}, {float(other['f']):.9g}; iterations {int(found.iterations)}, "
          f"{built.stats()['iter_count']}")  # fmt: skip
    runs = {
        "posed and solved": (ours, lambda state: theirs(build(), state)),
        "solved again": (again, lambda state: theirs(built, state)),
    }
    for name, pair in runs.items():
        least = [np.inf, np.inf]
        for _ in range(ROUNDS):
            state = next(states)
            for i, run in enumerate(pair):
                start = time.process_time()
                run(state)
                least[i] = min(least[i], time.process_time() - start)
        print(f"{name:18} adjoint {1e3 * least[0]:7.0f} ms   CasADi {1e3 * least[1]:7.0f} ms   ratio "
              f"{least[0] / least[1]:.2f}")  # fmt: skip


if __name__ == "__main__":
    main()
