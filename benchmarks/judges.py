"""Test problems that others collected: how many each method solves, beside SciPy's best with the same derivatives.

    python benchmarks/judges.py [--set more_wild] [--evaluations 1000]

The problems are those of Moré and Wild (54) and of Cartis and Roberts (60) in the package optimagic. A problem is
solved where the sum of squares is within 1e-6 of the known optimum, relative to that at the start (or to one). Methods
for sums of squares see the residuals and their exact Jacobian, minimizers the sum and its exact gradient.
"""

from __future__ import annotations

import argparse
import functools
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ADJOINT_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402
from scipy import optimize as scipys  # noqa: E402

import adjoint as ad  # noqa: E402
from adjoint import optimize  # noqa: E402

CLOSE = 1e-6
LARGEST = 120  # unknowns


def read_problems(name: str) -> dict[str, tuple[Callable[[Any], Any], Any, float]]:
    """name -> (residuals, start, least sum of squares)."""
    from optimagic import get_benchmark_problems
    from optimagic.benchmarking import cartis_roberts, more_wild

    tables = {"more_wild": more_wild.MORE_WILD_PROBLEMS, "cartis_roberts": cartis_roberts.CARTIS_ROBERTS_PROBLEMS}
    found = {}
    for title, problem in get_benchmark_problems(name).items():
        start = np.asarray(problem["inputs"]["params"], float)
        if problem["solution"]["value"] is None:
            print(f"{title}: no optimum is known, left out")
            continue
        if len(start) > LARGEST:
            print(f"{title}: {len(start)} unknowns, left out")
            continue
        f = convert(tables[name][title]["fun"])
        try:  # they are written for Python's numbers in places: those that cannot be traced are left out, and told
            np.asarray(ad.jacfwd(lambda x, f=f: np.ravel(f(x)))(start))
        except Exception as problem_found:
            print(f"{title}: not traced ({type(problem_found).__name__})")
            continue
        compiled = ad.jit(lambda x, f=f: np.ravel(f(x)))
        found[title] = (compiled, start, float(problem["solution"]["value"]))
    return found


def convert(function: Any) -> Any:
    """Code of a library is converted where it is asked for."""
    if isinstance(function, functools.partial):
        return functools.partial(convert(function.func), *function.args, **function.keywords)
    inner = getattr(function, "__wrapped__", function)
    return ad.convert(inner)


def solvers(limit: int) -> dict[str, Callable[[Any, Any], Any]]:
    """name -> a function of (residuals, start) that gives x."""

    def own(method: Any) -> Callable[[Any, Any], Any]:
        return lambda r, x: (
            optimize.minimize(
                lambda x: np.sum(r(x) ** 2), x, method=method, tol=1e-9, max_iterations=limit, max_evaluations=limit
            ).value
        )

    def theirs(method: str, **more: Any) -> Callable[[Any, Any], Any]:
        def run(r: Any, x: Any) -> Any:
            f = ad.value_and_grad(lambda x: np.sum(r(x) ** 2))
            return scipys.minimize(f, x, jac=True, method=method, options={"maxiter": limit, **more}).x

        return run

    def squares(method: str) -> Callable[[Any, Any], Any]:
        tight = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15, "max_nfev": limit}
        return lambda r, x: scipys.least_squares(r, x, ad.jacfwd(r), method=method, **tight).x

    return {
        "least squares: lm": lambda r, x: optimize.least_squares(r, x, max_evaluations=limit).value,
        "least squares: geodesic": lambda r, x: (
            optimize.least_squares(r, x, method=optimize.LevenbergMarquardt(geodesic=True), max_evaluations=limit).value
        ),
        "  scipy lm": squares("lm"),
        "  scipy trf": squares("trf"),
        "  scipy dogbox": squares("dogbox"),
        "minimize: bfgs": own("bfgs"),
        "minimize: lbfgs": own("lbfgs"),
        "minimize: newton": own("newton"),
        "minimize: trust-exact": own("trust-exact"),
        "minimize: cubic": own("cubic"),
        "  scipy BFGS": theirs("BFGS", gtol=1e-9),
        "  scipy L-BFGS-B": theirs("L-BFGS-B", gtol=1e-9, ftol=1e-15, maxfun=limit),
        "  scipy TNC": theirs("TNC", gtol=1e-9, ftol=1e-15),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--set", default="more_wild", choices=["more_wild", "cartis_roberts"])
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    problems = read_problems(given.set)
    table = Table("method", f"solved of {len(problems)}", "seconds", "not solved")
    for name, solve in solvers(given.evaluations).items():
        if given.only not in name:
            continue
        missed: list[str] = []
        began = time.process_time()
        for title, (residual, start, best) in problems.items():
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    value = float(np.sum(residual(solve(residual, start)) ** 2))
                except Exception as problem:
                    value = np.inf
                    title = f"{title} ({type(problem).__name__})"
            first = float(np.sum(residual(start) ** 2))
            if not value - best <= CLOSE * max(1.0, first - best):
                missed.append(title)
        solved = len(problems) - len(missed)
        print(f"{name}: {solved} of {len(problems)}", flush=True)
        table.add_row(name, str(solved), f"{time.process_time() - began:.1f}", ", ".join(missed))
    Console(width=200).print(table)


if __name__ == "__main__":
    main()
