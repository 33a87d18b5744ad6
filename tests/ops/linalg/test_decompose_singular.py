"""Stacks in which one matrix has factors but no derivative of them: NaN there, and right values for the others."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg
from adjoint.testing.differences import finite_difference

GOOD = 4 * np.eye(3) + np.random.default_rng(0).uniform(-1, 1, (2, 3, 3))
SINGULAR = {
    "zero pivot": np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 2.0]]),
    "rounding": np.outer([0.1, 0.2, 0.3], [1.0, 1.0, 1.0]),
    "equal columns": np.array([[1.0, 1.0, 0.0], [0.3, 0.3, 1.0], [0.7, 0.7, 2.0]]),
}
FACTORS = {
    "qr": np.linalg.qr,
    "qr complete": lambda a: np.linalg.qr(a, mode="complete"),
    "qr of a tall one": lambda a: np.linalg.qr(a[..., :2]),
    "rq": linalg.rq,
    "lu": lambda a: linalg.lu(a)[1:],
    "lu of a tall one": lambda a: linalg.lu(a[..., :2])[1:],
    "polar": linalg.polar,
}
V = np.random.default_rng(1).normal(size=(3, 3, 3))


def weighted(f):
    def call(a):
        parts = f(a)
        return sum(np.sum(np.cos(np.arange(p.size)).reshape(p.shape) * p) for p in parts)

    return call


@pytest.mark.parametrize("bad", SINGULAR.values(), ids=SINGULAR)
@pytest.mark.parametrize("f", FACTORS.values(), ids=FACTORS)
def test_the_others_have_their_derivatives(f, bad) -> None:
    a = np.stack([GOOD[0], bad, GOOD[1]])
    for part, wanted in zip(ad.jvp(f, (a,), (V,))[1], finite_difference(f, GOOD, V[::2], accuracy=6), strict=True):
        np.testing.assert_allclose(part[::2], wanted, atol=1e-8)
        assert np.any(np.isnan(part[1]))
    one = lambda a: weighted(f)(a)
    for gradients in (ad.vmap(ad.grad(one))(a), ad.jit(ad.vmap(ad.grad(one)))(a)):
        for k in (0, 2):
            np.testing.assert_allclose(gradients[k], ad.grad(one)(a[k]), rtol=1e-10, atol=1e-12)
        assert np.any(np.isnan(gradients[1]))


@pytest.mark.parametrize("f", [f for name, f in FACTORS.items() if name != "polar"])
def test_what_does_not_count_has_no_derivative(f) -> None:
    a = np.stack([GOOD[0], SINGULAR["zero pivot"]])
    gradient = ad.grad(lambda a: sum(np.sum(p[0]) for p in f(a)))(a)
    np.testing.assert_array_equal(gradient[1], np.zeros((3, 3)))
    np.testing.assert_allclose(gradient[0], ad.grad(lambda a: sum(np.sum(p) for p in f(a)))(a[0]), atol=1e-12)


def test_schur_forms_of_a_stack() -> None:
    """An eigenvalue that occurs twice is no matter for the others; alone, it raises."""
    twice = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]])
    apart = np.diag([1.0, 2.0, 4.0]) + 0.1 * V[0]
    f = lambda a: linalg.schur(a)[0]
    rates = ad.jvp(f, (np.stack([twice, apart]),), (V[:2],))[1]
    assert np.any(np.isnan(rates[0]))
    np.testing.assert_allclose(rates[1], finite_difference(f, apart, V[1], accuracy=6), atol=1e-7)
    with pytest.raises(np.linalg.LinAlgError, match="schur: an eigenvalue occurs twice"):
        ad.jvp(f, (twice,), (V[0],))


def test_ldl_of_singular_matrices() -> None:
    """The last pivot may be zero, but no other: L is divided by them."""
    f = lambda a: linalg.ldl(a)[:2]
    last, first = np.array([[4.0, 2.0], [2.0, 1.0]]), np.zeros((2, 2))
    v = np.array([[0.3, 0.0], [0.2, 0.5]])
    for part, wanted in zip(ad.jvp(f, (last,), (v,))[1], finite_difference(f, last, v, accuracy=6), strict=True):
        np.testing.assert_allclose(part, wanted, atol=1e-8)
    low, d = ad.jvp(f, (np.stack([last, first]),), (np.stack([v, v]),))[1]
    np.testing.assert_allclose(low[0], ad.jvp(f, (last,), (v,))[1][0], atol=1e-14)
    assert np.any(np.isnan(low[1]))
    assert np.all(np.isfinite(d))
    gradient = ad.grad(weighted(f))(np.stack([last, first]))
    np.testing.assert_allclose(gradient[0], ad.grad(lambda a: weighted(f)(np.stack([a, np.eye(2)])))(last), rtol=1e-12)
    assert np.any(np.isnan(gradient[1]))


def test_least_squares_of_a_stack_keep_the_rank() -> None:
    a = np.stack([GOOD[0], SINGULAR["equal columns"]])
    for f in (np.linalg.pinv, linalg.pinv, lambda a: np.linalg.lstsq(a, np.ones(3))[0]):
        gradients = ad.vmap(ad.grad(lambda a, f=f: np.sum(f(a))))(a)
        assert np.all(np.isfinite(gradients))
        np.testing.assert_allclose(gradients[0], ad.grad(lambda a, f=f: np.sum(f(a)))(a[0]), rtol=1e-10)


@pytest.mark.parametrize("f, error", [(np.linalg.cholesky, "positive definite"), (np.linalg.inv, "[Ss]ingular")])
def test_what_has_no_value_is_refused_as_by_numpy(f, error) -> None:
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, -1.0])])
    for call in (f, lambda a: ad.jvp(f, (a,), (a,)), ad.grad(lambda a: np.sum(f(a)))):
        with pytest.raises(np.linalg.LinAlgError, match=error):
            call(a)
