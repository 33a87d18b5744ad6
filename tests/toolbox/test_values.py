"""Every function of the derivative toolbox against NumPy: values, derivatives of both orders, lanes; and its objects.

What is expected is written without the library; derivatives are compared with differences of that. Every public name
of the toolbox is here, among those that look at values, or among those that no transformation concerns.
"""

import ast
import importlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import curvature, linear
from tests.toolbox import cases, test_matrix
from tests.toolbox.cases import CLASSES, SUBJECTS, softmax
from tests.toolbox.test_matrix import NEAR, V, X, agree, categorical, loss, model, positive, right, scalar, total

Function = Callable[[Any], Any]
M, N = np.array(test_matrix.M), np.array(test_matrix.N)


def both(subject: str) -> tuple[Function, Function]:
    """All functions of a subject in one, and what is expected of them."""
    cases = SUBJECTS[subject]
    found = lambda x: {name: case[0](x) for name, case in cases.items()}
    return found, lambda x: {name: case[1](x) for name, case in cases.items()}


def differences(f: Function, x: Any, v: Any, h: float = 1e-3) -> tuple[Any, Any]:
    """The first and the second derivative of t ↦ f(x + t v), of fourth order."""
    at = [f(x + k * h * v) for k in (-2, -1, 0, 1, 2)]
    first = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * h)
    return first, (-at[0] + 16 * at[1] - 30 * at[2] + 16 * at[3] - at[4]) / (12 * h * h)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_values(subject: str) -> None:
    found, expected = both(subject)
    agree(found(X), expected(X), 1e-8)
    loop = ad.tree.map(lambda *leaves: np.stack(leaves), *[expected(x) for x in NEAR])
    agree(ad.vmap(found)(NEAR), loop, 1e-8)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_derivatives(subject: str) -> None:
    found, expected = map(total, both(subject))
    first, second = differences(expected, X, V)
    slope = ad.grad(found)
    agree(slope(X) @ V, first, 1e-6)
    agree(ad.vmap(slope)(NEAR)[0], slope(X), 1e-8)
    _, (along, curved) = ad.jet(found, (X,), ([V, np.zeros(3)],))
    agree(along, first, 1e-6)
    agree(curved, second, 1e-5)
    agree(ad.grad(lambda x: slope(x) @ V)(X) @ V, second, 1e-5)


PACKAGES = ["linear", "sparse", "curvature", "series", "memory", "audit"]
APART = {
    "multi_indices",
    "fewest_calls",
    "longest",
    "schedule",
    "hvp_times",
    "predicted_hvp_costs",
    "inverse_hvp_costs",
}


def test_every_public_name_is_in_the_matrix() -> None:
    used: set[str] = set()
    for path in (__file__, test_matrix.__file__, cases.__file__):
        tree = ast.parse(Path(path).read_text(encoding="utf-8"))
        used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    public = {name for package in PACKAGES for name in importlib.import_module(f"adjoint.{package}").__all__}
    functions = {name for name in public if name[0].islower()}
    assert functions - used == APART


def test_incomplete_factors_of_constants() -> None:
    for make, matrix, solver in (
        (linear.incomplete_cholesky, M, linear.cg),
        (linear.incomplete_lu, N, linear.gmres),
    ):
        factors = make(matrix)
        f = lambda x, factors=factors, matrix=matrix, solver=solver: solver(matrix, right(x), preconditioner=factors)
        wanted = np.linalg.solve(matrix, right(X))
        agree(f(X).value, wanted)
        agree(ad.jit(lambda x, f=f: f(x).value)(X), wanted)
        agree(ad.jvp(lambda x, f=f: f(x).value, (X,), (V,))[1], np.linalg.solve(matrix, np.cos(X) * V))


# how an object is made, and what is done with it
OBJECTS: dict[str, tuple[Function, Function]] = {
    "LinearMap": (lambda x: linear.matrix(positive(x)), lambda A: A.solve(V)),
    "Derivative": (linear.jacobian(model), lambda A: A.T @ V),
    "Factored": (lambda x: linear.factored(linear.matrix(positive(x))), lambda A: A.solve(V)),
    "InnerProduct": (lambda x: linear.inner_product(positive(x)), lambda product: product(V, V)),
    "BilinearMap": (linear.second_derivative(model), lambda b: b(V, V)),
    "Covector": (linear.Covector, lambda covector: covector(V)),
    "Solution": (lambda x: linear.cg(positive(x), right(x)), lambda solution: solution.value),
    "Estimate": (lambda x: linear.estimate_trace(positive(x), 0, 4), lambda estimate: estimate.value),
    "Bartlett": (
        lambda x: linear.bartlett(categorical, x, CLASSES, weights=softmax(x)),
        lambda found: found.map.to_dense(),
    ),
    "TaylorPolynomial": (lambda x: ad.taylor(scalar, x, 2), lambda p: p(V)),
    "Partials": (ad.partials(scalar, 2), lambda p: p.tensor(2)),
    "QuadraticModel": (curvature.quadratic_model(scalar), lambda q: q(V)),
    "SecondOrder": (curvature.backpropagate(scalar), lambda found: found.hessian),
    "FirstAndDiagonal": (curvature.diagonal_hessian(scalar), lambda found: found.diagonal),
    "HessianSplit": (curvature.hessian_split(loss, model), lambda found: found.rest),
}


def make(x: Any) -> dict[str, Any]:
    return {name: making(x) for name, (making, _) in OBJECTS.items()}


def use(objects: dict[str, Any]) -> dict[str, Any]:
    return {name: OBJECTS[name][1](made) for name, made in objects.items()}


def test_objects_are_arguments_and_results_of_transformations() -> None:
    expected, made = use(make(X)), make(X)
    agree(use(ad.jit(make)(X)), expected)
    agree(ad.jit(use)(made), expected)
    agree(use(pickle.loads(pickle.dumps(made))), expected)
    agree(ad.scan(lambda objects, _: (objects, use(objects)), made, length=1)[0]["Covector"].components, X)
    stacks = ad.vmap(make)(NEAR)
    loop = ad.tree.map(lambda *leaves: np.stack(leaves), *[use(make(x)) for x in NEAR])
    agree(ad.vmap(use)(stacks), loop)
    agree(use(ad.tree.map(lambda leaf: leaf[0], stacks)), expected)
    # through an object that was made apart
    weighted = total(lambda x: use(make(x)))
    slopes = ad.vjp(make, X)[1](ad.grad(total(use))(made))[0]
    agree(slopes, ad.grad(weighted)(X), 1e-7)
