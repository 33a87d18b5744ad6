"""The Gauss-Newton matrix of ℓ∘f: the Hessian without the curvature of the model f.

    GN(w) = ∂f(w)* ∇²ℓ(f(w)) ∂f(w),        ∇²(ℓ∘f)(w) = GN(w) + Σⱼ ∂ⱼℓ(f(w)) ∇²fⱼ(w)

A product with a vector pushes it through f, multiplies by the Hessian of the loss, and pulls it back: f runs forward
twice (value, tangent) and backward once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed, grad, linearize, vmap
from adjoint.api.hessian_products import hvp
from adjoint.api.jacobians import hessian, jacobian
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.curvature.arrangement import lay_out_hessian, matrix_of, one_argument, ravel_leaves, unravel_like
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = [
    "HessianSplit", "factor_product", "gauss_newton", "gauss_newton_factor", "gauss_newton_product", "hessian_split",
    "stack_pair",
]  # fmt: skip

Loss = Callable[..., Any]
CLIPPED = 64  # units in the last place of the largest eigenvalue, times the size: what is below is zero


@user_facing
def gauss_newton_product(
    loss: Loss,
    model: Function,
    primals: Sequence[tree.Tree],
    tangents: Sequence[tree.Tree],
    *,
    samples: tuple[tree.Tree, tree.Tree] | None = None,
) -> tree.Tree:
    """∂f(w)* ∇²ℓ(f(w)) ∂f(w)[v]: the Gauss-Newton matrix of loss∘model times a vector, without the matrix.

    `primals` and `tangents` are tuples, as for `hvp`; the result is a tree like w. With `samples` = (x, y), stacked
    along their first axis, it is the mean over the samples: model(w, x) and loss(z, y).

    ```python
    loss, model = lambda z: np.sum(z**2), lambda w: np.array([1.0, 2.0]) * w**2
    ad.curvature.gauss_newton_product(loss, model, (np.ones(2),), (np.ones(2),))  # → [8.0, 32.0]
    ```
    """
    loss, model = _over(loss, model, samples)
    primals = tuple(primals)
    z, pushed = linearize(model, *primals)
    curved = hvp(loss, (z,), (pushed(*tangents),))
    result = pushed.transpose()(curved)
    return result if len(primals) > 1 else result[0]


def _over(loss: Loss, model: Function, samples: Any) -> tuple[Loss, Function]:
    """Loss and model of all samples at once: the mean of their losses."""
    if samples is None:
        return loss, model
    xs, ys = stack_pair(samples, "samples")
    many = lambda *w: vmap(lambda x: model(*w, x))(xs)
    return lambda z: np.mean(vmap(loss)(z, ys)), many


def stack_pair(samples: Any, name: str) -> tuple[Any, Any]:
    """Inputs and labels, stacked along their first axes."""
    if not (isinstance(samples, tuple | list) and len(samples) == 2):
        raise TypeError(f"{name} must be a pair (x, y) of trees whose arrays are stacked along their first axis.")
    sizes = {np.shape(leaf)[0] if np.shape(leaf) else None for leaf in tree.leaves(samples)}
    if len(sizes) != 1 or None in sizes:
        raise ShapeError(f"{name}: all arrays must be stacked along a first axis of one length; got {sizes}.")
    return samples[0], samples[1]


def gauss_newton(loss: Loss, model: Function, *, samples: tuple[tree.Tree, tree.Tree] | None = None) -> Transformed:
    """The Gauss-Newton matrix of loss∘model: `gauss_newton(loss, model)(w)`, laid out as `ad.hessian` lays it out.

    With `samples` = (x, y) the mean over the samples: model(w, x) and loss(z, y).

    ```python
    loss, model = lambda z: np.sum(z**2), lambda w: np.array([1.0, 2.0]) * w**2
    ad.curvature.gauss_newton(loss, model)(np.ones(2))  # → [[8.0, 0.0], [0.0, 32.0]]
    ```
    """
    return Transformed(_gauss_newton, model, _GaussNewtonOptions(loss, samples))


@dataclass(frozen=True)
class _GaussNewtonOptions(Options):
    """The options of `gauss_newton`, `hessian_split` and `gauss_newton_factor`."""

    loss: Function
    samples: Any = None
    tolerance: float | None = None


def _gauss_newton(model: Function, options: _GaussNewtonOptions, args: Any, kwargs: Any) -> tree.Tree:
    w, model = one_argument("gauss_newton", model, args, kwargs)
    loss = options.loss
    if options.samples is None:
        J, H = _parts(loss, model, w)
        return lay_out_hessian(np.matmul(np.matmul(np.transpose(J), H), J), w)
    xs, ys = stack_pair(options.samples, "samples")
    J, H = vmap(lambda x, y: _parts(lambda z: loss(z, y), lambda w: model(w, x), w))(xs, ys)
    return lay_out_hessian(np.einsum("nip,niq->pq", J, np.matmul(H, J)) / np.shape(J)[0], w)


def _parts(loss: Loss, model: Function, w: tree.Tree) -> tuple[Value, Value]:
    """The matrices ∂f(w) and ∇²ℓ(f(w))."""
    z = model(w)
    return matrix_of(jacobian(model)(w), z, w), matrix_of(hessian(loss)(z), z, z)


class HessianSplit(NamedTuple):
    """∇²(ℓ∘f) = gauss_newton + rest: the curvature of the loss, and that of the model weighted by ∇ℓ.

    ```python
    ad.curvature.hessian_split(lambda z: z**2, np.exp)(0.0).rest  # → 2.0
    ```
    """

    gauss_newton: Any
    rest: Any


def hessian_split(loss: Loss, model: Function) -> Transformed:
    """`hessian_split(loss, model)(w)`: the two parts of ∇²(loss∘model), each laid out as by `ad.hessian`.

    ```python
    loss, model = lambda z: np.sum(z**2), lambda w: w**2
    split = ad.curvature.hessian_split(loss, model)(3.0)
    split.gauss_newton, split.rest, ad.hessian(lambda w: loss(model(w)))(3.0)  # → (72.0, 36.0, 108.0)
    ```
    """
    return Transformed(_hessian_split, model, _GaussNewtonOptions(loss))


def _hessian_split(model: Function, options: _GaussNewtonOptions, args: Any, kwargs: Any) -> HessianSplit:
    w, model = one_argument("hessian_split", model, args, kwargs)
    loss = options.loss
    gradient = grad(loss)(model(w))  # held fixed: ∇²⟨f, u⟩ at u = ∇ℓ(f(w))
    rest = hessian(lambda w: tree.vdot(gradient, model(w)))(w)
    return HessianSplit(gauss_newton(loss, model)(w), rest)


def gauss_newton_factor(loss: Loss, model: Function, *, tolerance: float | None = None) -> Transformed:
    """V with V Vᵀ = GN(w), a tree like w whose leaves have one more axis, with one column for each output of the model.

    With ∇²ℓ = Σⱼ λⱼ uⱼ uⱼᵀ the columns are √λⱼ ∂f(w)*[uⱼ]; eigenvalues below `tolerance` times the largest one give
    columns of zeros (a root would turn their rounding errors into large ones). It holds no record of the model:
    `factor_product(V, v)` needs neither the model nor its values.

    ```python
    loss, model = lambda z: np.sum(z**2), lambda w: np.array([1.0, 2.0]) * w**2
    V = ad.curvature.gauss_newton_factor(loss, model)(np.ones(2))
    V @ V.T  # → [[8.0, 0.0], [0.0, 32.0]]
    ```
    """
    return Transformed(_gauss_newton_factor, model, _GaussNewtonOptions(loss, tolerance=tolerance))


def _gauss_newton_factor(model: Function, options: _GaussNewtonOptions, args: Any, kwargs: Any) -> tree.Tree:
    w, model = one_argument("gauss_newton_factor", model, args, kwargs)
    loss, tolerance = options.loss, options.tolerance
    z, pushed = linearize(model, w)
    pull = pushed.transpose()
    H = matrix_of(hessian(loss)(z), z, z)
    eigenvalues, vectors = np.linalg.eigh(H)
    least = CLIPPED * np.shape(H)[0] * np.finfo(H.dtype).eps if tolerance is None else tolerance
    bound = least * np.max(np.abs(eigenvalues), initial=0.0)
    if not isinstance(eigenvalues, Tracer) and np.any(eigenvalues < -bound):
        raise ValueError(
            f"gauss_newton_factor: the Hessian of the loss has the eigenvalue {np.min(eigenvalues):.3g}, so that "
            "the Gauss-Newton matrix is no product V Vᵀ. Use gauss_newton, or a loss that is convex there."
        )
    kept = np.greater(eigenvalues, bound)
    roots = np.where(kept, np.sqrt(np.where(kept, eigenvalues, 1.0)), 0.0)
    columns = vmap(lambda u: pull(unravel_like(u, z))[0])(np.transpose(vectors * roots))
    return tree.map(lambda leaf: np.moveaxis(leaf, 0, -1), columns)


@user_facing
def factor_product(factor: tree.Tree, v: tree.Tree) -> tree.Tree:
    """V (Vᵀ v), for a factor V as `gauss_newton_factor` gives it and a tree v like the parameters.

    ```python
    loss, model = lambda z: np.sum(z**2), lambda w: np.array([1.0, 2.0]) * w**2
    V = ad.curvature.gauss_newton_factor(loss, model)(np.ones(2))
    ad.curvature.factor_product(V, np.ones(2))  # → [8.0, 32.0]
    ```
    """
    V, flat = _columns(factor), ravel_leaves(v)
    return unravel_like(np.matmul(V, np.matmul(np.transpose(V), flat)), v)


def _columns(factor: tree.Tree) -> Value:
    leaves = [np.reshape(leaf, (math.prod(np.shape(leaf)[:-1]), np.shape(leaf)[-1])) for leaf in tree.leaves(factor)]
    return leaves[0] if len(leaves) == 1 else np.concatenate(leaves)
