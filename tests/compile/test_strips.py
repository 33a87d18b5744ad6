"""Nests that go strip by strip: the same numbers as NumPy's, in the memory of a strip."""

from collections import OrderedDict
from collections.abc import Generator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.compile import kernel, plan, strips
from tests.random_programs.running import agrees

RNG = np.random.default_rng(0)
ROWS = 1003  # the last strip and the last vector are not whole
PLACES = RNG.permutation(ROWS)


@pytest.fixture(autouse=True)
def small(monkeypatch: Any) -> Generator[None]:
    """Few results in a nest and short strips, which arrays of any size are worth: tests need no large programs."""
    monkeypatch.setattr(strips, "FAR", 0)
    monkeypatch.setattr(strips, "CACHE", 0)
    monkeypatch.setattr(plan, "LARGEST_NEST", 3)
    monkeypatch.setattr(plan, "DEEPEST", 8)
    monkeypatch.setattr(kernel, "_families", OrderedDict())
    with config.override(cache=False):
        yield


def groups_of(monkeypatch: Any, f: Any, *args: Any, rounding: float = 1e-12) -> list[strips.Group]:
    """The groups in the kernel of a function, whose numbers are compared with NumPy's."""
    found: list[strips.Group] = []
    find = strips.find_groups

    def watch(*given: Any, **options: Any) -> Any:
        groups = find(*given, **options)
        found.extend(groups.values())
        return groups

    monkeypatch.setattr("adjoint.compile.emit.find_groups", watch)
    agrees(f, *args, rounding=rounding)
    return found


def chain(x: Any, steps: int) -> list[Any]:
    """Results that are dear and read twice: each is kept."""
    results = [np.sin(x)]
    for k in range(steps):
        results.append(np.exp(-(results[-1] ** 2)) + np.cos(results[k // 2] * x))
    return results


def test_a_long_pointwise_program_keeps_a_strip_of_what_it_alone_reads(monkeypatch: Any) -> None:
    x = RNG.normal(size=ROWS)
    (group,) = groups_of(monkeypatch, lambda x: chain(x, 24)[-1], x)
    assert len(group.steps) > 1
    assert len(group.inside) > 8
    assert agrees(lambda x: chain(x, 24)[-1], x).workspace < 8 * ROWS


def test_what_is_returned_or_read_later_is_whole(monkeypatch: Any) -> None:
    x = RNG.normal(size=ROWS)

    def f(x: Any) -> Any:
        results = chain(x, 24)
        return results[7], results[-1], np.cumsum(results[11]), np.sort(results[20])

    (group, *_) = groups_of(monkeypatch, f, x)
    assert group.inside


@pytest.mark.parametrize("width", [1, 2, 5, 28])
def test_rows_of_matrices_reduced_and_spread_again(monkeypatch: Any, width: int) -> None:
    """Softmax, twice: maxima and sums of rows stand between the nests."""
    x = RNG.normal(size=(ROWS, width))

    def softmax(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    def f(x: Any) -> Any:
        p = softmax(np.sin(x))
        return softmax(p * p + np.tanh(x)), np.sum(p, axis=0)

    groups = groups_of(monkeypatch, f, x)
    assert any(len(group.steps) > 1 for group in groups) or width == 1


def test_a_neighboring_row_is_waited_for(monkeypatch: Any) -> None:
    """A step that reads the row before, or all rows, or rows by number, ends the group."""
    x = RNG.normal(size=ROWS)
    turned = RNG.permutation(ROWS)

    def f(x: Any) -> Any:
        y = chain(x, 12)[-1]
        moved = np.concatenate([y[:1], y[:-1]])
        z = chain(moved + y[::-1], 12)[-1]
        return chain(z[turned] + np.mean(z), 12)[-1]

    groups_of(monkeypatch, f, x)


def test_columns_of_a_transposed_matrix_are_no_rows(monkeypatch: Any) -> None:
    x = RNG.normal(size=(200, 200))

    def f(x: Any) -> Any:
        y = np.exp(np.sin(x)) * np.cos(x)
        z = np.tanh(y + y.T) * np.exp(y)
        return chain(z, 12)[-1] + chain(z.T, 12)[-1]

    groups_of(monkeypatch, f, x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_other_numbers(monkeypatch: Any, dtype: str) -> None:
    x = RNG.normal(size=(ROWS, 3)).astype(dtype)
    f = lambda x: [y * 1 for y in chain(x * 0.1, 12)[-3:]]
    assert groups_of(monkeypatch, f, x, rounding=1e-4 if dtype == "float32" else 1e-11)


def test_any_size_and_any_number_of_threads() -> None:
    f = lambda x: np.sum(chain(x, 14)[-1] ** 2)
    compiled = ad.jit(ad.value_and_grad(f))
    for n in (150, 1003, 150, 997, 40_009):
        x = RNG.normal(size=n)
        with config.override(threads=1):
            value, slope = compiled(x)
        with config.override(threads=3):
            again = compiled(x)
        assert value == again[0]
        assert np.array_equal(slope, again[1])
        expected = ad.value_and_grad(f)(x)
        np.testing.assert_allclose(value, expected[0], rtol=1e-11)
        np.testing.assert_allclose(slope, expected[1], rtol=1e-9, atol=1e-11)


def test_an_index_out_of_bounds_inside_a_strip_is_reported() -> None:
    table = np.linspace(0.0, 1.0, 50)

    def f(x: Any, at: Any) -> Any:
        return chain(x * table[at], 14)[-1]

    at = RNG.integers(0, 50, ROWS)
    compiled = ad.jit(f)
    compiled(np.ones(ROWS), at)
    at[700] = 50
    with pytest.raises(IndexError, match="index 50 is out of bounds for an axis of size 50"):
        compiled(np.ones(ROWS), at)


@pytest.mark.parametrize("turned", [lambda x: x[::-1], lambda x: np.roll(x, 1), lambda x: x[PLACES], lambda x: x])
def test_a_carry_that_is_written_over_is_read_before(monkeypatch: Any, turned: Any) -> None:
    """The last step of the body writes the next carry over this one, of which the first reads other rows."""
    step = lambda x, _: (chain(np.tanh(turned(x)), 8)[-1], None)
    groups_of(monkeypatch, lambda x: ad.scan(step, x, None, length=3), RNG.normal(size=ROWS), rounding=1e-10)
