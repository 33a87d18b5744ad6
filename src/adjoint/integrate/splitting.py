"""A right side in two parts, f = stiff + rest: methods for such take the stiff one implicitly, the rest explicitly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from adjoint import tree

__all__ = ["Split"]


@final
@dataclass(frozen=True)
class Split:
    """f = stiff + rest, for `integrate.solve`. KenCarp methods solve equations with the stiff part alone.

    To all other methods it is the sum.

    ```python
    from adjoint import integrate
    f = integrate.Split(lambda t, y: -1e4 * (y - np.cos(t)), lambda t, y: np.sin(y))
    path = integrate.solve(f, (0.0, 1.0), 0.0, method="kencarp4")
    path.status, float(np.round(path.last, 4))  # → ('finished', 0.5404)
    ```
    """

    stiff: Callable[..., Any]
    rest: Callable[..., Any]

    def __call__(self, t: Any, y: Any, *args: Any) -> Any:
        """The sum."""
        return tree.map(lambda a, b: a + b, self.stiff(t, y, *args), self.rest(t, y, *args))
