"""Flips, rolls, diagonals, triangles."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, complex_array, every_check

X, V, T = array(2, 3), array(4), array(2, 3, 4)
CASES = [
    Case("flip", np.flip, (X,)),
    Case("flip axis", lambda x: np.flip(x, 1), (X,)),
    Case("fliplr", np.fliplr, (X,)),
    Case("flipud", np.flipud, (X,)),
    *[Case(f"rot90 {k}", lambda x, k=k: np.rot90(x, k), (X,)) for k in (-1, 0, 1, 2, 3)],
    Case("rot90 axes", lambda x: np.rot90(x, 1, (2, 0)), (T,)),
    Case("roll", lambda x: np.roll(x, 1), (V,)),
    Case("roll flat", lambda x: np.roll(x, -2), (X,)),
    Case("roll axis", lambda x: np.roll(x, 5, axis=1), (X,)),
    Case("roll axes", lambda x: np.roll(x, (1, -1), axis=(0, 1)), (X,)),
    Case("roll twice", lambda x: np.roll(x, (1, 1), axis=(1, 1)), (X,)),
    Case("diagonal", lambda x: np.diagonal(x, 1), (X,)),
    Case("diagonal axes", lambda x: np.diagonal(x, -1, axis1=2, axis2=0), (T,)),
    Case("diag", np.diag, (V,)),
    Case("diag k", lambda x: np.diag(x, -2), (V,)),
    Case("diag of a matrix", lambda x: np.diag(x, 1), (X,)),
    Case("diagflat", lambda x: np.diagflat(x, 1), (X,)),
    Case("tril", np.tril, (array(3, 3),)),
    Case("tril k", lambda x: np.tril(x, -1), (T,)),
    Case("triu", lambda x: np.triu(x, 1), (array(3, 4),)),
    Case("triu of a vector", np.triu, (V,)),
    Case("copy", np.copy, (X,)),
    Case("vander", lambda x: np.vander(x, 4), (V,)),
    Case("vander increasing", lambda x: np.vander(x, increasing=True), (array(3),)),
    Case("compress", lambda x: np.compress([False, True, True], x, axis=1), (X,)),
    Case("compress flat", lambda x: np.compress([True, False, True], x), (X,)),
    Case("extract", lambda x: np.extract(np.arange(6).reshape(2, 3) % 2 == 0, x), (X,)),
    Case("extract by value", lambda x: np.extract(x > 0.8, x), (X,), lanes=False, symbolic=False),
    Case("choose", lambda x, y: np.choose(np.array([0, 1, 1, 0]), [x, y * 2]), (V, array(4, seed=1))),
    Case("choose wrap", lambda x, y: np.choose(np.array([0, 3, -1, 2]), (x, y), mode="wrap"), (V, array(4, seed=1))),
    Case("tril_indices_from", lambda x: x[np.tril_indices_from(x)], (array(3, 3),)),
    Case("diag_indices_from", lambda x: x[np.diag_indices_from(x)], (array(3, 3),)),
    Case("diag complex", np.diag, (complex_array(3),)),
]


@every_check(CASES)
def test_moving(case, check) -> None:
    check(case)


def test_a_diagonal_is_read_only() -> None:
    def f(x):
        np.diagonal(x)[0] = 1.0
        return np.sum(x)

    with pytest.raises(ValueError, match=r"read-only.*diagonal.*copy"):
        ad.grad(f)(np.ones((2, 2)))
