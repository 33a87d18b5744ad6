"""Elements of a batch that have finished a loop, or do not take a branch, do not raise: the others go on."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad

EYE = np.eye(2)
TABLE = np.arange(5.0)


def until_singular(a: Any, k: Any) -> Any:
    """Σ 1 / j for j = k … 1: the next matrix would have no inverse."""
    return ad.while_loop(
        lambda s: np.linalg.det(s[0]) > 1e-9,
        lambda s: (s[0] - EYE, s[1] + a * np.sum(np.linalg.inv(s[0]))),
        (EYE * k, 0.0 * a),
    )[1]


def solved(a: Any, k: Any) -> Any:
    """k steps, each with an equation; rows of those that are done must not be equations with zeros."""
    return ad.while_loop(
        lambda s: s[1] < k, lambda s: (np.linalg.solve(s[0] + a * EYE, EYE), s[1] + 1.0), (EYE * a, 0.0 * k)
    )[0][0, 0]


def to_the_end_of_a_table(a: Any, k: Any) -> Any:
    start = k.astype(np.int64) if hasattr(k, "astype") else int(k)
    return ad.while_loop(lambda s: s[1] < 5, lambda s: (s[0] + a * TABLE[s[1]] ** 2, s[1] + 1), (0.0 * a, start))[0]


def read_in_an_inner_loop(a: Any, k: Any) -> Any:
    """The index of the outer loop, in a branch of an inner one; and an element that is written to."""
    start = k.astype(np.int64) if hasattr(k, "astype") else int(k)

    def step(s: Any) -> Any:
        total, i, z = s
        read = lambda c, t: (c + ad.cond(c > t, lambda c: a * TABLE[i], lambda c: c + TABLE[4 - i], c), None)
        z = z.copy()
        z[i] = z[i - 1] + a
        return ad.scan(read, total, TABLE[:3])[0], i + 1, z

    total, _, z = ad.while_loop(lambda s: s[1] < 5, step, (0.0 * a, start, TABLE * a))
    return total + np.sum(z * z)


def while_definite(a: Any, k: Any) -> Any:
    return ad.while_loop(
        lambda s: s[0][0, 0] > 0.5,
        lambda s: (s[0] - EYE, s[1] * a + np.sum(np.linalg.cholesky(s[0]))),
        (EYE * k, 0.0 * a),
    )[1]


def in_a_branch(a: Any, k: Any) -> Any:
    return ad.cond(k > 0.5, lambda a: np.sum(np.linalg.inv(k * a * EYE)), lambda a: 3.0 * a, a)


def in_a_branch_of_a_loop(a: Any, k: Any) -> Any:
    def step(s: Any) -> Any:
        return ad.cond(s[1] > 1.5, np.linalg.inv, lambda m: m @ m - EYE, s[0]), s[1] + 1.0

    return np.sum(ad.while_loop(lambda s: s[1] < k, step, (EYE * a, 0.0 * a))[0])


A = np.array([1.5, 2.0, 2.5])
CASES = [
    (until_singular, [1.0, 5.0, 3.0]),
    (solved, [2.0, 0.0, 4.0]),
    (to_the_end_of_a_table, [0.0, 3.0, 5.0]),
    (read_in_an_inner_loop, [0.0, 3.0, 5.0]),
    (while_definite, [0.0, 5.0, 3.0]),
    (in_a_branch, [0.0, 5.0, 3.0]),
    (in_a_branch, [0.0, 0.0, 0.0]),
    (in_a_branch_of_a_loop, [2.0, 4.0, 3.0]),
]


@pytest.mark.parametrize("f, k", CASES, ids=lambda x: getattr(x, "__name__", None))
def test_a_batch_has_what_its_elements_have(f: Any, k: Any) -> None:
    k = np.array(k)
    gradient = ad.grad(f)
    values = [f(x, y) for x, y in zip(A, k, strict=True)]
    gradients = [gradient(x, y) for x, y in zip(A, k, strict=True)]
    for batch in (ad.vmap(f), ad.jit(ad.vmap(f))):
        np.testing.assert_allclose(batch(A, k), values, rtol=1e-12)
    of_sum = ad.grad(lambda a, k: np.sum(ad.vmap(f)(a, k)))
    for batch in (ad.vmap(gradient), ad.jit(ad.vmap(gradient)), ad.jit(of_sum)):
        np.testing.assert_allclose(batch(A, k), gradients, rtol=1e-12)


def test_an_element_that_goes_on_raises() -> None:
    """Its matrix is singular while it still needs it."""
    f = lambda k: ad.while_loop(lambda s: s[0, 0] > -3.0, lambda s: np.linalg.inv(np.linalg.inv(s)) - EYE, EYE * k)
    for batch in (ad.vmap(f), ad.jit(ad.vmap(f))):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            batch(np.array([0.5, 1.0, 2.5]))


def test_second_derivatives_of_elements_that_finish_early() -> None:
    f = lambda a, k: np.sum(
        ad.while_loop(lambda s: s[1] < k, lambda s: (np.linalg.inv(s[0] + a * EYE), s[1] + 1), (EYE, 0.0 * k))[0]
    )
    second = ad.grad(ad.grad(f))
    k = np.array([3.0, 0.0, 1.0])
    expected = [second(x, y) for x, y in zip(A, k, strict=True)]
    np.testing.assert_allclose(ad.jit(ad.vmap(second))(A, k), expected, rtol=1e-12)
    hessian = ad.jit(ad.hessian(lambda a, k: np.sum(ad.vmap(f)(a, k))))(A, k)
    np.testing.assert_allclose(hessian, np.diag(expected), rtol=1e-12)


def test_elements_that_have_finished_make_no_derivative_nan() -> None:
    """Cotangents of zero would meet logarithms of negative numbers in a product of matrices."""
    x, a = np.array([1.5, 0.5, 0.05, 2.0, 0.2]), np.array([[0.3, -0.2], [0.5, 0.1]])

    def f(x: Any, a: Any) -> Any:
        step = lambda s: s - 0.3 - 0.05 * np.sum(np.tanh(a @ np.log(s * np.array([1.0, 2.0]))) ** 2)
        return ad.while_loop(lambda s: s > 0, step, x)

    found = ad.jit(ad.grad(lambda a: np.sum(ad.vmap(f, in_axes=(0, None))(x, a) ** 2)))(a)
    np.testing.assert_allclose(found, ad.grad(lambda a: sum(f(one, a) ** 2 for one in x))(a), rtol=1e-10)
