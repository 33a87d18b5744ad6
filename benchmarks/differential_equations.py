"""Differential equations and integrals beside diffrax, torchdiffeq, SciPy, CVODE, CasADi, numba and quadax.

    PYTHONPATH=src:. python benchmarks/differential_equations.py [words of workloads] [--write]

At equal achieved error, on one core, in processor time (`equation_timing.py`). Peers that are not installed are left
out. `--write` replaces the rows of what was measured in docs/benchmarks/differential_equations.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from benchmarks.equation_timing import Row, Solver, compare, relative_error, write  # sets threads: before NumPy

import numpy as np  # isort: skip

import adjoint as ad
from adjoint import integrate
from benchmarks import equation_networks as networks
from benchmarks import equation_peers as peers
from benchmarks.equation_problems import POLLUTION, STARS, brusselator_start, right_side

Makers = dict[str, Callable[[], Solver]]
# title: equation, span, start, parameters, error, our method, peers (library → methods)
EXPLICIT: dict[str, tuple[Any, ...]] = {
    "Lotka-Volterra": ("prey", (0.0, 10.0), [10.0, 1.0], [1.5, 1.0, 3.0, 1.0], 1e-8, "dopri5",
                       {"SciPy": ["DOP853"], "diffrax": ["Dopri5"], "torchdiffeq": ["dopri5"], "numba": ["by hand"]}),
    "Kepler": ("kepler", (0.0, 20.0), [0.4, 0.0, 0.0, 2.0], [1.0], 1e-9, "verner9",
               {"SciPy": ["DOP853", "LSODA"], "diffrax": ["Dopri8"]}),
    "pleiades": ("pleiades", (0.0, 3.0), STARS, [1.0, 2, 3, 4, 5, 6, 7], 1e-7, "dop853",
                 {"SciPy": ["DOP853", "LSODA"], "diffrax": ["Dopri8"]}),
}  # fmt: skip
# title: equation, span, start, parameters, unit of atol
STIFF: dict[str, tuple[Any, ...]] = {
    "ROBER": ("robertson", (0.0, 1e5), [1.0, 0, 0], [0.04, 3e7, 1e4], np.array([1e-3, 1e-7, 1e-3])),
    "HIRES": ("hires", (0.0, 321.8122), [1.0, 0, 0, 0, 0, 0, 0, 0.0057], [1.0], np.full(8, 1e-3)),
    "POLLU": ("pollution", (0.0, 60.0),
              [0, 0.2, 0, 0.04, 0, 0, 0.1, 0.3, 0.01, 0, 0, 0, 0, 0, 0, 0, 0.007, 0, 0, 0], POLLUTION,
              np.full(20, 1e-3)),
}  # fmt: skip
STIFF_METHODS = ["rodas5p", "radau", "bdf"]
MANY = 1000


def our_solver(name: str, method: str, span: Any, y0: Any, w: Any, size: Any = 1.0) -> Solver:
    """Value at the end and gradient, compiled, the tolerance an argument."""
    f = right_side(name, np)

    def solve(w: Any, tol: Any) -> Any:
        return integrate.solve(f, span, y0, args=(w,), method=method, rtol=tol, atol=tol * size).last

    value, gradient = ad.jit(solve), ad.jit(ad.grad(lambda w, tol: peers.weigh(solve(w, tol), np)))
    return Solver(lambda tol: value(w, tol), lambda tol: gradient(w, tol))


def reference(name: str, span: Any, y0: Any, w: Any) -> Any:
    """The end, by SciPy at its smallest tolerance."""
    from scipy.integrate import solve_ivp

    return solve_ivp(right_side(name, np), span, y0, method="DOP853", rtol=2.5e-14, atol=1e-15, args=(w,)).y[:, -1]


def explicit(title: str) -> list[Row]:
    """One equation that is not stiff."""
    name, span, start, rates, wanted, method, others = EXPLICIT[title]
    y0, w = np.array(start, float), np.array(rates, float)
    makers: Makers = {f"adjoint, {method}": lambda: our_solver(name, method, span, y0, w)}
    by = {"SciPy": peers.scipy_solver, "diffrax": peers.diffrax_solver, "torchdiffeq": peers.torch_solver}
    for library, methods in others.items():
        if find_spec(library.lower()) is None:
            continue
        for theirs in methods:
            make = partial(by[library], name, theirs) if library in by else peers.numba_solver
            makers[f"{library}, {theirs}"] = partial(make, span, y0, w)
    return compare(title, makers, reference(name, span, y0, w), wanted)


def batched() -> list[Row]:
    """A thousand Lotka-Volterra equations under vmap, beside as many single solves."""
    name, span, start, rates, wanted, method, _ = EXPLICIT["Lotka-Volterra"]
    f, y0 = right_side(name, np), np.array(start)
    w = np.array(rates) * (1 + 0.1 * np.random.default_rng(0).uniform(-1, 1, size=(MANY, 4)))
    one = lambda w, tol: integrate.solve(f, span, y0, args=(w,), method=method, rtol=tol, atol=tol).last
    slope = ad.grad(lambda w, tol: peers.weigh(one(w, tol), np))

    def together() -> Solver:
        value, gradient = (ad.jit(ad.vmap(g, in_axes=(0, None))) for g in (one, slope))
        return Solver(lambda tol: value(w, tol), lambda tol: gradient(w, tol))

    def singly() -> Solver:
        value, gradient = ad.jit(one), ad.jit(slope)
        return Solver(
            lambda tol: np.stack([value(v, tol) for v in w]), lambda tol: np.stack([gradient(v, tol) for v in w])
        )

    makers: Makers = {"adjoint, vmap": together, "one by one": singly}
    if find_spec("diffrax"):
        makers["diffrax, vmap"] = lambda: peers.diffrax_solver(name, "Dopri5", span, y0, w, many=True)
    if find_spec("torchode"):
        makers["torchode"] = lambda: peers.torchode_solver(span, y0, w)
    few = np.stack([reference(name, span, y0, v) for v in w[:10]])
    error = lambda found, exact: float(np.max(np.abs(found[:10] - exact)) / np.max(np.abs(exact)))
    return compare(f"{MANY} Lotka-Volterra", makers, few, wanted, error, 5)


def stiff(title: str, wanted: float) -> list[Row]:
    """One stiff equation."""
    name, span, start, rates, size = STIFF[title]
    y0, w = np.array(start, float), np.array(rates, float)
    f = right_side(name, np)
    exact = np.asarray(integrate.solve(f, span, y0, args=(w,), method="radau", rtol=1e-12, atol=1e-12 * size).last)
    given = span, y0, w, size
    makers: Makers = {f"adjoint, {m}": partial(our_solver, name, m, *given) for m in STIFF_METHODS}
    makers |= {f"SciPy, {m}": partial(peers.scipy_solver, name, m, *given) for m in ("BDF", "LSODA", "Radau")}
    if find_spec("sksundae"):
        makers["CVODE, scikit-sundae"] = partial(peers.cvode_solver, name, *given)
    if find_spec("casadi"):
        makers["CVODES, CasADi"] = partial(peers.casadi_solver, name, *given)
    if find_spec("diffrax"):
        makers["diffrax, Kvaerno5"] = partial(peers.diffrax_solver, name, "Kvaerno5", *given)
    return compare(f"{title}, {wanted:.0e}", makers, exact, wanted, relative_error)


def sparse(size: int) -> list[Row]:
    """The Brusselator on a torus of size² points: 2 size² equations."""
    name, span, y0, p = "brusselator", (0.0, 1.0), brusselator_start(size), np.array([3.4, 1.0, 0.1])
    f = right_side(name, np)
    pattern = ad.sparse.pattern(lambda y: f(0.0, y, p))(y0).astype(float)
    exact = np.asarray(integrate.solve(f, span, y0, args=(p,), method="bdf", rtol=1e-9, atol=1e-9).last)
    makers: Makers = {"adjoint, bdf": partial(our_solver, name, "bdf", span, y0, p)}
    makers["SciPy, BDF with pattern"] = partial(peers.scipy_solver, name, "BDF", span, y0, p, 1.0, pattern)
    if find_spec("sksundae"):
        makers["CVODE, scikit-sundae"] = partial(peers.cvode_solver, name, span, y0, p, 1.0, pattern)
    if find_spec("casadi"):
        makers["CVODES, CasADi"] = partial(peers.casadi_solver, name, span, y0, p)
    return compare(f"Brusselator, {2 * size**2}", makers, exact, 1e-5, relative_error, 3)


def wave(p: Any, tol: Any) -> Any:
    """∫ exp(-a x) sin(b x) over (0, ∞), which is b / (a² + b²)."""
    return integrate.quad(lambda x: np.exp(-p[0] * x) * np.sin(p[1] * x), 0.0, np.inf, rtol=tol, atol=tol).value


def scipy_wave(p: Any, tol: float) -> Any:
    from scipy.integrate import quad

    one = lambda a, b: quad(lambda x: np.exp(-a * x) * np.sin(b * x), 0.0, np.inf, epsabs=tol, epsrel=tol, limit=200)[0]
    return one(*p) if p.ndim == 1 else np.array([one(*row) for row in p])


def quadratures(p: Any) -> list[Row]:
    """One integral, or many under vmap."""
    single, exact = p.ndim == 1, p[..., 1] / (p[..., 0] ** 2 + p[..., 1] ** 2)

    def ours() -> Solver:
        lift = (lambda g: g) if single else ad.vmap

        @cache
        def made(tol: float) -> tuple[Any, Any]:  # the tolerance of an integral is a plain number
            one = lambda p: wave(p, tol)
            return ad.jit(lift(one)), ad.jit(lift(ad.grad(one)))

        return Solver(lambda tol: made(tol)[0](p), lambda tol: made(tol)[1](p))

    makers: Makers = {"adjoint": ours, "SciPy": lambda: Solver(lambda tol: scipy_wave(p, tol))}
    if find_spec("quadax"):
        makers["quadax"] = lambda: peers.quadax_solver(p)
    return compare("quad" if single else "10⁴ quad, vmap", makers, exact, 1e-10, rounds=5)


def workloads() -> dict[str, Callable[[], list[Row]]]:
    """What is measured, by name."""
    runs: dict[str, Callable[[], list[Row]]] = {name: partial(explicit, name) for name in EXPLICIT}
    runs |= {f"{name} {wanted:.0e}": partial(stiff, name, wanted) for name in STIFF for wanted in (1e-6, 1e-9)}
    many = np.random.default_rng(0).uniform([0.5, 1.0], [2.0, 5.0], (10_000, 2))
    return runs | {
        "Brusselator 32": partial(sparse, 32), "Brusselator 64": partial(sparse, 64), "batch": batched,
        "neural": networks.neural_equation, "stochastic": networks.stochastic_equation,
        "quad": lambda: quadratures(np.array([1.0, 3.0])), "many quad": lambda: quadratures(many),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", help="workloads whose name begins so; all without it")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for name, run in workloads().items():
        if not asked.words or any(name.startswith(word) for word in asked.words):
            rows = run()
            if asked.write:
                write(rows)


if __name__ == "__main__":
    main()
