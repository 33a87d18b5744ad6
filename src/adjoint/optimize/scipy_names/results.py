"""SciPy's results, with a solution that has derivatives in them."""

from __future__ import annotations

from typing import Any

from scipy.optimize import OptimizeResult, RootResults

__all__ = ["DifferentiableResult", "root_results"]


class DifferentiableResult(OptimizeResult):
    """An `OptimizeResult` whose solution and value have derivatives. Fields that would have lost theirs are not there.

    ```python
    from adjoint.scipy import optimize
    best = lambda a: optimize.minimize(lambda x: np.sum((x - a) ** 2), np.zeros(2)).x[0]
    ad.grad(best)(3.0)  # → 1.0
    ```
    """

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"the result of a solver of adjoint.scipy.optimize has no {name!r} where values are traced: it has "
            f"{', '.join(self)}. What else is wanted can be computed from x, or from a call with plain numbers."
        )


def root_results(root: Any, reports: Any, raw: Any, method: str) -> Any:
    """`RootResults` with a root that has derivatives; reports: iterations, function calls, converged."""
    made = RootResults(root=root, iterations=0, function_calls=0, flag=0, method=method)
    made.iterations, made.function_calls, made.converged = reports
    made.flag = "" if raw is None else raw.flag
    return made
