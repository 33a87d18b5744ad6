"""Traces and diagonals of maps that are known only by their products, estimated from random probes.

    tr A ≈ (1/S) Σ ⟨ωᵢ, A ωᵢ⟩   (Girard, Hutchinson),        diag A ≈ (1/S) Σ ωᵢ ∘ A ωᵢ   (Bekas),

for independent probes with E[ω ω*] = I: signs (Rademacher) or normal numbers. Both are unbiased. For a symmetric A one
probe has the variance 2(‖A‖² - Σ Aᵢᵢ²) with signs, 2‖A‖² with normal numbers; an entry of the diagonal, Σⱼ≠ᵢ Aᵢⱼ² with
signs. The variance-reduced methods stand in `estimates_sketched.py`.
"""

# pyright: reportPrivateUsage=false
# (a map's product with columns, behind the public one)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.api.gradients import linear_transpose, stop_gradient, vmap
from adjoint.base.errors import DtypeError, ShapeError
from adjoint.base.source import user_facing
from adjoint.linear.functions.probes import Estimate, average_samples, draw
from adjoint.linear.functions.sketched import hutch_plus_plus, xdiag, xtrace
from adjoint.linear.operators.maps import LinearMap
from adjoint.linear.operators.spaces import Space
from adjoint.linear.operators.stacks import check_single
from adjoint.linear.operators.structures import matrix
from adjoint.program.types import Value

__all__ = ["Products", "estimate_diagonal", "estimate_trace", "products_of"]

Columns = Callable[[Value], Value]


@final
@dataclass(frozen=True)
class Products:
    """A square map by its products with the columns of a matrix, and how to come by those of its adjoint."""

    space: Space
    columns: Columns
    adjoint_columns: Columns = field(repr=False)


def products_of(A: Any, like: Any, title: str) -> Products:
    """A linear map, a matrix, or a linear function of elements `like` the one given."""
    if not isinstance(A, LinearMap) and callable(A):
        return _of_function(A, like, title)
    if not isinstance(A, LinearMap):
        A = A if hasattr(A, "dtype") else np.asarray(A)
        if getattr(A, "ndim", 0) != 2:
            raise ShapeError(f"{title}: A has shape {np.shape(A)}; give a LinearMap, a matrix or a function v -> A v.")
        A = matrix(A if A.dtype.kind in "fc" else A.astype(float))
    check_single(A, title)
    if not A.is_square:
        raise ShapeError(f"{title}: a map of shape {A.shape} is not square.")
    back = A.adjoint
    return Products(A.domain, lambda v: A._apply_columns(v), lambda u: back._apply_columns(u))


def _of_function(function: Callable[[Any], Any], like: Any, title: str) -> Products:
    if like is None:
        raise TypeError(f"{title}: A is a function; say on what it acts: like=x for elements like x, like=n for "
                        "vectors of n numbers.")  # fmt: skip
    space = Space.of(like)

    def checked(v: Any) -> Any:
        return space.checked(function(v), f"{title}: the result of the function")

    def columns(v: Value) -> Value:
        return space.ravel_columns(vmap(checked)(space.unravel_columns(v)))

    def adjoint_columns(u: Value) -> Value:
        back = linear_transpose(checked, space.tree)
        return space.ravel_columns(vmap(lambda one: back(one)[0])(space.unravel_columns(u)))

    return Products(space, columns, adjoint_columns)


