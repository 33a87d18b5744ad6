"""Projections and proximal operators as CVXPY, pyproximal and proxop compute them, into tests/data/proximal.json.

    python tools/proximal_references.py        in an environment with cvxpy, clarabel, pyproximal and proxop

Points come from a fixed seed. Each case says what it is by name and numbers; the tests build ours from these.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).resolve().parents[1] / "tests" / "data" / "proximal.json"
POINTS = 3
N = 6


def solve(cp: Any, objective: Any, constraints: Any, unknown: Any) -> list[Any]:
    problem = cp.Problem(cp.Minimize(objective), constraints)
    for digits in (1e-13, 1e-11, 1e-9, 1e-8):  # as many as it gives
        accuracy = {"tol_gap_abs": digits, "tol_gap_rel": digits, "tol_feas": digits, "max_iter": 500}
        try:
            problem.solve(solver=cp.CLARABEL, **accuracy)
        except cp.error.SolverError:
            continue
        if problem.status == cp.OPTIMAL or (digits == 1e-8 and unknown.value is not None):
            return np.asarray(unknown.value).tolist()
    raise ArithmeticError(f"Clarabel found no solution: {problem}")


def projections(cp: Any, rng: np.random.Generator) -> dict[str, Any]:
    weights = np.array([0.5, 1.0, 1.5, 2.0, 0.7, 1.2])
    signed = np.array([1.0, -1.0, 0.5, 2.0, -0.3, 1.1])
    A = np.array([[1.0, 0.0, 2.0, -1.0, 0.5, 0.0], [0.0, 1.0, 1.0, 0.0, -1.0, 2.0]])
    M = np.array([[2.0, 0.3, 0, 0, 0.1, 0], [0.3, 1.0, 0.2, 0, 0, 0], [0, 0.2, 1.5, 0.4, 0, 0],
                  [0, 0, 0.4, 1.2, 0, 0.1], [0.1, 0, 0, 0, 0.8, 0], [0, 0, 0, 0.1, 0, 0.6]])  # fmt: skip
    rows, columns = np.array([1.0, 2.0, 0.5]), np.array([1.5, 0.5, 0.5, 1.0])
    vector = {
        "box": lambda p: [p >= -0.5, p <= 0.8],
        "nonnegative": lambda p: [p >= 0],
        "simplex": lambda p: [p >= 0, cp.sum(p) == 1.5],
        "capped_simplex": lambda p: [p >= 0, p <= 0.6, cp.sum(p) == 2],
        "box_section": lambda p: [p >= -1, p <= 1, signed @ p == 0.7],
        "order_simplex": lambda p: [cp.diff(p) <= 0],
        "order_simplex increasing": lambda p: [cp.diff(p) >= 0, p >= -0.4, p <= 0.9],
        "l1_ball": lambda p: [cp.norm1(p) <= 1.3],
        "weighted_l1_ball": lambda p: [weights @ cp.abs(p) <= 1.3],
        "l2_ball": lambda p: [cp.norm2(p) <= 1.3],
        "linf_ball": lambda p: [cp.norm_inf(p) <= 0.4],
        "weighted_l2_ball": lambda p: [cp.norm2(cp.multiply(np.sqrt(weights), p)) <= 0.9],
        "mahalanobis_ball": lambda p: [cp.quad_form(p, M) <= 0.81],
        "half_space": lambda p: [signed @ p <= -0.5],
        "hyperplane": lambda p: [signed @ p == 0.7],
        "affine": lambda p: [A @ p == np.array([1.0, -0.5])],
        "second_order_cone": lambda p: [cp.norm2(p[1:]) <= p[0]],
        "intersection": lambda p: [p >= 0, p <= 1, signed @ p == 0.7, cp.norm2(p) <= 1.1],
    }
    found: dict[str, Any] = {}
    for name, constraints in vector.items():
        points = 1.3 * rng.normal(size=(POINTS, N))
        answers = []
        for x in points:
            p = cp.Variable(N)
            answers.append(solve(cp, cp.sum_squares(p - x), constraints(p), p))
        found[name] = {"x": points.tolist(), "p": answers}
    for name, shape in (("psd", (4, 4)), ("nuclear_ball", (3, 4)), ("birkhoff", (4, 4)), ("transport", (3, 4))):
        points = 1.3 * rng.normal(size=(POINTS, *shape))
        answers = []
        for x in points:
            P = cp.Variable(shape, symmetric=name == "psd")
            rules = {
                "psd": lambda P: [P >> 0],
                "nuclear_ball": lambda P: [cp.normNuc(P) <= 1.5],
                "birkhoff": lambda P: [P >= 0, cp.sum(P, 0) == 1, cp.sum(P, 1) == 1],
                "transport": lambda P: [P >= 0, cp.sum(P, 1) == rows, cp.sum(P, 0) == columns],
            }[name](P)
            answers.append(solve(cp, cp.sum_squares(P - x), rules, P))
        found[name] = {"x": points.tolist(), "p": answers}
    points = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.5], [0.5, -2.0, 1.0], [2.0, 0.1, 0.3], [-0.3, 1.0, 0.2],
                       [0.1, 0.2, 3.0], [-2.0, -1.0, -3.0]])  # fmt: skip
    answers = []
    for x in points:
        p = cp.Variable(3)
        answers.append(solve(cp, cp.sum_squares(p - x), [cp.ExpCone(p[0], p[1], p[2])], p))
    found["exponential_cone"] = {"x": points.tolist(), "p": answers}
    return found


def operators(cp: Any, rng: np.random.Generator) -> dict[str, Any]:
    Q = np.array([[2.0, 0.5, 0, 0, 0, 0], [0.5, 1.0, 0, 0, 0, 0], [0, 0, 0.3, 0, 0, 0], [0, 0, 0, 1.0, 0.2, 0],
                  [0, 0, 0, 0.2, 0.5, 0], [0, 0, 0, 0, 0, 0.0]])  # fmt: skip
    owl = np.array([1.0, 0.8, 0.8, 0.4, 0.1, 0.0])
    vector = {
        "l1": lambda p: 0.4 * cp.norm1(p),
        "elastic_net": lambda p: 0.3 * cp.norm1(p) + 0.35 * cp.sum_squares(p),
        "l2": lambda p: 0.8 * cp.norm2(p),
        "group": lambda p: 0.7 * (cp.norm2(p[:2]) + cp.norm2(p[2:3]) + cp.norm2(p[3:])),
        "linf": lambda p: 0.9 * cp.norm_inf(p),
        "maximum": lambda p: 0.9 * cp.max(p),
        "owl": lambda p: sum((a - b) * cp.sum_largest(cp.abs(p), k + 1)
                             for k, (a, b) in enumerate(zip(owl, [*owl[1:], 0.0], strict=True)) if a > b),
        "squared_l2": lambda p: 0.15 * cp.sum_squares(p),
        "quadratic": lambda p: 0.5 * cp.quad_form(p, Q) + 0.1 * cp.sum(p),
        "huber": lambda p: 0.7 * cp.sum(cp.huber(p, 0.5)) / (2 * 0.5),
        "negentropy": lambda p: -0.7 * cp.sum(cp.entr(p)),
        "log_barrier": lambda p: -0.4 * cp.sum(cp.log(p)),
        "total_variation": lambda p: 0.5 * cp.norm1(cp.diff(p)),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, term in vector.items():
        n = 12 if name == "total_variation" else N
        points = 1.5 * rng.normal(size=(POINTS, n))
        answers = []
        for x in points:
            p = cp.Variable(n)
            answers.append(solve(cp, term(p) + cp.sum_squares(p - x) / (2 * 0.7), [], p))
        found[name] = {"x": points.tolist(), "p": answers}
    points = 1.5 * rng.normal(size=(POINTS, 3, 4))
    answers = []
    for x in points:
        P = cp.Variable((3, 4))
        answers.append(solve(cp, 0.8 * cp.normNuc(P) + cp.sum_squares(P - x) / (2 * 0.7), [], P))
    found["nuclear"] = {"x": points.tolist(), "p": answers}
    return found


def direct(rng: np.random.Generator) -> dict[str, Any]:
    """Formulas of pyproximal and proxop, to the last digits."""
    import proxop
    import pyproximal

    x = 1.5 * rng.normal(size=N)
    y = rng.uniform(0.1, 2.0, size=N)
    ours = {
        "pyproximal l1": (x, pyproximal.L1(sigma=0.4).prox(x, 0.7)),
        "proxop l0": (x, proxop.L0Norm().prox(x, 0.21)),
        "pyproximal l2": (x, pyproximal.Euclidean(sigma=0.8).prox(x, 0.7)),
        "pyproximal scad": (x, pyproximal.SCAD(0.5, a=3.7).prox(x, 0.7)),
        "pyproximal simplex": (x, pyproximal.Simplex(N, 1.5, engine="numpy", xtol=1e-14, maxiter=500).prox(x, 0.7)),
        "pyproximal l1_ball": (x, pyproximal.L1Ball(N, 1.3, xtol=1e-14, maxiter=500).prox(x, 0.7)),
        "pyproximal l2_ball": (x, pyproximal.EuclideanBall(0.0, 1.3).prox(x, 0.7)),
        "pyproximal total_variation": (x, pyproximal.TV((N,), sigma=0.5, niter=20000, rtol=1e-15).prox(x, 0.7)),
        "proxop l1": (x, proxop.L1Norm().prox(x, 0.28)),
        "proxop max": (x, proxop.Max().prox(x, 0.63)),
        "proxop linf": (x, proxop.Linf().prox(x, 0.63)),
        "proxop negentropy": (y, proxop.Entropy().prox(y, 0.49)),
        "proxop log_barrier": (y, proxop.Log().prox(y, 0.28)),
        "proxop huber": (x, proxop.Huber(0.5).prox(x, 0.49)),
    }
    return {name: {"x": np.asarray(a).tolist(), "p": np.asarray(b).tolist()} for name, (a, b) in ours.items()}


def main() -> None:
    import cvxpy as cp

    rng = np.random.default_rng(20)
    names = ("cvxpy", "clarabel", "pyproximal", "proxop")
    data = {"versions": {name: version(name) for name in names}, "projections": projections(cp, rng),
            "operators": operators(cp, rng), "direct": direct(rng)}  # fmt: skip
    TARGET.write_text(json.dumps(data) + "\n")


if __name__ == "__main__":
    main()
