"""Colorings and orders by strips."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from adjoint.program.types import ArrayType
from adjoint.sparse.strips import color_rows, find_weave, seeds_by_value, strips_of, weave

FLOAT = np.dtype(np.float64)


def kinds(*shapes: tuple[int, ...]) -> list[ArrayType]:
    return [ArrayType(shape, FLOAT) for shape in shapes]


def test_strips_go_along_the_longest_axis() -> None:
    assert strips_of(kinds((3, 2), (2,), ())).tolist() == [0, 1, 0, 1, 0, 1, 2, 2, 3]
    assert strips_of(kinds((2, 3))).tolist() == [0, 0, 0, 1, 1, 1]
    assert strips_of(kinds((600, 700))) is None


def test_rows_of_one_color_share_no_column() -> None:
    rng = np.random.default_rng(2)
    blocks = np.zeros((40, 40), bool)
    for p in range(20):  # two rows for each of 20 points, of its own two columns
        blocks[2 * p : 2 * p + 2, 2 * p : 2 * p + 2] = True
    order = rng.permutation(40)
    colors = color_rows(csr_array(blocks[:, order]), kinds((20, 2)))
    assert colors.tolist() == [0, 1] * 20
    blocks[0, 2] = True  # the first row reads a column of the second point
    assert color_rows(csr_array(blocks), kinds((20, 2))) is None


def test_seeds_are_short_where_they_are_constant() -> None:
    (first, second) = seeds_by_value(np.array([0, 1] * 3 + [0] * 4), kinds((3, 2), (4,)))
    assert first[0].shape == (1, 2)
    assert first[0].tolist() == [[1.0, 0.0]]
    assert first[1].tolist() == [1.0]
    assert second[0].tolist() == [[0.0, 1.0]]
    assert second[1] is None


@pytest.mark.parametrize("seed", range(5))
def test_what_is_woven_is_the_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    types = kinds((7,), (7, 3), (2, 7), (), (5,), (1,))
    values = [rng.normal(size=t.shape) for t in types]
    every = np.concatenate([np.ravel(v) for v in values])
    numbers = np.split(np.arange(every.size), np.cumsum([v.size for v in values])[:-1])
    strips = [numbers[0], *numbers[1].reshape(7, 3).T, *numbers[2].reshape(2, 7)]
    chosen = [strips[k] for k in rng.permutation(6)[: rng.integers(1, 7)]]
    parts = [np.stack(chosen, 1).ravel(), numbers[4], numbers[3], numbers[5]]
    source = np.concatenate([parts[k] for k in rng.permutation(4)])
    woven = find_weave(source, types)
    assert woven is not None
    np.testing.assert_array_equal(weave(woven, values), every[source])


def test_what_is_no_weave() -> None:
    types = kinds((4,), (4,))
    assert find_weave(np.array([0, 4, 1, 6, 2, 5, 3, 7]), types) is None
    assert find_weave(np.array([1, 2, 3]), types) is None
    assert find_weave(np.array([0, 1, 2]), types) is None
