"""Dependences kept as sums of products, against boolean matrices."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoint.sparse import relations
from adjoint.sparse.relations import Dependence, concatenate, from_map, from_pairs, ones, union

INPUTS = 7


def random_steps(rng: np.random.Generator, count: int) -> list[tuple[Dependence, Any]]:
    """Pairs (dependence, the matrix that it stands for) from random operations, each on earlier ones."""
    pool: list[tuple[Dependence, Any]] = []
    for _ in range(2):
        matrix = rng.random((5, INPUTS)) < 0.3
        pool.append((Dependence.of(from_pairs(*np.nonzero(matrix), matrix.shape)), matrix))
    for _ in range(count):
        d, matrix = pool[rng.integers(len(pool))]
        e, other = pool[rng.integers(len(pool))]
        match rng.integers(4):
            case 0:
                index = rng.integers(-1, len(matrix), 5)
                made = d.taken(index), np.where((index >= 0)[:, None], matrix[index], False)
            case 1:
                hub = rng.random((2, 5)) < 0.5
                back = rng.integers(0, 2, 5)
                factors = from_map(back, 2), from_pairs(*np.nonzero(hub), hub.shape)
                made = d.through(*factors), ((hub.astype(int) @ matrix) > 0)[back]
            case 2:
                made = union([d, None, e], 5), matrix | other
            case _:
                index = rng.permutation(10)[:5]
                made = concatenate([d, e], [5, 5], INPUTS).taken(index), np.concatenate([matrix, other])[index]
        pool.append(made)
    return pool


@given(st.integers(0, 10**6))
def test_any_operations(seed: int) -> None:
    for d, matrix in random_steps(np.random.default_rng(seed), 8):
        np.testing.assert_array_equal(d.matrix(5).toarray(), matrix)
        np.testing.assert_array_equal(d.together().matrix(1).toarray()[0], matrix.any(axis=0))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("coarse", [False, True])
def test_products_that_are_not_written_out(seed: int, coarse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "SMALL", -1)
    monkeypatch.setattr(relations, "work", lambda left, right: 10**9)
    monkeypatch.setattr(relations, "MOST_TERMS", 1 if coarse else 100)
    kept = 0
    for d, matrix in random_steps(np.random.default_rng(seed), 8):
        found = d.matrix(5).toarray()
        assert not (matrix & ~found).any()
        if not coarse:
            np.testing.assert_array_equal(found, matrix)
        kept += len(d.terms) > 1 or d.terms[0][0] is not None
    assert kept


def test_too_large_ones_become_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Dependence.of(from_pairs([0, 0], [1, 3], (1, INPUTS)))
    monkeypatch.setattr(relations, "SMALL", -1)
    monkeypatch.setattr(relations, "MOST", 3)
    monkeypatch.setattr(relations, "work", lambda left, right: 10**9)
    found = row.through(ones(4, 1))
    np.testing.assert_array_equal(found.matrix(4).toarray(), np.tile(row.matrix(1).toarray(), (4, 1)))


def test_many_blocks_that_have_nothing_in_common_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relations, "SMALL", -1)
    monkeypatch.setattr(relations, "MOST_TERMS", 3)
    parts = []
    for k in range(8):
        mean = Dependence.of(from_pairs(np.zeros(30, int), 30 * k + np.arange(30), (1, 240)))
        parts.append(union([mean.through(ones(30, 1)), Dependence.of(from_map(30 * k + np.arange(30), 240))], 30))
    found = concatenate(parts, [30] * 8, 240)
    assert any(left is not None for left, _ in found.terms)
    np.testing.assert_array_equal(found.matrix(240).toarray(), np.kron(np.eye(8), np.ones((30, 30))) > 0)


def test_a_uniform_one_fits_any_size() -> None:
    row = Dependence.of(from_pairs([0], [2], (1, INPUTS)), uniform=True)
    assert row.matrix(3).toarray()[:, 2].all()
    assert row.taken(np.array([0, -1, 1])).matrix(3).toarray()[:, 2].tolist() == [True, False, True]
    assert union([row, row.together()], None) is row
