"""Python's own `if` under vmap, compiled: every path on all lanes, and the results of the eager run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import CheckError, ShapeError

xs = np.array([1.0, -2.0, 4.0, 0.5])


def nested(x: Any) -> Any:
    if x > 0:
        if x > 2:
            return np.sqrt(x)
        return x * x
    return -x


def by_turns(x: Any) -> Any:
    n = 0
    x = np.abs(x) + 0.1
    while x < 100:
        x = x * 2
        n = n + 1
    return x, n


def same_question(x: Any) -> Any:
    positive = x > 0
    y = x * 2 if positive else x * 3
    return y + 1 if positive else y - 1


def constants(x: Any) -> Any:
    return 1.0 if x > 1 else -2.0


def trees(x: Any) -> Any:
    return {"a": np.stack([x, x]), "n": 1.0} if x > 0 else {"a": np.zeros(2), "n": x}


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f for f in (nested, by_turns, same_question, constants, trees)
}


def agree(found: Any, expected: Any) -> None:
    a, s = ad.tree.flatten(found)
    b, t = ad.tree.flatten(expected)
    assert s == t
    for p, q in zip(a, b, strict=True):
        assert np.asarray(p).dtype == np.asarray(q).dtype
        np.testing.assert_allclose(p, q, rtol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_eagerly(name: str) -> None:
    f = ad.vmap(FUNCTIONS[name])
    fast = ad.jit(f)
    for values in (xs, -xs, xs * 3, np.abs(xs), xs[::-1].copy()):
        agree(fast(values), f(values))


def test_one_program_serves_all_patterns() -> None:
    fast = ad.jit(ad.vmap(nested))
    for values in (xs, -xs, np.abs(xs), -np.abs(xs)):
        fast(values)
    (one,) = fast.report().specializations
    assert not one.guards


def test_derivatives() -> None:
    agree(ad.jit(ad.vmap(ad.grad(nested)))(xs), ad.vmap(ad.grad(nested))(xs))
    total = lambda xs: np.sum(ad.vmap(nested)(xs))
    agree(ad.jit(ad.grad(total))(xs), ad.grad(total)(xs))
    agree(ad.jit(ad.hessian(total))(xs), ad.hessian(total)(xs))


def test_nothing_leaks_out_of_the_other_path() -> None:
    f = lambda x: np.log(x) if x > 0 else x * 1.0
    total = lambda xs: np.sum(ad.vmap(f)(xs))
    np.testing.assert_array_equal(ad.jit(ad.grad(total))(np.array([2.0, 0.0, -1.0])), [0.5, 1.0, 1.0])


def test_lanes_of_lanes() -> None:
    f = ad.vmap(ad.vmap(nested))
    agree(ad.jit(f)(xs.reshape(2, 2)), f(xs.reshape(2, 2)))


def test_other_questions_make_a_program_for_these_lanes() -> None:
    f = ad.vmap(lambda x: x * np.array([1.0, 2.0, 3.0])[int(x)])
    fast = ad.jit(f)
    for values in (np.array([0.5, 2.2]), np.array([1.5, 1.2]), np.array([0.1, 2.9])):
        agree(fast(values), f(values))


def test_a_path_that_raises_counts_when_it_is_taken() -> None:
    def f(x: Any) -> Any:
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    fast = ad.jit(ad.vmap(f))
    agree(fast(np.abs(xs)), np.sqrt(np.abs(xs)))
    with pytest.raises(ValueError, match="negative"):
        fast(xs)
    agree(fast(np.abs(xs) * 2), np.sqrt(np.abs(xs) * 2))


def test_effects_happen_once_and_for_their_own_lanes(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        ad.debug.print("start {}", x)
        if x > 0:
            ad.debug.print("positive {}", x)
            y = x
        else:
            ad.check(x > -1.5, "too small")
            y = -x
        ad.debug.print("end {}", y)
        return y

    fast = ad.jit(ad.vmap(f))
    agree(fast(np.array([1.0, -1.0])), np.array([1.0, 1.0]))
    compiled = sorted(capsys.readouterr().out.splitlines())
    ad.vmap(f)(np.array([1.0, -1.0]))
    assert compiled == sorted(capsys.readouterr().out.splitlines())
    with pytest.raises(CheckError, match=r"too small.*batch element 1"):
        fast(np.array([-1.0, -2.0]))
    agree(fast(np.array([1.0, -1.4])), np.array([1.0, 1.4]))


def test_shapes_must_agree() -> None:
    f = ad.vmap(lambda x: np.zeros(2) if x > 0 else np.zeros(3))
    with pytest.raises(ShapeError, match="different shapes"):
        ad.jit(f)(xs)


def test_random_numbers_are_those_of_the_eager_run() -> None:
    def f(rng: Any, x: Any) -> Any:
        return x + rng.normal() if x > 0 else x - rng.uniform()

    a, b = ad.random.default_rng(1), ad.random.default_rng(1)
    fast = ad.jit(ad.vmap(f))
    for _ in range(2):
        agree(fast(a, xs), ad.vmap(f)(b, xs))
    assert a.counter == b.counter


def test_too_many_ways_run_as_python() -> None:
    def f(x: Any) -> Any:
        n = 0
        while x > 0:
            x = x - 1
            n = n + 1
        return n

    values = np.arange(100.0)
    with config.override(convert=False):
        with pytest.warns(RuntimeWarning, match=r"more than 32 paths.*ad\.cond"):
            agree(ad.jit(ad.vmap(f))(values), ad.vmap(f)(values))
        with pytest.raises(TypeError, match=r"ad\.cond"):
            ad.jit(ad.vmap(f), strict=True)(values)
    agree(ad.jit(ad.vmap(f), strict=True)(values), ad.vmap(f)(values))  # the loop is part of the program


def _six_attempts(x: Any) -> Any:
    y = x[0]
    for value in (x[0], x[1], x[2], x[3], x[4], x[5]):
        try:
            if value > 0.5:
                raise ValueError
            y = y + np.sin(value)
        except ValueError:
            y = y * value
    return y


def test_the_report_names_the_lines_where_too_many_paths_part() -> None:
    values = np.random.default_rng(0).normal(size=(50, 6))
    fast = ad.jit(ad.vmap(_six_attempts))
    with pytest.warns(RuntimeWarning, match=r"part at .*: if value > 0\.5.*np\.where instead of raise inside of try"):
        agree(fast(values), np.array([_six_attempts(x) for x in values]))
    assert "1 as plain Python (the batch elements of vmap take too many paths, which part at" in str(fast.report())
    assert "if value > 0.5:" in str(fast.report())


def test_a_recursion_of_many_long_paths_runs_as_python() -> None:
    """Halving an interval until it is smooth: each element of a batch has its own tree of calls."""

    def integral(w: Any) -> Any:
        def simpson(a: float, b: float, tol: float) -> Any:
            c, d, e = (a + b) / 2, (3 * a + b) / 4, (a + 3 * b) / 4
            fa, fb, fc, fd, fe = (np.exp(-w * t * t) * np.cos(5 * w * t) for t in (a, b, c, d, e))
            one, two = (b - a) / 6 * (fa + 4 * fc + fb), (b - a) / 12 * (fa + 4 * fd + 2 * fc + 4 * fe + fb)
            if abs(two - one) < 15 * tol or b - a < 1e-3:
                return two
            return simpson(a, c, tol / 2) + simpson(c, b, tol / 2)

        return simpson(0.0, 2.0, 1e-6)

    values = np.array([0.7, 1.3])
    with pytest.warns(RuntimeWarning, match="many paths with many operations"):
        got = ad.jit(ad.vmap(ad.grad(integral)))(values)
    step = 1e-5
    differences = [(integral(v + step) - integral(v - step)) / (2 * step) for v in values]
    np.testing.assert_allclose(got, differences, rtol=1e-5)


def merge_sort(values: list[Any]) -> list[Any]:
    if len(values) < 2:
        return values
    middle = len(values) // 2
    left, right, merged = merge_sort(values[:middle]), merge_sort(values[middle:]), []
    i = j = 0
    while i < len(left) and j < len(right):
        if left[i] < right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return [*merged, *left[i:], *right[j:]]


@pytest.mark.filterwarnings("ignore:jit of:RuntimeWarning")
def test_what_is_out_of_bounds_on_a_path_that_nobody_takes() -> None:
    f = lambda x: sum(k * v for k, v in enumerate(merge_sort(list(x))))
    for size in (2, 3, 6):
        several = np.random.default_rng(size).normal(size=(3, size))
        expected = np.sort(several) @ np.arange(size)
        agree(ad.jit(ad.vmap(f))(several), expected)


def test_indices_of_elements_that_take_another_path() -> None:
    """x[k] for k < 3 alone: elsewhere the index is out of bounds, and nobody reads there."""

    def f(x: Any, k: Any) -> Any:
        if k < 3:
            return x[k] ** 2
        return x[0] - k

    x, k = np.arange(1.0, 4.0), np.array([0, 2, 5, 7])
    with config.override(convert=False):
        agree(ad.jit(ad.vmap(f, in_axes=(None, 0)))(x, k), np.array([1.0, 9.0, -4.0, -6.0]))
        agree(ad.jit(ad.vmap(ad.grad(f), in_axes=(None, 0)))(x, k)[:, 0], np.array([2.0, 0.0, 1.0, 1.0]))


def test_errors_of_elements_on_another_path() -> None:
    """What is raised inside a branch of a path is raised for the elements that take the path."""

    def deposit(balance: Any, amount: Any) -> Any:
        if amount <= 0:
            raise ValueError("deposits are positive")
        return balance + amount

    def withdraw(balance: Any, amount: Any) -> Any:
        if amount > balance:
            raise ValueError("not enough")
        return balance - amount

    def transfer(balance: Any, amount: Any) -> Any:
        if amount > 0:
            return deposit(balance, amount)
        try:
            return withdraw(balance, -amount)
        except ValueError:
            return balance - 1.5

    balances, amounts = np.array([80.0, 81.0, 79.0]), np.array([30.0, -12.0, -200.0])
    fast = ad.jit(ad.vmap(transfer))
    for sign in (1, -1):
        expected = [transfer(b, sign * a) for b, a in zip(balances, amounts, strict=True)]
        agree(fast(balances, sign * amounts), np.array(expected))
