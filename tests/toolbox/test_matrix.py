"""The derivative toolbox inside the transformations: compiled, mapped, differentiated, in single precision.

The functions of a subject are compiled together; the name of a result says which one differs.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import audit, curvature, linear, memory, sparse, testing
from adjoint.base.errors import TraceError

Function = Callable[[Any], Any]
X = np.array([0.3, -0.7, 1.1])
V = np.array([0.4, -1.0, 0.6])
NEAR = np.stack([X, 0.97 * X, 1.02 * X])
M = ((4.0, 1.0, 0.5), (1.0, 3.0, 0.2), (0.5, 0.2, 5.0))
N = ((4.0, 1.0, 0.5), (-1.0, 3.0, 0.2), (0.5, 0.7, 5.0))


def positive(x: Any) -> Any:
    return np.asarray(M, x.dtype) + np.diag(x * x)


def general(x: Any) -> Any:
    return np.asarray(N, x.dtype) + 0.1 * np.outer(x, x * x)


def right(x: Any) -> Any:
    return np.asarray((1.0, -2.0, 0.5), x.dtype) + np.sin(x)


def scalar(x: Any) -> Any:
    return np.sum(np.sin(x) * np.exp(x[::-1])) + np.prod(x)


def convex(x: Any) -> Any:
    return np.sum(np.cosh(x)) + np.sum(x) ** 2


def model(x: Any) -> Any:
    return np.sin(x) * x[::-1] + x**2


def loss(z: Any) -> Any:
    return np.sum(np.cosh(z))


def categorical(z: Any, y: Any) -> Any:
    return np.log(np.sum(np.exp(z))) - z[y]


def band(x: Any) -> Any:
    return np.concatenate([x[:1], x[:-1] * np.sin(x[1:])])


def maps(x: Any) -> dict[str, Any]:
    A, S = linear.matrix(general(x)), linear.matrix(positive(x), "positive definite")
    b = right(x)
    low = linear.diagonal(x * x + 1) + linear.low_rank(x)
    pairs = linear.block([[A, linear.identity(x)], [None, S]])
    return {
        "composed": (A @ S).T @ b,
        "cholesky": S.solve(b),
        "woodbury": low.solve(b),
        "block": pairs.solve((b, x)),
        "kronecker": linear.kronecker(general(x), positive(x)).solve(np.concatenate([b, x, b])),
        "logdet": linear.logdet(S) + linear.logdet(low),
        "unit triangle": linear.slogdet(linear.triangular(general(x), unit_diagonal=True))[1],
        "jacobian": linear.jacobian(model)(x).T @ b,
        "hessian": linear.hessian(convex, 0, "positive definite")(x).solve(b),
        "gauss_newton": linear.gauss_newton(loss, model)(x).to_dense(),
        "gradient": linear.gradient(scalar, linear.inner_product(positive(x)))(x),
    }


def solvers(x: Any) -> dict[str, Any]:
    b = right(x)
    return {
        "cg": linear.cg(lambda v: positive(x) @ v, b, preconditioner=linear.jacobi(positive(x))).value,
        "minres": linear.minres(positive(x), b, x0=x).value,
        "gmres": linear.gmres(general(x), b).raise_if_failed().value,
        "lsmr": linear.lsmr(general(x)[:, :2], b, damp=x[0]).value,
        "logdet": linear.estimate_logdet(positive(x), 0, 3, 3).value,
        "forward_gradient": ad.forward_gradient(scalar, samples=2)(0, x).value,
    }


def second_order(x: Any) -> dict[str, Any]:
    b = right(x)
    return {
        "hvp": ad.hvp(scalar, (x,), (b,)),
        "backpropagate": tuple(curvature.backpropagate(scalar)(x)),
        "block_hessian": curvature.block_hessian(lambda p: scalar(np.append(p["a"], p["b"])))({"a": x[:2], "b": x[2]}),
        "diagonal_hessian": curvature.diagonal_hessian(model, loss=loss)(x).diagonal,
        "gauss_newton_product": curvature.gauss_newton_product(loss, model, (x,), (b,)),
        "gauss_newton_factor": curvature.factor_product(curvature.gauss_newton_factor(loss, model)(x), b),
        "fisher": curvature.fisher(categorical, model, support=np.arange(3))(x),
        "fisher of samples": curvature.fisher(categorical, model, samples=np.array([0, 2, 2]))(x),
        "inverse_hvp": curvature.inverse_hvp(convex, (x,), b, "positive definite", method="cg").value,
        "quadratic_model": curvature.quadratic_model(scalar)(x)(b),
        "hessian": ad.hessian(scalar, chunk_size=2)(x),
        "jacobian": ad.jacobian(model, mode="reverse", chunk_size=2)(x),
        "sparse jacobian": sparse.jacobian(band).values(x),
        "sparse hessian": sparse.hessian(lambda x: np.sum(band(x) ** 2), mode="star").values(x),
    }


def series(x: Any) -> dict[str, Any]:
    return {
        "derivative": ad.derivative(np.tanh, 4)(x[0]),
        "taylor": ad.taylor(scalar, x, 2)(x + right(x)),
        "remainder": ad.taylor(np.exp, x[1], 2).remainder(x[0]),
        "partials": ad.partials(scalar, 2)(x).tensor(2),
        "laplacian": ad.laplacian(scalar)(x),
    }


def layer(x: Any, k: Any) -> Any:
    return np.sin(x * k) + x[::-1]


def with_less_memory(x: Any) -> dict[str, Any]:
    turn = lambda x, i: (x + 0.1 * np.sin(x[::-1] * i), x * i)
    turns = np.arange(5).astype(x.dtype)
    grows = lambda s: 1.2 * s + 0.1 * np.sin(s)
    scale = ad.reversible(lambda s, p: np.exp(s * p), inverse=lambda y, p: np.log(y) / p)
    return {
        "checkpoint": ad.checkpoint(layer)(x, 2.0),
        "policy": ad.checkpoint(layer, policy="products")(x, k=2.0),
        "slots": ad.scan(turn, x, turns, checkpoint=2),
        "halving": ad.scan(turn, x, turns, checkpoint="halving"),
        "disk": ad.scan(turn, x, turns, checkpoint=memory.Disk(slots=2)),
        "online": ad.while_loop(lambda s: np.sum(s * s) < 30, grows, x, checkpoint=memory.Online(2)),
        "reversible": scale(x, 2.0),
        "coupling": memory.coupling(np.sin, np.cos)((x, 2 * x)),
    }


def total(f: Function) -> Function:
    """A weighted sum of all results."""

    def weighted(x: Any) -> Any:
        flat = np.concatenate([np.ravel(leaf) for leaf in ad.tree.leaves(f(x))])
        return np.sum(flat * np.cos(np.arange(flat.size)).astype(flat.dtype))

    return weighted


def agree(found: Any, expected: Any, rtol: float = 1e-8) -> None:
    names = ad.tree.flatten(expected)[1].paths()
    for name, a, b in zip(names, ad.tree.leaves(found), ad.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=name)


SUBJECTS = [maps, solvers, second_order, series, with_less_memory]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_compiled_and_mapped_values_are_those_of_a_loop(subject: Function) -> None:
    loop = [subject(x) for x in NEAR]
    stacked = ad.tree.map(lambda *leaves: np.stack(leaves), *loop)
    agree(ad.vmap(subject)(NEAR), stacked)
    agree(ad.jit(subject)(X), loop[0])


@pytest.mark.parametrize("subject", SUBJECTS)
def test_derivatives_are_those_of_differences(subject: Function) -> None:
    f = total(subject)
    expected = testing.difference(f, X, V, accuracy=4).value
    agree(ad.jvp(f, (X,), (V,))[1], expected, 1e-6)
    gradients = [ad.grad(f)(x) for x in NEAR]
    agree(gradients[0] @ V, expected, 1e-6)
    agree(ad.jit(ad.vmap(ad.grad(f)))(NEAR), np.stack(gradients), 1e-6)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_single_precision_stays(subject: Function) -> None:
    found = subject(X.astype(np.float32))
    names = ad.tree.flatten(found)[1].paths()
    wrong = [name for name, leaf in zip(names, ad.tree.leaves(found), strict=True) if leaf.dtype != np.float32]
    assert not wrong
    agree(found, subject(X), 2e-3)


OUTSIDE: dict[str, Function] = {
    "sparse.jacobian": sparse.jacobian(band),
    "sparse.hessian": sparse.hessian(scalar),
    "cost": audit.cost(scalar),
    "kinks": audit.kinks(scalar),
    "generalized_jacobian": audit.generalized_jacobian(scalar),
    "directional": lambda x: audit.directional(scalar)(x, V),
    "lipschitz": audit.lipschitz(scalar),
    "tangent_space": audit.tangent_space(scalar),
    "is_subgradient": lambda x: audit.is_subgradient(scalar, x, x),
    "memory_report": ad.memory_report(scalar),
    "check_facts": lambda x: linear.check_facts(linear.matrix(positive(x)), "symmetric"),
    "check_adjoint": lambda x: linear.check_adjoint(linear.matrix(positive(x))),
    "find_facts": lambda x: linear.find_facts(linear.matrix(positive(x))),
    "incomplete_lu": lambda x: linear.incomplete_lu(positive(x)),
    "difference": lambda x: testing.difference(scalar, x, V),
    "finite_difference": lambda x: testing.finite_difference(scalar, x, V),
    "complex_step": lambda x: testing.complex_step(scalar, x, V),
    "difference_gradient": lambda x: testing.difference_gradient(scalar, x),
    "richardson": lambda x: testing.richardson(scalar, x, V),
    "check_grads": lambda x: testing.check_grads(scalar, (x,)),
    "check_frechet": lambda x: testing.check_frechet(scalar, x),
    "mp_difference": lambda x: testing.mp_difference(lambda t: t**2, x[0]),
}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("transformed", [ad.jit, ad.vmap, ad.grad])
def test_what_looks_at_values_says_so_by_name(name: str, transformed: Any) -> None:
    with pytest.raises(TraceError, match=rf"^{name}\b.*(outside|values\(\*args\))"):
        transformed(OUTSIDE[name])(NEAR if transformed is ad.vmap else X)


def test_a_local_pattern_needs_the_values() -> None:
    local = lambda x: 0 * x + sparse.pattern(band, local=True)(x).nnz
    np.testing.assert_array_equal(local(X), ad.jvp(local, (X,), (V,))[0])
    for inside in (ad.jit(local), lambda x: ad.vmap(local)(NEAR)):
        with pytest.raises(TraceError, match=r"^sparse\.pattern looks at the values .* outside"):
            inside(X)