@user_facing
def estimate_trace(
    A: Any, rng: Any, products: int = 60, *, method: str = "xtrace", probes: str = "signs", like: Any = None
) -> Estimate:
    """tr A from random products, with its standard error.

    A is a LinearMap, a matrix, or a linear function (`like` says of what). `rng` is a seed or a generator of
    `ad.random`. Methods, at the same number of products with A:

    * "hutchinson": the mean of ⟨ω, A ω⟩ over S probes; its error falls like 1/√S.
    * "hutch++": a third of the products finds a basis Q of the range, tr A = tr Q*AQ + tr (I-QQ*)A(I-QQ*), and only
      the second trace is estimated; the error falls like 1/S for positive semidefinite maps.
    * "xtrace": the same, where every probe serves both, leaving one out at a time; often the most accurate.

    The last two take the unit vectors instead, and are exact, when the products suffice for all of them.

    Derivatives in the parameters of A are those of the estimate with its probes and its basis Q held fixed, which are
    unbiased estimates of the derivatives of the trace.

    ```python
    A = ad.linear.diagonal(np.arange(100.0))
    estimate = ad.linear.estimate_trace(A, rng=0)
    abs(estimate.value - 4950.0) <= 5 * estimate.error + 1e-6  # → True
    ```
    """
    made = products_of(A, like, "estimate_trace")
    if method == "hutchinson":
        w = draw(rng, made.space, _at_least(products, 1, method), probes, "estimate_trace")
        return average_samples(np.sum(w * made.columns(w), axis=0), products, method)
    if method in ("hutch++", "xtrace") and products >= made.space.size:
        return _exact(np.sum(_whole_diagonal(made)), made.space.size)
    if method == "hutch++":
        count = _at_least(products, 3, method) // 3
        w = draw(rng, made.space, 2 * count, probes, "estimate_trace")
        return hutch_plus_plus(made.columns, w[:, :count], w[:, count:])
    if method == "xtrace":
        count = _at_least(products, 4, method) // 2
        return xtrace(made.columns, draw(rng, made.space, count, probes, "estimate_trace"))
    raise ValueError(f'estimate_trace: method={method!r}; choose "hutchinson", "hutch++" or "xtrace".')


@user_facing
def estimate_diagonal(
    A: Any, rng: Any, products: int = 60, *, method: str = "xdiag", probes: str = "signs", like: Any = None
) -> Estimate:
    """The diagonal of A from random products, as an element of its domain, with a standard error for each entry.

    "bekas": the mean of ω ∘ A ω; exact after one product when A is diagonal and the probes are signs. "xdiag": half of
    the products, with A*, find the part of A that lies in the range of the others; leaving out one probe at a time, the
    rest is estimated as before (exact when the products suffice for all unit vectors). Derivatives: as those of
    `estimate_trace`.

    ```python
    A = ad.linear.diagonal(np.arange(4.0))
    ad.linear.estimate_diagonal(A, rng=0, products=1, method="bekas").value  # → [0.0, 1.0, 2.0, 3.0]
    ```
    """
    made = products_of(A, like, "estimate_diagonal")
    if method == "bekas":
        w = draw(rng, made.space, _at_least(products, 1, method), probes, "estimate_diagonal")
        found = average_samples(np.transpose(w * made.columns(w)), products, method)
    elif method == "xdiag" and products >= made.space.size:
        found = _exact(_whole_diagonal(made), made.space.size)
    elif method == "xdiag":
        count = _at_least(products, 4, method) // 2
        w = draw(rng, made.space, count, probes, "estimate_diagonal")
        found = xdiag(made.columns, made.adjoint_columns, w)
    else:
        raise ValueError(f'estimate_diagonal: method={method!r}; choose "bekas" or "xdiag".')
    if any(t.dtype.kind == "c" for t in made.space.types):
        if not all(t.dtype.kind == "c" for t in made.space.types):
            raise DtypeError("estimate_diagonal: the map has real and complex arrays; make all of them complex.")
        error = found.error  # real numbers, in the order of `ravel`
    else:
        error = made.space.unravel(found.error)
    return Estimate(made.space.unravel(found.value), error, found.products, found.method)


def _whole_diagonal(made: Products) -> Value:
    return np.diagonal(made.columns(np.eye(made.space.size, dtype=made.space.dtype)))


def _exact(value: Value, products: int) -> Estimate:
    return Estimate(value, np.abs(stop_gradient(value)) * 0.0, products, "exact")


def _at_least(products: int, least: int, method: str) -> int:
    if not isinstance(products, int | np.integer) or products < least:
        raise ValueError(f"{method}: products={products}; it needs an integer of at least {least}.")
    return int(products)
