"""A least-squares fit: the answer, and the errors of its parameters.

C = s² (JᵀJ)⁻¹,    s² = ‖r‖² / (m - n),    error of g(x) = √(∇gᵀ C ∇g),    ∂x*/∂r = -H⁻¹ Jᵀ
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from adjoint import tree
from adjoint.api.gradients import grad
from adjoint.api.jacobians import jacfwd, jacobian
from adjoint.base.errors import ShapeError, SolveError
from adjoint.implicit.vectors import dtype_of, named_element, real_size, to_arrays, to_vector
from adjoint.optimize.optimum import Optimum
from adjoint.program.trace import Tracer, primal
from adjoint.program.types import Value, type_of

__all__ = ["Fit", "Propagated"]


class Pattern(NamedTuple):
    """Where the entries of a sparse Jacobian stand, row by row."""

    indices: Any
    indptr: Any
    shape: tuple[int, int]


class Propagated(NamedTuple):
    """A function of fitted parameters, and its standard error.

    ```python
    fit = ad.optimize.curve_fit(lambda t, p: p * t, np.arange(4.0), np.array([0.0, 1.1, 1.9, 3.0]), 1.0)
    fit.propagate(lambda p: 2 * p).value > 1.9  # → True
    ```
    """

    value: Any
    error: Any


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """What `least_squares` and `curve_fit` return: an `Optimum` whose attributes are its own, and errors of parameters.

    `fun` is ½ ‖r‖², or that of the loss.

    ```python
    t, y = np.arange(5.0), np.array([0.1, 0.9, 2.1, 2.9, 4.1])
    fit = ad.optimize.curve_fit(lambda t, p: p["a"] + p["b"] * t, t, y, {"a": 0.0, "b": 1.0})
    np.round([fit.value["b"], fit.standard_errors["b"]], 6)  # → [1.0, 0.04]
    ```
    """

    optimum: Optimum
    residuals: Value  # r at the solution, as one vector
    jacobian: Value  # ∂r at the solution
    free: Value  # which unknowns are not at a bound
    absolute: bool = field(default=False, metadata={"static": True})  # r is in units of its standard deviation
    objective: Any = field(default=None, metadata={"static": True})  # v ↦ cost, where nothing was traced
    data_scale: Any = None  # ∂r/∂y of a curve fit, for `influence`
    pattern: Pattern | None = field(default=None, metadata={"static": True})  # of a sparse ∂r, whose entries are kept
    curvatures: Any = None  # (ρ', ψ') of each residual, where there is a loss
    is_unknown: tuple[bool, ...] | None = field(default=None, metadata={"static": True})  # each leaf of x; None: all

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "optimum":
            raise AttributeError(name)
        return getattr(self.optimum, name)

    def __getstate__(self) -> dict[str, Any]:
        """Without the user's function: a fit is data, and functions such as lambdas cannot be pickled."""
        return {**self.__dict__, "objective": None}

    def raise_if_failed(self) -> Fit:
        """Itself if it converged, else an error with the advice.

        ```python
        fit = ad.optimize.least_squares(lambda x: x - np.array([1.0, 2.0]), np.zeros(2))
        fit.raise_if_failed().status  # → 'converged'
        ```
        """
        self.optimum.raise_if_failed()
        return self

    def __repr__(self) -> str:
        return f"Fit({self.optimum!r})"

    def covariance(self, *, absolute: bool | None = None) -> Any:
        """C as a matrix, in the order of `ad.tree.ravel(x)`; zeros stand for parameters that are frozen or at a bound.

        With `absolute` the residuals are taken as given in units of their standard deviation; otherwise that is
        estimated from them. An unknown that the data do not determine is named. With a robust loss it is Huber's
        estimate, k² (Σ ψ² / (m - n)) / (mean ψ')² (JᵀJ)⁻¹ with k = 1 + n/m var ψ' / (mean ψ')², ψ = ρ' r, whatever the
        residuals are measured in: outliers count as little as they did in the fit.

        ```python
        fit = ad.optimize.least_squares(lambda x: np.stack([x[0] - 1.0, 2 * x[1], x[1] - 1]), np.zeros(2))
        np.round(fit.covariance(absolute=True), 6)  # → [[1.0, 0.0], [0.0, 0.2]]
        ```
        """
        if isinstance(self.jacobian, Tracer) or np.ndim(self.jacobian) != (2 if self.pattern is None else 1):
            raise ShapeError(
                "least_squares: the covariance is that of one fit, and of known values. Return the fit from the "
                "compiled or batched function, and ask it there (ad.tree.map(lambda a: a[i], fit))."
            )
        J, r = self._dense_jacobian(), np.asarray(primal(self.residuals))
        free = np.asarray(primal(self.free))
        m, k = len(J), int(np.sum(free))
        self._need_rank(J[:, free], np.flatnonzero(free))
        _, sigma, Vt = np.linalg.svd(J[:, free] / self._sizes(J[:, free]), full_matrices=False)
        root = (Vt.T / sigma) / self._sizes(J[:, free])[:, None]
        size, chosen = self._positions()
        C, held = np.zeros((size, size), J.dtype), chosen[free]
        C[np.ix_(held, held)] = root @ root.T
        if self.curvatures is None and (self.absolute if absolute is None else absolute):
            return C
        if m <= k:
            raise SolveError(
                f"least_squares: {m} residuals for {k} unknowns leave nothing to estimate their error from. Give "
                "sigma= and absolute=True, or more data."
            )
        if self.curvatures is None:
            return C * (r @ r) / (m - k)
        slow, curved = (np.asarray(primal(part)) for part in self.curvatures)
        mean = np.mean(curved)
        if not mean > 0:
            raise SolveError("least_squares: most residuals are larger than loss_scale, where the loss is not convex: "
                             "it tells no error of the parameters. Give a larger loss_scale.")  # fmt: skip
        correction = 1.0 + k / m * np.var(curved) / mean**2
        return C * correction**2 * np.sum((slow * r) ** 2) / (m - k) / mean**2

    def _dense_jacobian(self) -> Any:
        """∂r as a matrix."""
        J = np.asarray(primal(self.jacobian))
        if self.pattern is None:
            if J.size == 0:
                raise SolveError("least_squares: the fit was found by products with the Jacobian alone, which is not "
                                 "kept. Take method='sparse' or 'lm'.")  # fmt: skip
            return J
        from scipy import sparse

        made: Any = sparse.csr_array((J, self.pattern.indices, self.pattern.indptr), shape=self.pattern.shape)
        return made.toarray()

    def _positions(self) -> tuple[int, Any]:
        """How many numbers x has, and where the unknowns stand among them."""
        types = [type_of(np.asarray(primal(leaf))) for leaf in tree.leaves(self.optimum.value)]
        sizes = [real_size([t]) for t in types]
        chosen = self.is_unknown or (True,) * len(sizes)
        return sum(sizes), np.flatnonzero(np.repeat(chosen, sizes))

    def _sizes(self, J: Any) -> Any:
        sizes = np.sqrt(np.sum(J * J, axis=0))
        return np.where(sizes > 0, sizes, 1.0)

    def _need_rank(self, J: Any, numbers: Any) -> None:
        scaled = J / self._sizes(J)
        _, sigma, Vt = np.linalg.svd(scaled, full_matrices=False)
        eps = float(np.finfo(J.dtype).eps)
        lost = len(numbers) > len(J) or sigma[-1] <= eps * max(J.shape) * sigma[0] or not np.all(np.any(J != 0, axis=0))
        if not lost:
            return
        leaves, structure = tree.flatten(self.optimum.value)
        types = [type_of(np.asarray(primal(leaf))) for leaf in leaves]
        direction = np.abs(Vt[-1]) if len(numbers) <= len(J) else np.ones(len(numbers))
        direction = np.where(np.any(J != 0, axis=0), direction, 2.0)
        _, chosen = self._positions()
        names = [named_element(int(chosen[numbers[i]]), types, structure.paths()) for i in np.argsort(-direction)
                 if direction[i] > 0.1 * np.max(direction)]  # fmt: skip
        apart = " separately" if len(names) > 1 else ""
        raise SolveError(
            f"least_squares: the data do not determine {' and '.join(sorted(names)[:6])}{apart}: the Jacobian is rank "
            "deficient. Freeze one of them (frozen=), add data, or a penalty."
        )

    @property
    def standard_errors(self) -> Any:
        """√diag C, in the structure of x."""
        return self._as_tree(np.sqrt(np.diag(self.covariance())))

    def _as_tree(self, vector: Any) -> Any:
        leaves, structure = tree.flatten(self.optimum.value)
        arrays = to_arrays(vector, [type_of(np.asarray(primal(leaf))) for leaf in leaves])
        return tree.unflatten(structure, [array[()] for array in arrays])

    def propagate(self, g: Callable[[Any], Any]) -> Propagated:
        """g(x) and its standard error to first order (the delta method), for each number that g gives.

        ```python
        t, y = np.arange(5.0), np.array([1.0, 0.6, 0.37, 0.21, 0.14])
        fit = ad.optimize.curve_fit(lambda t, p: p["a"] * np.exp(-p["k"] * t), t, y, {"a": 1.0, "k": 1.0})
        half = fit.propagate(lambda p: np.log(2) / p["k"])
        float(np.round(half.value, 3)), float(half.error) < 0.05  # → (1.371, True)
        ```
        """
        leaves, structure = tree.flatten(self.optimum.value)
        types = [type_of(np.asarray(primal(leaf))) for leaf in leaves]
        v = to_vector([np.asarray(primal(leaf)) for leaf in leaves], types)
        C = self.covariance()
        value = g(self.optimum.value)
        at = lambda v: g(tree.unflatten(structure, to_arrays(v, types)))
        G = jacobian(at)(v)
        return Propagated(value, tree.map(lambda row: np.sqrt(np.einsum("...i,ij,...j->...", row, C, row)), G))

    def influence(self) -> Any:
        """∂x*/∂y for each datum y of a curve fit (each residual of a least-squares problem), in the structure of x.

        ```python
        fit = ad.optimize.curve_fit(lambda t, p: p + 0 * t, np.arange(4.0), np.array([1.0, 2.0, 4.0, 5.0]), 0.0)
        np.round(fit.influence(), 6)  # → [0.25, 0.25, 0.25, 0.25]
        ```
        """
        if self.objective is None:
            raise SolveError("least_squares: the influence of data needs the function, which fits inside of jit and "
                             "vmap and from pickles do not keep. Take ad.jacobian of the fit's value with respect to "
                             "the data.")  # fmt: skip
        leaves, structure = tree.flatten(self.optimum.value)
        types = [type_of(np.asarray(leaf)) for leaf in leaves]
        v = to_vector([np.asarray(leaf) for leaf in leaves], types)
        _, chosen = self._positions()
        v, free = v[chosen], np.asarray(self.free)
        H = jacfwd(grad(self.objective))(v)[np.ix_(free, free)]
        J = self._dense_jacobian()
        found = np.zeros((real_size(types), len(J)), dtype_of(types))
        pull = J[:, free].T if self.curvatures is None else J[:, free].T * np.asarray(self.curvatures[1])
        found[chosen[free]] = -np.linalg.solve(H, pull)
        if self.data_scale is not None:
            found = found * np.broadcast_to(np.asarray(self.data_scale), (len(J),))
        rows: list[Any] = []
        at = 0
        for t in types:
            rows.append(np.reshape(found[at : at + t.size], (*t.shape, len(J))))
            at += t.size
        return tree.unflatten(structure, rows)
