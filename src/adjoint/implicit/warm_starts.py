"""`WarmStarted`: the linear solves of one outer step start where those of the step before ended."""

from __future__ import annotations

from typing import Any, final

from adjoint.linear.operators.from_function import Derivative
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.operator import is_traced
from adjoint.linear.solvers.solution import Solution
from adjoint.linear.solvers.solving import solve
from adjoint.program.types import Value

__all__ = ["WarmStarted"]


@final
class WarmStarted:
    """A solver for `linear=` that remembers its last solutions, forwards and backwards, and starts there.

    It takes the name of an iterative method and options of `linear.solve`. `iterations` are those of the last solve.

    ```python
    linear = ad.implicit.WarmStarted("cg", tol=1e-10)
    f = lambda w, a: np.sum(np.arange(1.0, 9.0) * (w - a) ** 2)
    w = ad.implicit.argmin(f, lambda a: a * np.ones(8), linear=linear)
    for step in range(2):
        ad.grad(lambda a: np.sum(w(a)))(1.0 + 1e-12 * step)
    linear.iterations  # → 0
    ```
    """

    def __init__(self, method: str = "auto", **options: Any) -> None:
        self.method, self.options = method, options
        self.iterations = 0
        self._last: dict[bool, Value] = {}

    def __call__(self, A: LinearMap, b: Value) -> Solution:
        if is_traced(b) or is_traced(A):
            return solve(A, b, method=self.method, **self.options)
        forwards = isinstance(A, Derivative)
        start = self._last.get(forwards)
        start = start if start is not None and start.shape == (A.domain.size,) else None
        found = solve(A, b, method=self.method, x0=start, **self.options)
        if not is_traced(found.value):
            self._last[forwards], self.iterations = found.value, int(found.iterations)
        return found
