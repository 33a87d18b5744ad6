"""Every function of the derivative toolbox with what NumPy says to it."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint import curvature, linear, memory, sparse
from tests.toolbox.test_matrix import V, band, categorical, convex, general, loss, model, positive, right, scalar

Function = Callable[[Any], Any]
ROUND = np.eye(3)[::-1]
CLASSES = np.arange(3)
INPUTS, LABELS = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0]]), np.array([0, 2])


# what NumPy says


def slope_of_model(x: Any) -> Any:
    return np.diag(np.cos(x) * x[::-1] + 2 * x) + np.diag(np.sin(x)) @ ROUND


def slope_of_scalar(x: Any) -> Any:
    return np.cos(x) * np.exp(x[::-1]) + np.sin(x[::-1]) * np.exp(x) + np.array([x[1] * x[2], x[0] * x[2], x[0] * x[1]])


def hessian_of_scalar(x: Any) -> Any:
    same = np.sin(x[::-1]) * np.exp(x) - np.sin(x) * np.exp(x[::-1])
    opposite = np.cos(x) * np.exp(x[::-1]) + np.cos(x[::-1]) * np.exp(x)
    others = np.array([[0 * x[0], x[2], x[1]], [x[2], 0 * x[0], x[0]], [x[1], x[0], 0 * x[0]]])
    return np.diag(same) + np.diag(opposite) @ ROUND + others


def hessian_of_convex(x: Any) -> Any:
    return np.diag(np.cosh(x)) + 2.0


def gauss_newton(x: Any) -> Any:
    J = slope_of_model(x)
    return J.T @ np.diag(np.cosh(model(x))) @ J


def softmax(z: Any) -> Any:
    return np.exp(z) / np.sum(np.exp(z))


def information(z: Any) -> Any:
    return np.diag(softmax(z)) - np.outer(softmax(z), softmax(z))


def solved(x: Any) -> Any:
    return np.linalg.solve(positive(x), right(x))


def scores(x: Any) -> Any:
    rows = [(softmax(np.sin(x) * i) - np.eye(3)[y]) * np.cos(x) * i for i, y in zip(INPUTS, LABELS, strict=True)]
    return np.stack(rows)


def of_inputs(w: Any, i: Any) -> Any:
    return np.sin(w) * i


def second_differential(x: Any) -> Any:
    """∂²model(x)[u, u] for u of ones."""
    return -np.sin(x) * x[::-1] + 2 * np.cos(x) + 2


def turns(x: Any, count: int = 4) -> Any:
    for i in range(count):
        x = x + 0.1 * np.sin(x[::-1] * i)
    return x


def turn(i: Any, x: Any) -> Any:
    return x + 0.1 * np.sin(x[::-1] * i)


def named(x: Any) -> Any:
    return np.cos(ad.checkpoint_name(np.sin(x), "inner") * x[::-1])


def coupled(x: Any) -> Any:
    first = x + np.sin(2 * x)
    return first, 2 * x + np.cos(first)


def kicked(x: Any) -> Any:
    p = 2 * x - 0.05 * np.sin(x)
    q = x + 0.1 * p
    return q, p - 0.05 * np.sin(q)


def pushed_on(x: Any) -> Any:
    v = 0.9 * 2 * x + (1 - 0.9) * np.sin(x)
    return x + v, v


# (found, expected), by name
Case = tuple[Function, Function]
A, S = general, positive
MAPS: dict[str, Case] = {
    "identity, zero": (lambda x: (linear.identity(3) + linear.zero(3)) @ x, lambda x: x),
    "scaling": (lambda x: linear.scaling(x[0], 3).solve(right(x)), lambda x: right(x) / x[0]),
    "diagonal": (lambda x: linear.diagonal(x + 2).solve(x), lambda x: x / (x + 2)),
    "matrix": (lambda x: linear.matrix(A(x)).solve(right(x)), lambda x: np.linalg.solve(A(x), right(x))),
    "triangular": (
        lambda x: linear.triangular(A(x)).solve(right(x)),
        lambda x: np.linalg.solve(np.tril(A(x)), right(x)),
    ),
    "sparse": (
        lambda x: linear.sparse(np.append(x, x[0]), [0, 1, 2, 0], [0, 1, 2, 2], (3, 3)).T @ x,
        lambda x: np.array([x[0] ** 2, x[1] ** 2, x[2] ** 2 + x[0] ** 2]),
    ),
    "low_rank": (
        lambda x: (linear.identity(3) + linear.low_rank(x, right(x))).solve(x),
        lambda x: np.linalg.solve(np.eye(3) + np.outer(x, right(x)), x),
    ),
    "permutation": (lambda x: linear.permutation([2, 0, 1]).inverse @ x**2, lambda x: x[[1, 2, 0]] ** 2),
    "kronecker": (
        lambda x: linear.kronecker(A(x), S(x)).solve(np.tile(right(x), 3)),
        lambda x: np.linalg.solve(np.kron(A(x), S(x)), np.tile(right(x), 3)),
    ),
    "khatri_rao": (
        lambda x: linear.khatri_rao(A(x)[:2], S(x)) @ x,
        lambda x: np.concatenate([S(x) @ (row * x) for row in A(x)[:2]]),
    ),
    "block": (
        lambda x: linear.raveled(linear.block([[A(x), S(x)], [None, S(x)]])).solve(np.tile(x, 2)),
        lambda x: np.linalg.solve(np.block([[A(x), S(x)], [np.zeros((3, 3)), S(x)]]), np.tile(x, 2)),
    ),
    "block_diagonal": (
        lambda x: linear.block_diagonal((A(x), linear.diagonal(x)))((x, x)),
        lambda x: (A(x) @ x, x**2),
    ),
    "congruence": (
        lambda x: linear.congruence(linear.matrix(A(x)), linear.matrix(S(x))).to_dense(),
        lambda x: A(x).T @ S(x) @ A(x),
    ),
    "as_map, assume": (lambda x: linear.assume(linear.as_map(S(x)), "positive definite").solve(right(x)), solved),
    "factored": (lambda x: linear.factored(linear.matrix(S(x))).solve(right(x)), solved),
    "logdet": (lambda x: linear.logdet(linear.matrix(S(x))), lambda x: np.linalg.slogdet(S(x))[1]),
    "slogdet": (lambda x: linear.slogdet(linear.matrix(A(x)))[1], lambda x: np.linalg.slogdet(A(x))[1]),
    "from_function": (lambda x: linear.from_function(lambda v: A(x) @ v, 3).T @ x, lambda x: A(x).T @ x),
    "complexified": (
        lambda x: np.imag(linear.complexified(linear.matrix(A(x))) @ (1j * x)),
        lambda x: A(x) @ x,
    ),
    "bilinear": (lambda x: linear.bilinear(lambda u, v: (A(x) @ u) * v, 3)(x, right(x)), lambda x: A(x) @ x * right(x)),
    "bilinear_form": (
        lambda x: linear.bilinear_form(linear.matrix(A(x)))(x, right(x)),
        lambda x: x @ A(x) @ right(x),
    ),
    "jacobian": (lambda x: linear.jacobian(model)(x).to_dense(), slope_of_model),
    "hessian": (lambda x: linear.hessian(scalar)(x).to_dense(), hessian_of_scalar),
    "gauss_newton": (lambda x: linear.gauss_newton(loss, model)(x).to_dense(), gauss_newton),
    "second_derivative": (lambda x: linear.second_derivative(model)(x)(np.ones(3), np.ones(3)), second_differential),
    "fisher": (
        lambda x: linear.fisher(lambda x, y: -np.sum((x - y) ** 2) / 2)(x, INPUTS).to_dense(),
        lambda x: (INPUTS - x).T @ (INPUTS - x) / 2,
    ),
    "differential": (lambda x: linear.differential(scalar)(x)(right(x)), lambda x: slope_of_scalar(x) @ right(x)),
    "gradient, inner_product": (
        lambda x: linear.gradient(scalar, linear.inner_product(S(x)))(x),
        lambda x: np.linalg.solve(S(x), slope_of_scalar(x)),
    ),
    "euclidean": (lambda x: linear.euclidean(x)(x, right(x)), lambda x: x @ right(x)),
    "adjoint": (
        lambda x: linear.adjoint(linear.matrix(A(x)), linear.inner_product(S(x))) @ x,
        lambda x: np.linalg.solve(S(x), A(x).T @ x),
    ),
    "pushforward": (lambda x: linear.pushforward(model)(x) @ right(x), lambda x: slope_of_model(x) @ right(x)),
    "pullback": (
        lambda x: linear.pullback(model)(x)(linear.Covector(right(x))).components,
        lambda x: slope_of_model(x).T @ right(x),
    ),
    "pulled_back_metric": (
        lambda x: linear.pulled_back_metric(model)(x)(x, right(x)),
        lambda x: (slope_of_model(x) @ x) @ (slope_of_model(x) @ right(x)),
    ),
}
SOLVERS: dict[str, Case] = {
    "cg, jacobi": (lambda x: linear.cg(S(x), right(x), preconditioner=linear.jacobi(S(x))).value, solved),
    "cg, block_jacobi": (
        lambda x: linear.cg(S(x), right(x), preconditioner=linear.block_jacobi(S(x), 3)).value,
        solved,
    ),
    "minres": (lambda x: linear.minres(S(x), right(x), x0=x).value, solved),
    "gmres": (lambda x: linear.gmres(A(x), right(x)).value, lambda x: np.linalg.solve(A(x), right(x))),
    "bicgstab": (lambda x: linear.bicgstab(A(x), right(x)).value, lambda x: np.linalg.solve(A(x), right(x))),
    "lsmr": (
        lambda x: linear.lsmr(A(x)[:, :2], right(x)).value,
        lambda x: np.linalg.lstsq(A(x)[:, :2], right(x))[0],
    ),
    "solve": (lambda x: linear.solve(S(x), right(x)).value, solved),
    "estimate_trace": (lambda x: linear.estimate_trace(A(x), 0, 4).value, lambda x: np.trace(A(x))),
    "estimate_diagonal": (lambda x: linear.estimate_diagonal(A(x), 0, 4).value, lambda x: np.diagonal(A(x))),
    # quadrature with signs is exact for diagonal maps
    "estimate_logdet": (
        lambda x: linear.estimate_logdet(linear.diagonal(x**2 + 1), 0, 2, 3).value,
        lambda x: np.sum(np.log(x**2 + 1)),
    ),
    "estimate_trace_of_function": (
        lambda x: linear.estimate_trace_of_function(np.exp, linear.diagonal(x), 0, 2, 3).value,
        lambda x: np.sum(np.exp(x)),
    ),
    # and a sign is its own inverse
    "forward_gradient": (
        lambda x: ad.forward_gradient(np.tanh, samples=2, probes="signs")(0, x[0]).value,
        lambda x: 1 - np.tanh(x[0]) ** 2,
    ),
    "bartlett": (
        lambda x: linear.bartlett(categorical, x, CLASSES, weights=softmax(x)).map.to_dense(),
        information,
    ),
    "bartlett_diagonal": (
        lambda x: linear.bartlett_diagonal(lambda w, y: np.sum((w - y) ** 2) / 2, x, INPUTS).value,
        lambda x: 2 * (x - np.mean(INPUTS, axis=0)) ** 2,
    ),
}
SECOND_ORDER: dict[str, Case] = {
    **{
        f"hvp {mode}": (
            lambda x, mode=mode: ad.hvp(scalar, (x,), (right(x),), mode=mode),
            lambda x: hessian_of_scalar(x) @ right(x),
        )
        for mode in ("auto", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward")
    },
    "backpropagate": (lambda x: curvature.backpropagate(scalar)(x).hessian, hessian_of_scalar),
    "block_hessian": (
        lambda x: curvature.block_hessian(lambda p: scalar(np.append(p[0], p[1])))((x[:2], x[2])),
        lambda x: (hessian_of_scalar(x)[:2, :2], hessian_of_scalar(x)[2, 2]),
    ),
    "block_gauss_newton": (lambda x: curvature.block_gauss_newton(loss, model)(x), gauss_newton),
    # exact where no operation joins two values that depend on the same one
    "diagonal_hessian": (
        lambda x: curvature.diagonal_hessian(lambda x: np.sum(np.cosh(np.sin(x))))(x).diagonal,
        lambda x: np.cosh(np.sin(x)) * np.cos(x) ** 2 - np.sinh(np.sin(x)) * np.sin(x),
    ),
    "gauss_newton": (lambda x: curvature.gauss_newton(loss, model)(x), gauss_newton),
    "kronecker_gauss_newton": (
        lambda x: curvature.kronecker_gauss_newton(
            lambda z, y: loss(z), lambda w, s: model(w), samples=(np.zeros((1, 1)), np.zeros((1, 1)))
        )(x).to_dense(),
        gauss_newton,
    ),
    "gauss_newton_product": (
        lambda x: curvature.gauss_newton_product(loss, model, (x,), (right(x),)),
        lambda x: gauss_newton(x) @ right(x),
    ),
    "gauss_newton_factor, factor_product": (
        lambda x: curvature.factor_product(curvature.gauss_newton_factor(loss, model)(x), right(x)),
        lambda x: gauss_newton(x) @ right(x),
    ),
    "hessian_split": (
        lambda x: curvature.hessian_split(loss, np.sin)(x).rest,
        lambda x: np.diag(-np.sinh(np.sin(x)) * np.sin(x)),
    ),
    "fisher": (
        lambda x: curvature.fisher(categorical, model, support=CLASSES)(x),
        lambda x: slope_of_model(x).T @ information(model(x)) @ slope_of_model(x),
    ),
    "fisher_product": (
        lambda x: curvature.fisher_product(categorical, np.sin, (x,), (right(x),), support=CLASSES, form="hessian"),
        lambda x: np.cos(x) * (information(np.sin(x)) @ (np.cos(x) * right(x))),
    ),
    "output_fisher": (lambda x: curvature.output_fisher(categorical, x, support=CLASSES), information),
    "empirical_fisher": (
        lambda x: curvature.empirical_fisher(categorical, of_inputs, (INPUTS, LABELS))(x),
        lambda x: scores(x).T @ scores(x) / 2,
    ),
    "empirical_fisher_product": (
        lambda x: curvature.empirical_fisher_product(categorical, of_inputs, (x,), (x,), (INPUTS, LABELS)),
        lambda x: scores(x).T @ (scores(x) @ x) / 2,
    ),
    "inverse_hvp": (
        lambda x: curvature.inverse_hvp(convex, (x,), right(x), method="cg").value,
        lambda x: np.linalg.solve(hessian_of_convex(x), right(x)),
    ),
    "factored_hessian": (
        lambda x: curvature.factored_hessian(convex, "positive definite")(x).solve(right(x)),
        lambda x: np.linalg.solve(hessian_of_convex(x), right(x)),
    ),
    "quadratic_model": (
        lambda x: curvature.quadratic_model(scalar)(x)(V),
        lambda x: scalar(x) + slope_of_scalar(x) @ V + V @ hessian_of_scalar(x) @ V / 2,
    ),
    "sparse.jacobian, color": (
        lambda x: sparse.jacobian(band, coloring=sparse.color(np.tri(3) - np.tri(3, k=-2))).values(x),
        lambda x: np.array([1 + 0 * x[0], np.sin(x[1]), x[0] * np.cos(x[1]), np.sin(x[2]), x[1] * np.cos(x[2])]),
    ),
    "sparse.hessian": (
        lambda x: sparse.hessian(lambda x: np.sum(x[1:] ** 2 * x[:-1]), mode="acyclic").values(x),
        lambda x: np.array([2 * x[1], 2 * x[1], 2 * x[0], 2 * x[2], 2 * x[2], 2 * x[1]]),
    ),
    "sparse.pattern": (lambda x: x * sparse.pattern(band)(x).nnz, lambda x: 5 * x),
}
SERIES: dict[str, Case] = {
    "derivative": (
        lambda x: ad.derivative(np.tanh, 3)(x[0]),
        lambda x: (lambda t: -2 + 8 * t**2 - 6 * t**4)(np.tanh(x[0])),
    ),
    "taylor": (
        lambda x: ad.taylor(scalar, x, 2)(x + V),
        lambda x: scalar(x) + slope_of_scalar(x) @ V + V @ hessian_of_scalar(x) @ V / 2,
    ),
    "partials": (lambda x: ad.partials(scalar, 2)(x).tensor(2), hessian_of_scalar),
    "laplacian": (lambda x: ad.laplacian(scalar)(x), lambda x: np.trace(hessian_of_scalar(x))),
}
MEMORY: dict[str, Case] = {
    **{
        f"checkpoint {policy}": (
            lambda x, policy=policy: ad.checkpoint(named, policy=policy)(x),
            lambda x: np.cos(np.sin(x) * x[::-1]),
        )
        for policy in ("products", memory.names("inner"), memory.all_but_names("inner"), memory.offload("everything"))
    },
    **{
        f"loops {plan}": (
            lambda x, plan=plan: ad.fori_loop(0, 4, lambda i, x: turn(np.astype(i, x.dtype), x), x, checkpoint=plan),
            turns,
        )
        for plan in (None, 2, "halving", "full", memory.Online(2), memory.CheckpointsAt((2,)), memory.Disk(slots=2))
    },
    "while_loop": (
        lambda x: ad.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, turn(s[0], s[1])), (0.0, x), checkpoint=2)[1],
        turns,
    ),
    "invertible": (
        lambda x: ad.scan(lambda x, k: (np.exp(x * k), None), x, np.full(2, 0.3), checkpoint=memory.Invertible())[0],
        lambda x: np.exp(0.3 * np.exp(0.3 * x)),
    ),
    "reversible": (
        lambda x: ad.reversible(lambda s, p: np.exp(s * p), inverse=lambda y, p: np.log(y) / p)(x, 2.0),
        lambda x: np.exp(2 * x),
    ),
    "coupling": (lambda x: memory.coupling(np.sin, np.cos)((x, 2 * x)), coupled),
    "momentum": (lambda x: memory.momentum(np.sin)((x, 2 * x)), pushed_on),
    "leapfrog": (lambda x: memory.leapfrog(lambda q: -np.sin(q), 0.1)((x, 2 * x)), kicked),
}
SUBJECTS = {"maps": MAPS, "solvers": SOLVERS, "second order": SECOND_ORDER, "series": SERIES, "memory": MEMORY}
