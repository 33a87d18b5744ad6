"""Fisher information of a model with parameters w whose output θ = f(w) is the parameter of a distribution.

With the loss ℓ(θ, y) = -log q(y; θ) of an outcome y that is distributed as the model says:

    F(w) = E[∇L ⊗ ∇L] = E[∇²L] = ∂f(w)* F(θ) ∂f(w),        F(θ) = E[∇ℓ ⊗ ∇ℓ] = E[∇²ℓ],        L(w) = ℓ(f(w), y)

For exponential families in their natural parameter ∇²ℓ does not depend on y, and F is the Gauss-Newton matrix. The
empirical Fisher matrix takes the labels of data for y; it is something else, and has a name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.function import Options
from adjoint.api.gradients import Function, Transformed, grad, linearize, value_and_grad, vmap
from adjoint.api.jacobians import hessian, jacobian
from adjoint.base.source import user_facing
from adjoint.curvature.arrangement import lay_out_hessian, matrix_of, one_argument, ravel_leaves, unravel_like
from adjoint.curvature.gauss_newton import stack_pair
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["empirical_fisher", "empirical_fisher_product", "fisher", "fisher_product", "output_fisher"]

Loss = Callable[[Any, Any], Any]
FORMS = ("score", "hessian")
MISSING = 1e-6  # how much of the probability a support may leave out
ROUNDING = 256  # or units in the last place: losses of some tens lose their digits in exp(-loss)


@user_facing
def output_fisher(
    loss: Loss, theta: tree.Tree, *, support: tree.Tree = None, samples: tree.Tree = None, form: str = "score"
) -> Value:
    """F(θ) as a matrix: the Fisher information of a distribution in its own parameter.

    The expectation runs over outcomes y, stacked along the first axis: over the whole `support`, each with its
    probability exp(-ℓ(θ, y)), which is exact; or over `samples` drawn from the model, with equal weights, which is an
    unbiased estimate. `form` is "score" for E[∇ℓ ⊗ ∇ℓ] or "hessian" for E[∇²ℓ].

    ```python
    loss = lambda theta, y: np.logaddexp(0.0, theta) - y * theta
    ad.curvature.output_fisher(loss, 0.0, support=np.array([0.0, 1.0]))  # → [[0.25]]
    ```
    """
    F, covered = _output_fisher(loss, theta, support, samples, form)
    _check_support(covered)
    return F


def _output_fisher(
    loss: Loss, theta: tree.Tree, support: tree.Tree, samples: tree.Tree, form: str
) -> tuple[Value, Value]:
    """F(θ), and how much of the probability the outcomes have together."""
    if form not in FORMS:
        raise ValueError(f"fisher: form={form!r} is neither 'score' (E[∇ℓ ⊗ ∇ℓ]) nor 'hessian' (E[∇²ℓ]).")
    if (support is None) == (samples is None):
        raise TypeError("fisher: give either the support of the outcomes (exact) or samples drawn from the model.")
    outcomes = samples if support is None else support
    count = np.shape(tree.leaves(outcomes)[0])[0]
    # with the values: θ is traced here, so that θ[y] can be read at an outcome that vmap stacks
    values, gradients = vmap(lambda y: value_and_grad(lambda t: loss(t, y))(theta))(outcomes)
    weights = np.full(count, 1.0 / count, values.dtype) if support is None else np.exp(-values)
    covered = np.sum(weights)
    if form == "score":
        scores = vmap(ravel_leaves)(gradients)
        return np.matmul(np.transpose(scores) * weights, scores), covered
    curved = vmap(lambda y: matrix_of(hessian(lambda t: loss(t, y))(theta), theta, theta))(outcomes)
    return np.tensordot(weights, curved, axes=1), covered


def _check_support(covered: Value) -> None:
    """One sum of probabilities, or one for each input."""
    if isinstance(covered, Tracer):
        return
    gaps = np.abs(np.atleast_1d(covered) - 1)
    if not np.all(gaps <= max(MISSING, ROUNDING * float(np.finfo(gaps.dtype).eps))):
        worst = np.atleast_1d(covered)[np.argmax(gaps)]
        raise ValueError(
            f"fisher: exp(-loss) sums to {worst:.6g} over the support, not to 1. The loss must be -log of a "
            "probability, with its constants, and the support must hold all outcomes that matter; or give samples."
        )


def fisher(
    loss: Loss,
    model: Function,
    *,
    inputs: tree.Tree = None,
    support: tree.Tree = None,
    samples: tree.Tree = None,
    form: str = "score",
) -> Transformed:
    """The Fisher information matrix in the parameters: `fisher(loss, model, support=ys)(w)`, laid out as `ad.hessian`.

    `loss(θ, y)` is -log q(y; θ) and `model(w)` gives θ. `support` or `samples` as in `output_fisher`. With `inputs`,
    stacked along their first axis, `model(w, x)` gives θ and the result is the mean over them; `samples` then have one
    row of draws for each input.

    ```python
    loss = lambda theta, y: np.logaddexp(0.0, theta) - y * theta       # a coin with log-odds theta
    ad.curvature.fisher(loss, lambda w: 2 * w, support=np.array([0.0, 1.0]))(0.0)  # → 1.0
    ```
    """
    return Transformed(_fisher, model, _FisherOptions(loss, inputs, support, samples, form))


@dataclass(frozen=True)
class _FisherOptions(Options):
    """The options of `fisher`."""

    loss: Function
    inputs: Any
    support: Any
    samples: Any
    form: str


@dataclass(frozen=True)
class _EmpiricalOptions(Options):
    """The options of `empirical_fisher`."""

    loss: Function
    data: Any


def _fisher(model: Function, options: _FisherOptions, args: Any, kwargs: Any) -> tree.Tree:
    w, model = one_argument("fisher", model, args, kwargs)
    inputs, samples = options.inputs, options.samples

    def one(w: Any, x: Any, drawn: Any) -> tuple[Value, Value, Value]:
        call = model if inputs is None else lambda w: model(w, x)
        theta = call(w)
        F, covered = _output_fisher(options.loss, theta, options.support, drawn, options.form)
        return matrix_of(jacobian(call)(w), theta, w), F, covered

    if inputs is None:
        J, F, covered = one(w, None, samples)
        _check_support(covered)
        return lay_out_hessian(np.matmul(np.transpose(J), np.matmul(F, J)), w)
    axes = (None, 0, None if samples is None else 0)
    J, F, covered = vmap(one, in_axes=axes)(w, inputs, samples)
    _check_support(covered)
    return lay_out_hessian(np.einsum("nip,niq->pq", J, np.matmul(F, J)) / np.shape(J)[0], w)


@user_facing
def fisher_product(
    loss: Loss,
    model: Function,
    primals: Sequence[tree.Tree],
    tangents: Sequence[tree.Tree],
    *,
    inputs: tree.Tree = None,
    support: tree.Tree = None,
    samples: tree.Tree = None,
    form: str = "score",
) -> tree.Tree:
    """F(w)[v] without the matrix: push v through the model, multiply by F(θ), pull back. Options as in `fisher`.

    ```python
    loss = lambda theta, y: np.logaddexp(0.0, theta) - y * theta
    ad.curvature.fisher_product(loss, lambda w: 2 * w, (0.0,), (3.0,), support=np.array([0.0, 1.0]))  # → 3.0
    ```
    """
    primals = tuple(primals)
    many = model if inputs is None else lambda *w: vmap(lambda x: model(*w, x))(inputs)
    theta, pushed = linearize(many, *primals)
    tangent = pushed(*tangents)

    def apply_fisher(theta: Any, tangent: Any, drawn: Any) -> Any:
        F, covered = _output_fisher(loss, theta, support, drawn, form)
        return unravel_like(np.matmul(F, ravel_leaves(tangent)), tangent), covered

    if inputs is None:
        ct, covered = apply_fisher(theta, tangent, samples)
    else:
        count = np.shape(tree.leaves(inputs)[0])[0]
        ct, covered = vmap(apply_fisher, in_axes=(0, 0, None if samples is None else 0))(theta, tangent, samples)
        ct = tree.map(lambda leaf: leaf / count, ct)
    _check_support(covered)
    result = pushed.transpose()(ct)
    return result if len(primals) > 1 else result[0]


def empirical_fisher(loss: Loss, model: Function, data: tuple[tree.Tree, tree.Tree]) -> Transformed:
    """The mean of ∇L ⊗ ∇L over data (x, y), with the labels of the data: not the Fisher information.

    `empirical_fisher(loss, model, (x, y))(w)`, laid out as by `ad.hessian`; model(w, x) and loss(θ, y). The two agree
    where the labels are distributed as the model says.

    ```python
    loss, model = lambda theta, y: (theta - y)**2 / 2, lambda w, x: w * x
    data = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    ad.curvature.empirical_fisher(loss, model, data)(1.0)  # → 2.5
    ```
    """
    return Transformed(_empirical_fisher, model, _EmpiricalOptions(loss, data))


def _empirical_fisher(model: Function, options: _EmpiricalOptions, args: Any, kwargs: Any) -> tree.Tree:
    w, model = one_argument("empirical_fisher", model, args, kwargs)
    loss, (xs, ys) = options.loss, stack_pair(options.data, "data")
    scores = vmap(lambda x, y: ravel_leaves(grad(lambda w: loss(model(w, x), y))(w)))(xs, ys)
    return lay_out_hessian(np.matmul(np.transpose(scores), scores) / np.shape(scores)[0], w)


@user_facing
def empirical_fisher_product(
    loss: Loss,
    model: Function,
    primals: Sequence[tree.Tree],
    tangents: Sequence[tree.Tree],
    data: tuple[tree.Tree, tree.Tree],
) -> tree.Tree:
    """The empirical Fisher matrix times a vector, (1/n) Σ gᵢ ⟨gᵢ, v⟩, without individual gradients gᵢ.

    ```python
    loss, model = lambda theta, y: (theta - y)**2 / 2, lambda w, x: w * x
    data = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    ad.curvature.empirical_fisher_product(loss, model, (1.0,), (2.0,), data)  # → 5.0
    ```
    """
    xs, ys = stack_pair(data, "data")
    primals = tuple(primals)
    losses, pushed = linearize(lambda *w: vmap(lambda x, y: loss(model(*w, x), y))(xs, ys), *primals)
    tangent = pushed(*tangents) / np.shape(losses)[0]
    result = pushed.transpose()(tangent)
    return result if len(primals) > 1 else result[0]
