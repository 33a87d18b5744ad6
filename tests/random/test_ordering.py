"""Choices and permutations: every outcome as often as it should come, every form as NumPy has it."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint.base.errors import ShapeError, TraceError


def rng(seed=9):
    return ad.random.default_rng(seed)


def counts(outcomes, possible):
    found = [tuple(o) for o in outcomes.tolist()]
    return [found.count(p) for p in possible]


def test_every_permutation_is_as_likely():
    outcomes = rng().permuted(np.broadcast_to(np.arange(4), (6000, 4)), axis=1)
    found = counts(outcomes, list(itertools.permutations(range(4))))
    assert sum(found) == 6000
    assert stats.chisquare(found).pvalue > 1e-3


def test_choice_without_replacement_is_uniform_over_ordered_subsets():
    generator = rng()
    outcomes = np.array([generator.choice(5, 2, replace=False) for _ in range(4000)])
    found = counts(outcomes, list(itertools.permutations(range(5), 2)))
    assert sum(found) == 4000
    assert stats.chisquare(found).pvalue > 1e-3


def test_sparse_choice_without_replacement():
    generator = rng()
    outcomes = np.array([generator.choice(200, 3, replace=False) for _ in range(3000)])
    assert all(len(set(o)) == 3 for o in outcomes.tolist())
    assert stats.kstest(outcomes[:, 0] / 200, "uniform").pvalue > 1e-4
    assert stats.kstest(outcomes[:, 2] / 200, "uniform").pvalue > 1e-4
    assert stats.chisquare([np.mean(np.argmax(outcomes, axis=1) == i) * 3000 for i in range(3)]).pvalue > 1e-3
    huge = rng().choice(10**12, 5, replace=False)
    assert len(set(huge.tolist())) == 5


def test_weighted_choices():
    p = np.array([0.1, 0.2, 0.0, 0.7])
    x = rng().choice(4, 20_000, p=p)
    assert not np.any(x == 2)
    assert stats.chisquare([np.sum(x == i) for i in (0, 1, 3)], p[p > 0] * 20_000).pvalue > 1e-3
    # without replacement: one after the other, each with the weights of those that are left
    generator = rng()
    pairs = np.array([generator.choice(4, 2, replace=False, p=p) for _ in range(4000)])
    possible = list(itertools.permutations((0, 1, 3), 2))
    expected = [p[i] * p[j] / (1 - p[i]) * 4000 for i, j in possible]
    assert stats.chisquare(counts(pairs, possible), expected).pvalue > 1e-3


def test_forms_of_choice():
    a = np.arange(12.0).reshape(3, 4)
    assert rng().choice(a, 2).shape == (2, 4)
    assert rng().choice(a, 2, axis=1).shape == (3, 2)
    assert rng().choice(a, (2, 5), axis=1).shape == (3, 2, 5)
    assert rng().choice(a).shape == (4,)
    assert np.shape(rng().choice(5)) == ()
    assert rng().choice(["x", "y"]) in ("x", "y")
    assert rng().choice(5, (2, 2), replace=False).shape == (2, 2)
    assert sorted(rng().choice(6, 6, replace=False)) == list(range(6))


def test_permutations_are_linear_maps():
    x = np.arange(6.0)
    p = rng().permutation(6)
    assert_array_equal(rng().permutation(x), x[p])
    w = np.arange(1.0, 7.0)
    assert_array_equal(ad.grad(lambda x: np.sum(w * rng().permutation(x)))(x), w[np.argsort(p)])
    assert_array_equal(ad.grad(lambda x: np.sum(w * rng().permuted(x)))(x), w[np.argsort(p)])
    a = np.arange(12.0).reshape(3, 4)
    assert_array_equal(np.sort(rng().permutation(a, axis=1), axis=1), a)
    assert_array_equal(np.sort(rng().permuted(a, axis=None).ravel()), a.ravel())
    assert_allclose(ad.grad(lambda a: np.sum(rng().choice(a, 50) ** 2))(x), 2 * x * np.bincount(rng().choice(6, 50)))


def test_shuffle_works_in_place():
    x, items, a = np.arange(8), list("abcdefgh"), np.arange(12).reshape(3, 4)
    assert rng().shuffle(x) is None
    assert_array_equal(x, rng().permutation(8))
    rng().shuffle(items)
    assert items == [list("abcdefgh")[i] for i in x]
    rng().shuffle(a, axis=1)
    assert_array_equal(np.sort(a, axis=1), np.arange(12).reshape(3, 4))

    def shuffled(x):
        y = x * 1.0
        rng().shuffle(y)
        return np.sum(y * np.arange(8.0))

    assert_array_equal(ad.grad(shuffled)(np.ones(8)), np.argsort(x))
    mapped = ad.vmap(lambda x, r: r.permutation(x))(np.tile(np.arange(5), (3, 1)), rng())
    assert_array_equal(mapped, [r.permutation(5) for r in rng().split(3)])
    with pytest.raises(TraceError, match="shuffle: a plain array"):
        ad.vmap(lambda r: r.shuffle(np.arange(3)))(rng().split(2))
    with pytest.raises(TraceError, match="shuffle: a list"):
        ad.vmap(lambda r: r.shuffle([1, 2, 3]))(rng().split(2))


@pytest.mark.parametrize("call, error, message", [
    (lambda r: r.choice(0), ValueError, "choice: a must be"),
    (lambda r: r.choice(2.5), TypeError, "choice: a must be"),
    (lambda r: r.choice(3, 4, replace=False), ValueError, "choice: cannot take 4 of 3"),
    (lambda r: r.choice(3, p=[0.5, 0.5]), ShapeError, "choice: p has shape"),
    (lambda r: r.choice(2, p=[0.5, 0.6]), ValueError, "choice: the probabilities p must add up to 1"),
    (lambda r: r.choice(2, p=[-0.5, 1.5]), ValueError, "choice: p must be a probability"),
    (lambda r: r.choice(2, 2, replace=False, p=[1.0, 0.0]), ValueError, "choice: fewer than 2"),
    (lambda r: r.permutation(2.5), TypeError, "permutation: x must be"),
    (lambda r: r.shuffle((1, 2)), TypeError, "shuffle: x must be"),
    (lambda r: r.shuffle(np.array(1)), ShapeError, "shuffle: a number"),
])  # fmt: skip
def test_bad_arguments_name_the_method(call, error, message):
    generator = rng()
    with pytest.raises(error, match=message):
        call(generator)
    assert generator.counter == 0
