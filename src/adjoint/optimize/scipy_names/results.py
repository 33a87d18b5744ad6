"""SciPy's results, with a solution that has derivatives in them."""

from __future__ import annotations

from typing import Any

from scipy.optimize import OptimizeResult, RootResults

from adjoint.base.errors import UnsupportedError

__all__ = ["DifferentiableResult", "Information", "Withheld", "root_results"]


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


class Withheld:
    """What stands in the place of a number of SciPy's that would have lost its derivative: any use of it is refused."""

    def __init__(self, title: str, name: str) -> None:
        self._words = (
            f"{title}: {name} is known without a derivative only, where values are traced. What is wanted of it can be "
            "computed from x, or by a call with plain numbers."
        )

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(self._words)

    __array__ = __array_ufunc__ = __array_function__ = __float__ = __int__ = __bool__ = __len__ = __iter__ = _refuse
    __getitem__ = __neg__ = __abs__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._refuse()


class Information(dict[str, Any]):
    """A dictionary of SciPy's, without those entries that would have lost their derivative."""

    def __missing__(self, name: str) -> Any:
        raise KeyError(
            f"{name!r} is not told where values are traced: there is {', '.join(self)}. What else is wanted can be "
            "computed from x, or by a call with plain numbers."
        )


def root_results(root: Any, reports: Any, raw: Any, method: str) -> Any:
    """`RootResults` with a root that has derivatives; reports: iterations, function calls, converged."""
    made = RootResults(root=root, iterations=0, function_calls=0, flag=0, method=method)
    made.iterations, made.function_calls, made.converged = reports
    made.flag = "" if raw is None else raw.flag
    return made
