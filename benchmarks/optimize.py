"""Minimizers, roots and fits: adjoint beside SciPy, jaxopt, optimistix and scikit-learn where they are installed.

    python benchmarks/optimize.py [--rounds 7] [--only bfgs] [--memory]

On one core; contenders are interleaved, the least processor time counts, and answers are compared first. Compiled
functions are timed after their first call, whose time stands beside. A peer that is not installed is left out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from scipy import optimize as scipys  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import optimize  # noqa: E402

Run = Callable[[], Any]
Workload = tuple[dict[str, Run], Callable[[Any], Any], float]  # contenders, what is compared, how closely


def import_jax() -> Any:
    """JAX in double precision, or None."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    return jax


def rosenbrock(x: Any, xp: Any = np) -> Any:
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def bfgs(n: int) -> Workload:
    """BFGS, or L-BFGS from 100 unknowns on, on a chained Rosenbrock function, to a gradient of 1e-6."""
    name = "bfgs" if n < 100 else "lbfgs"
    x0 = np.full(n, -0.5) if n > 2 else np.array([-1.2, 1.0])
    solve = ad.jit(lambda x: optimize.minimize(rosenbrock, x, method=name, tol=1e-6, max_iterations=5000).value)
    gradient = ad.jit(ad.value_and_grad(rosenbrock))
    runs: dict[str, Run] = {
        "adjoint": lambda: solve(x0),
        "scipy": lambda: scipys.minimize(gradient, x0, jac=True, method="BFGS", options={"gtol": 1e-6}).x,
    }
    jax = import_jax()
    if jax is not None:
        import jaxopt

        f = lambda x: rosenbrock(x, jax.numpy)
        theirs = jaxopt.BFGS(f, tol=1e-6, maxiter=5000, linesearch="zoom")
        lbfgs = jaxopt.LBFGS(f, tol=1e-6, maxiter=5000, linesearch="zoom")
        run, short = jax.jit(lambda x: theirs.run(x).params), jax.jit(lambda x: lbfgs.run(x).params)
        runs["jaxopt BFGS"] = lambda: np.asarray(run(x0))
        runs["jaxopt L-BFGS"] = lambda: np.asarray(short(x0))
        import optimistix

        solver = optimistix.BFGS(rtol=1e-9, atol=1e-9)
        minimize = jax.jit(
            lambda x: optimistix.minimise(lambda x, _: f(x), solver, x, max_steps=5000, throw=False).value
        )
        runs["optimistix"] = lambda: np.asarray(minimize(x0))
    return runs, lambda x: rosenbrock(np.asarray(x)), 1e-6


def million() -> Workload:
    """L-BFGS with 10⁶ unknowns and 10 pairs."""
    x0 = 1.0 + 0.2 * np.random.default_rng(0).uniform(-1.0, 1.0, 10**6)
    solve = ad.jit(lambda x: optimize.minimize(rosenbrock, x, method="lbfgs", tol=1e-6).value)
    runs: dict[str, Run] = {"adjoint": lambda: solve(x0)}
    jax = import_jax()
    if jax is not None:
        import jaxopt

        lbfgs = jaxopt.LBFGS(lambda x: rosenbrock(x, jax.numpy), tol=1e-6, maxiter=5000, linesearch="zoom")
        run = jax.jit(lambda x: lbfgs.run(x).params)
        runs["jaxopt"] = lambda: np.asarray(run(x0))
    else:
        gradient = ad.jit(ad.value_and_grad(rosenbrock))
        runs["scipy"] = lambda: scipys.minimize(gradient, x0, jac=True, method="L-BFGS-B", options={"gtol": 1e-6}).x
    return runs, lambda x: rosenbrock(np.asarray(x)), 1e-6


