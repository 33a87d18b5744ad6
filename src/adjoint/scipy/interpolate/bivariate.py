"""Splines of two variables on a rectangular grid, as FITPACK has them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.interpolate as _theirs

from adjoint.base.errors import UnsupportedError
from adjoint.program.types import Value
from adjoint.scipy.arguments import is_traced
from adjoint.scipy.interpolate.basis import combined
from adjoint.scipy.interpolate.bspline import differentiated, integrated
from adjoint.scipy.interpolate.grid import solved_along, tensor_product
from adjoint.scipy.interpolate.piecewise import STATIC, real


@dataclass(init=False, eq=False)
class RectBivariateSpline:
    """The spline of degrees kx and ky through values z on a grid; constant along rays outside of it.

    ```python
    x, y = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 2.0, 6)
    s = ad.scipy.interpolate.RectBivariateSpline(x, y, x[:, None] ** 2 * y)
    s.ev(0.5, 1.0)  # → 0.25
    ad.grad(s.ev, argnums=(0, 1))(0.5, 1.0)  # → (1.0, 0.25)
    s.integral(0.0, 1.0, 0.0, 2.0)  # → 0.666666…
    ```
    """

    tx: Any
    ty: Any
    c: Any
    residual: Any
    degrees: tuple[int, int] = field(metadata=STATIC)

    def __init__(
        self,
        x: Any,
        y: Any,
        z: Any,
        bbox: Any = (None, None, None, None),
        kx: int = 3,
        ky: int = 3,
        s: Any = 0,
        maxit: int = 20,
    ) -> None:
        self.degrees = (int(kx), int(ky))
        if not is_traced(x, y, z, bbox, s):
            options = {} if maxit == 20 else {"maxit": maxit}  # an older SciPy does not have it
            spline = _theirs.RectBivariateSpline(x, y, z, list(bbox), kx, ky, s, **options)
            self.tx, self.ty, c = spline.tck
            self.c = np.reshape(c, (len(self.tx) - kx - 1, len(self.ty) - ky - 1))
            self.residual = spline.get_residual()
            return
        if is_traced(s) or s != 0:
            raise UnsupportedError(
                "RectBivariateSpline: a smoothing spline (s > 0) chooses its knots by plain values. Use s=0."
            )
        if any(end is not None for end in bbox):
            raise UnsupportedError("RectBivariateSpline: bbox= has no derivative rule here. Leave it out.")
        x, y, z = np.reshape(real("x", x), (-1,)), np.reshape(real("y", y), (-1,)), real("z", z)
        for axis, (name, points) in enumerate((("x", x), ("y", y))):
            if z.ndim != 2 or points.shape[0] != z.shape[axis]:
                raise ValueError(f"{name} dimension of z must have same number of elements as {name}")
        (self.tx, self.ty), self.c = solved_along((x, y), z, list(self.degrees))
        self.residual = None

    @property
    def tck(self) -> tuple[Value, Value, Value]:
        """Knots along both axes, and coefficients."""
        return self.tx, self.ty, np.reshape(self.c, (-1,))

    def get_knots(self) -> tuple[Value, Value]:
        """Knots along both axes."""
        return self.tx, self.ty

    def get_coeffs(self) -> Value:
        """The coefficients of the products of basis functions."""
        return self.tck[2]

    def get_residual(self) -> Any:
        """Σ (z - s)²; 0 for the spline through all values."""
        return 0.0 if self.residual is None else self.residual

    def _within(self, points: Any, axis: int) -> Value:
        """Points moved to the edge of the grid where they stand outside."""
        t, k = (self.tx, self.ty)[axis], self.degrees[axis]
        return np.clip(real("points", points), t[k], t[t.shape[0] - k - 1])

    def __call__(self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True) -> Value:
        """The values, or derivatives, at all pairs of x and y, or at each point (grid=False)."""
        x, y = self._within(x, 0), self._within(y, 1)
        if grid:
            rows = combined(self.tx, self.c, self.degrees[0], np.reshape(x, (-1,)), dx)
            return combined(self.ty, rows.T, self.degrees[1], np.reshape(y, (-1,)), dy).T
        x, y = np.broadcast_arrays(x, y)
        columns = [np.reshape(x, (-1,)), np.reshape(y, (-1,))]
        values = tensor_product(((self.tx, self.ty), self.c), list(self.degrees), columns, (dx, dy))
        return np.reshape(values, x.shape)

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Value:
        """The values, or derivatives, at points."""
        return self(xi, yi, dx, dy, grid=False)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Value:
        """∫ over a rectangle of the spline, which is 0 outside of the grid."""
        c = self.c
        for axis, t, ends in ((0, self.tx, (xa, xb)), (1, self.ty, (ya, yb))):
            sums, points = integrated(t, c, self.degrees[axis]), [self._within(end, axis) for end in ends]
            values = combined(*sums, np.stack(np.broadcast_arrays(*points)))
            c = values[1] - values[0]
        return c

    def partial_derivative(self, dx: int, dy: int) -> Any:
        """The spline of a derivative."""
        if dx < 0 or dy < 0:
            raise ValueError("order of derivative must be positive or zero")
        if dx >= self.degrees[0] or dy >= self.degrees[1]:
            raise ValueError("order of derivative must be less than degree of spline")
        along_x, along_y = (self.tx, self.c, self.degrees[0]), self.ty
        for _ in range(dx):
            along_x = differentiated(*along_x)
        other = (along_y, along_x[1].T, self.degrees[1])
        for _ in range(dy):
            other = differentiated(*other)
        made = object.__new__(RectBivariateSpline)
        made.tx, made.ty, made.c, made.residual = along_x[0], other[0], other[1].T, None
        made.degrees = (along_x[2], other[2])
        return made
