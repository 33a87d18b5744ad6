"""Eigenvalues of any matrix where some coincide: traces of powers, which are polynomials; right or NaN."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.linalg.eigenvalues import groups
from tests.support.sweeps import sampled

rng = np.random.default_rng(7)
P, V = rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
W = rng.normal(size=(4, 4))
TWICE = np.diag([1.0, 1.0, 2.0, 3.0])
MATRICES = {
    "identity": np.eye(4),
    "zero": np.zeros((4, 4)),
    "one pair": TWICE,
    "two pairs": np.diag([1.0, 2.0, 1.0, 2.0]),
    "similar": P @ TWICE @ np.linalg.inv(P),
    "complex pairs": np.kron(np.eye(2), [[0.0, -1.0], [1.0, 0.0]]),
    "complex": (P + 1j * W) @ np.diag([1j, 1j, 2.0, 3.0]) @ np.linalg.inv(P + 1j * W),
    "distinct": np.diag([1.0, 2.0, 3.0, 4.0]) + 0.1 * P,
}
DEFECTIVE = {
    "one block": TWICE + np.diag([1.0, 0.0, 0.0], 1),
    "nilpotent": np.diag(np.ones(3), 1),
}


def by_values(x: Any, p: int = 3) -> Any:
    return np.real(np.sum(np.linalg.eigvals(x) ** p))


def by_products(x: Any, p: int = 3) -> Any:
    y = x
    for _ in range(p - 1):
        y = y @ x
    return np.real(np.trace(y))


Function = Callable[[Any], Any]
WAYS: dict[str, Callable[[Function, Any], Any]] = {
    "grad": lambda f, a: ad.grad(f)(a),
    "jit of grad": lambda f, a: ad.jit(ad.grad(f))(a),
    "jvp": lambda f, a: ad.jvp(f, (a,), (V + 0 * a,))[1],
    "forward over reverse": lambda f, a: ad.jvp(ad.grad(f), (a,), (V + 0 * a,))[1],
    "compiled": lambda f, a: ad.jit(lambda x: ad.jvp(ad.grad(f), (x,), (V + 0 * x,))[1])(a),
    "reverse over reverse": lambda f, a: ad.grad(lambda x: np.real(np.sum(V * ad.grad(f)(x))))(a),
    "forward over forward": lambda f, a: ad.jvp(lambda x: ad.jvp(f, (x,), (V + 0 * a,))[1], (a,), (W + 0 * a,))[1],
    "series": lambda f, a: np.array(ad.jet(f, (a,), ([V + 0 * a, 0 * a, 0 * a],))[1]),
    "lanes": lambda f, a: ad.vmap(ad.grad(f))(np.stack([a, a + V]))[0],
}
ONCE = ("grad", "jit of grad", "jvp", "lanes")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, way", sampled(product(MATRICES, WAYS), every=5))
def test_right_or_nan(name: str, way: str) -> None:
    found, wanted = (WAYS[way](f, MATRICES[name]) for f in (by_values, by_products))
    if way in ONCE or name == "distinct":
        assert np.all(np.isfinite(found))
    known = np.isfinite(found)
    np.testing.assert_allclose(found[known] if np.ndim(found) else found, np.asarray(wanted)[known], atol=1e-9)


@pytest.mark.parametrize("way", ["forward over reverse", "compiled", "series"])
@pytest.mark.parametrize("name", ["one pair", "two pairs", "complex pairs", "complex"])
def test_second_order_in_the_frame_of_the_direction(name: str, way: str) -> None:
    assert np.all(np.isfinite(WAYS[way](by_values, MATRICES[name])))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", DEFECTIVE)
def test_too_few_vectors(name: str, way: str) -> None:
    assert np.any(np.isnan(WAYS[way](by_values, DEFECTIVE[name])))


def rebuilt(x: Any) -> Any:
    w, v = np.linalg.eig(x)
    return np.real(np.sum(W * (v @ np.diag(w**2) @ np.linalg.inv(v))))


@pytest.mark.parametrize("way", ["grad", "jvp", "jit of grad"])
@pytest.mark.parametrize("name", MATRICES)
def test_functions_of_values_and_vectors(name: str, way: str) -> None:
    """First derivatives. (Second ones are not determined by values and vectors where g' is the same for all.)"""
    found, wanted = (WAYS[way](f, MATRICES[name]) for f in (rebuilt, lambda x: np.real(np.sum(W * (x @ x)))))
    known = np.isfinite(found)
    assert np.all(known) or name != "distinct"
    np.testing.assert_allclose(np.asarray(found)[known], np.asarray(wanted)[known], atol=1e-9)


def test_projectors_onto_whole_spaces() -> None:
    """That on the two vectors of the value 1, (A - 2)(A - 3) / 2 on the values 1, 1, 2, 3."""

    def by_vectors(x: Any) -> Any:
        w, v = np.linalg.eig(x)
        mine = np.abs(ad.stop_gradient(w) - 1) < 0.5
        return np.real(np.sum(W * ((v * mine) @ np.linalg.inv(v))))

    a, step = MATRICES["similar"], 1e-5
    exact = lambda t: _projection(a + t * V)
    difference = (exact(step) - exact(-step)) / (2 * step)
    assert np.sum(V * ad.grad(by_vectors)(a)) == pytest.approx(difference, rel=1e-7)


def _projection(a: Any) -> float:
    """By the values and vectors of the moved matrix, where the pair has split."""
    w, v = np.linalg.eig(a)
    near = np.abs(w - 1) < 0.5
    return float(np.real(np.sum(W * ((v * near) @ np.linalg.inv(v)))))


def test_groups() -> None:
    together = np.zeros((5, 5), bool)
    together[0, 3] = together[3, 0] = together[3, 4] = together[4, 3] = together[1, 2] = together[2, 1] = True
    assert [g.tolist() for g in groups(together)] == [[0, 3, 4], [1, 2]]
    assert not list(groups(np.zeros((2, 2), bool)))