def measure_memory() -> None:
    """What L-BFGS with 10⁶ unknowns and 10 pairs takes, in vectors of that size beside its start."""
    import resource

    solve = ad.jit(lambda x: optimize.minimize(rosenbrock, x, method="lbfgs", max_iterations=20).value)
    solve(np.full(1000, -0.5))  # what is loaded once
    x0 = np.full(10**6, -0.5)
    peak = lambda: 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before = peak()
    solve(x0)
    print(f"L-BFGS with 10⁶ unknowns: {(peak() - before) / x0.nbytes:.1f} vectors")


def eager() -> Workload:
    """The same with n = 10, not compiled: every iteration is Python."""
    x0 = np.full(10, -0.5)
    gradient = ad.value_and_grad(rosenbrock)
    return {
        "adjoint": lambda: optimize.minimize(rosenbrock, x0, method="bfgs", tol=1e-6).value,
        "scipy": lambda: scipys.minimize(gradient, x0, jac=True, method="BFGS", options={"gtol": 1e-6}).x,
    }, lambda x: rosenbrock(np.asarray(x)), 1e-6  # fmt: skip


def roots(method: str) -> Workload:
    """10⁴ scalar roots of x⁵ + x³ + x = a."""
    a = np.linspace(-3.0, 3.0, 10_000)
    f = lambda x, a: x**5 + x**3 + x - a
    given: dict[str, Any] = {"x0": 0.0} if method == "newton" else {"bracket": (-2.0, 2.0)}
    solve = ad.jit(lambda a: optimize.root_scalar(f, a, **given).value)
    runs: dict[str, Run] = {"adjoint": lambda: solve(a)}
    jax = import_jax()
    if jax is not None:
        import jaxopt
        import optimistix

        if method == "newton":
            newton = optimistix.Newton(rtol=1e-10, atol=1e-10)
            one = lambda a: optimistix.root_find(lambda x, a: f(x, a), newton, 0.0, a, max_steps=64, throw=False).value
            run = jax.jit(jax.vmap(one))
        else:
            find = jaxopt.Bisection(f, lower=-2.0, upper=2.0, tol=1e-12, maxiter=60, check_bracket=False)
            run = jax.jit(jax.vmap(lambda a: find.run(None, a).params))
        runs["jaxopt" if method != "newton" else "optimistix"] = lambda: np.asarray(run(a))
    else:
        runs["scipy"] = lambda: np.array([scipys.brentq(f, -2.0, 2.0, args=(v,)) for v in a])
    return runs, np.asarray, 1e-8


def peaks(p: Any, t: Any, xp: Any = np) -> Any:
    """Two Gaussian peaks on a decaying background: 8 parameters."""
    return (p[0] * xp.exp(-p[1] * t) + p[2] * xp.exp(-(((t - p[3]) / p[4]) ** 2))
            + p[5] * xp.exp(-(((t - p[6]) / p[7]) ** 2)))  # fmt: skip


TRUE = np.array([100.0, 0.01, 100.0, 65.0, 20.0, 70.0, 150.0, 20.0])
TIMES = np.arange(1.0, 251.0)
FITTED = peaks(TRUE, TIMES) + np.random.default_rng(0).normal(size=250)
NEAR = np.array([94.0, 0.0105, 99.0, 63.0, 25.0, 71.0, 160.0, 25.0])


def fit() -> Workload:
    """Levenberg-Marquardt, 8 parameters, 250 points, with exact Jacobians."""
    residual = lambda p: peaks(p, TIMES) - FITTED
    solve = ad.jit(lambda p: optimize.least_squares(residual, p, method="lm").value)
    J = ad.jit(ad.jacfwd(residual))
    compiled = ad.jit(residual)
    runs: dict[str, Run] = {
        "adjoint": lambda: solve(NEAR),
        "scipy": lambda: scipys.least_squares(compiled, NEAR, J, method="lm").x,
    }
    jax = import_jax()
    if jax is not None:
        import optimistix

        r = lambda p, _: peaks(p, TIMES, jax.numpy) - FITTED
        solver = optimistix.LevenbergMarquardt(rtol=1e-10, atol=1e-10)
        run = jax.jit(lambda p: optimistix.least_squares(r, solver, p, max_steps=500, throw=False).value)
        runs["optimistix"] = lambda: np.asarray(run(NEAR))
    return runs, np.asarray, 1e-4


def fits() -> Workload:
    """1000 such fits in one batch, beside a loop over SciPy's."""
    rng = np.random.default_rng(1)
    many = peaks(TRUE, TIMES) + rng.normal(size=(1000, 250))
    solve = ad.jit(ad.vmap(lambda y: optimize.least_squares(lambda p: peaks(p, TIMES) - y, NEAR, method="lm").value))
    value, J = ad.jit(lambda p, y: peaks(p, TIMES) - y), ad.jit(ad.jacfwd(lambda p, y: peaks(p, TIMES) - y))
    return {
        "adjoint": lambda: solve(many),
        "scipy loop": lambda: np.array([scipys.least_squares(value, NEAR, J, method="lm", args=(y,)).x for y in many]),
    }, np.asarray, 1e-3  # fmt: skip


def digits() -> Workload:
    """Multinomial logistic regression of the digits, 64 × 10 weights and 10 biases, to a gradient of 1e-5."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    data = load_digits()
    X, y = data.data / 16.0, data.target
    one_hot = np.eye(10)[y]

    def loss(p: Any, xp: Any = np) -> Any:
        z = X @ p["w"] + p["b"]
        top = xp.max(z, axis=1, keepdims=True)
        return (xp.sum(xp.log(xp.sum(xp.exp(z - top), axis=1)) + top[:, 0] - xp.sum(z * one_hot, axis=1))
                + 0.5 * xp.sum(p["w"] ** 2))  # fmt: skip

    scaled = lambda p: loss(p) / len(X)
    start = {"w": np.zeros((64, 10)), "b": np.zeros(10)}
    solve = ad.jit(lambda p: optimize.minimize(scaled, p, method="lbfgs", tol=1e-5).value)
    theirs = LogisticRegression(C=1.0, tol=1e-5, max_iter=1000)

    def fit_theirs() -> Any:
        found = theirs.fit(X, y)
        return {"w": found.coef_.T, "b": found.intercept_}

    runs: dict[str, Run] = {"adjoint": lambda: solve(start), "scikit-learn": fit_theirs}
    jax = import_jax()
    if jax is not None:
        import jaxopt

        solver = jaxopt.LBFGS(lambda p: loss(p, jax.numpy) / len(X), tol=1e-5 * 25, maxiter=1000)
        run = jax.jit(lambda p: solver.run(p).params)
        runs["jaxopt"] = lambda: {k: np.asarray(v) for k, v in run(start).items()}
    return runs, lambda p: loss(p), 1e-4


def bundle() -> Workload:
    """Bundle adjustment: 30 cameras of 6 numbers, 3000 points, 15 000 observations of two numbers."""
    rng = np.random.default_rng(0)
    cameras, points, seen = 30, 3000, 15_000
    i, j = rng.integers(0, cameras, seen), np.arange(seen) % points
    camera, point = 0.1 * rng.normal(size=(cameras, 6)), rng.normal(size=(points, 3))

    def project(p: Any) -> Any:
        c, q = p["camera"][i], p["point"][j]
        turned = q + np.stack([c[:, 1] * q[:, 2] - c[:, 2] * q[:, 1], c[:, 2] * q[:, 0] - c[:, 0] * q[:, 2],
                               c[:, 0] * q[:, 1] - c[:, 1] * q[:, 0]], axis=1) + c[:, 3:]  # fmt: skip
        return turned[:, :2] / (turned[:, 2:] + 8.0)

    data = project({"camera": camera, "point": point}) + 1e-3 * rng.normal(size=(seen, 2))
    residual = lambda p: {"seen": project(p) - data, "camera": 0.01 * p["camera"], "point": 1e-3 * p["point"]}
    start = {"camera": np.zeros((cameras, 6)), "point": point + 0.1 * rng.normal(size=(points, 3))}
    flat, back = ad.tree.ravel(start)
    vector = lambda v: np.concatenate([np.ravel(leaf) for leaf in ad.tree.leaves(residual(back(v)))])
    coloring = ad.sparse.jacobian(vector).coloring(flat)
    J, compiled = ad.sparse.jacobian(vector, coloring=coloring, jit=True), ad.jit(vector)
    cost = lambda p: 0.5 * np.sum(vector(ad.tree.ravel(p)[0]) ** 2)
    return {
        "adjoint": lambda: optimize.least_squares(residual, start, method="schur", tol=1e-8).value,
        "scipy trf + lsmr": lambda: back(
            scipys.least_squares(compiled, flat, J, method="trf", tr_solver="lsmr", x_scale="jac").x
        ),
    }, cost, 1e-3  # fmt: skip


WORKLOADS: dict[str, tuple[Callable[[], Workload], float]] = {  # and the ratio to reach
    "BFGS, Rosenbrock 2": (lambda: bfgs(2), 0.1),
    "BFGS, Rosenbrock 10": (lambda: bfgs(10), 0.1),
    "L-BFGS, Rosenbrock 100": (lambda: bfgs(100), 0.6),
    "L-BFGS, Rosenbrock 10⁶": (million, 1.0),
    "BFGS, Rosenbrock 10, eager": (eager, 1.0),
    "10⁴ roots, bracketed": (lambda: roots("bracket"), 0.5),
    "10⁴ roots, Newton": (lambda: roots("newton"), 1 / 3),
    "LM, 8 parameters, 250 points": (fit, 0.25),
    "1000 such fits": (fits, 0.1),
    "logistic regression, digits": (digits, 0.9),
    "bundle adjustment": (bundle, 0.2),
}


def least(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """The least processor time of each, in milliseconds; interleaved, each for about a hundredth of a second."""
    found: dict[str, float] = {}
    counts: dict[str, int] = {}
    for name, run in runs.items():
        began = time.process_time()
        run()
        took = time.process_time() - began
        counts[name], found[name] = max(1, int(0.01 / max(took, 1e-6))), 1e3 * took
    for _ in range(rounds):
        for name, run in runs.items():
            began = time.process_time()
            for _ in range(counts[name]):
                run()
            found[name] = min(found[name], 1e3 * (time.process_time() - began) / counts[name])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="workloads whose names contain this")
    parser.add_argument("--memory", action="store_true", help="of L-BFGS with 10⁶ unknowns, alone")
    given = parser.parse_args()
    if given.memory:
        measure_memory()
        return
    table = Table(
        "workload", "adjoint, ms", "first, s", "best peer", "its ms", "its first, s", "ratio", "target", "others"
    )
    for name, (make, target) in WORKLOADS.items():
        if given.only not in name:
            continue
        runs, compare, closely = make()
        firsts: dict[str, float] = {}
        answers: dict[str, Any] = {}
        for contender, run in runs.items():
            began = time.perf_counter()
            answers[contender] = compare(run())
            firsts[contender] = time.perf_counter() - began
        mine = answers["adjoint"]
        for contender, answer in answers.items():
            if not np.allclose(answer, mine, rtol=closely, atol=closely):
                print(f"{name}: {contender} found another answer, {np.max(np.abs(answer - mine)):.3g} away")
        times = least(runs, given.rounds)
        peers = {k: v for k, v in times.items() if k != "adjoint"}
        best = min(peers, key=lambda k: peers[k])
        others = ", ".join(f"{k} {v:.3g}" for k, v in peers.items() if k != best)
        ours = times["adjoint"]
        table.add_row(name, f"{ours:.3g}", f"{firsts['adjoint']:.2f}", best, f"{peers[best]:.3g}",
                      f"{firsts[best]:.2f}", f"{ours / peers[best]:.2f}", f"{target:.2f}", others)  # fmt: skip
    Console(width=170).print(table)


if __name__ == "__main__":
    main()
