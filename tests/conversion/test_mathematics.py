"""Functions of `math` raise as they do in plain runs, and handlers see it; divisions by zero, too."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.support.everywhere import check_everywhere


def root(x: Any) -> Any:
    try:
        r = math.sqrt(x)
    except ValueError:
        r = math.sqrt(-x) * 2
    return r + x


def logarithm(x: Any) -> Any:
    try:
        r = math.log(x)
    except (ValueError, TypeError):
        return 7 * x
    else:
        r *= 2
    finally:
        x = x + 1
    return r * x


def exponential(x: Any) -> Any:
    try:
        return math.exp(x)
    except OverflowError:
        return x * 2


def angle(x: Any) -> Any:
    return math.acos(x)


def in_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(12):
        try:
            s += angle(x - 0.21 * k)
        except ValueError:
            s += x * k
    return s


def quotient(x: Any) -> Any:
    s = 0.0
    for k in range(4):
        try:
            s += x / (k * x) + x % 2.0 + x // k
        except ZeroDivisionError:
            s -= x
    try:
        return s + 1 / (x - x)
    except ArithmeticError:
        return s * x


@pytest.mark.parametrize(
    "f, x", [(root, -0.4), (root, 0.4), (logarithm, 0.4), (logarithm, -0.4), (exponential, 800.0), (quotient, 0.3)]
)
def test_handlers_see_what_is_raised(f: Any, x: float) -> None:
    check_everywhere(f, x)


@pytest.mark.filterwarnings("ignore:jit of in_a_loop.*too many paths")
def test_handlers_in_loops() -> None:
    check_everywhere(in_a_loop, 1.5, step=1e-3)


@pytest.mark.parametrize("f, x", [(math.sqrt, -1.0), (math.log, 0.0), (math.acosh, 0.5), (math.gamma, -2.0)])
def test_without_a_handler_it_is_raised(f: Any, x: float) -> None:
    with pytest.raises(ValueError, match=r"math domain error|expected"):
        f(x)
    for transformed in (ad.grad(lambda x: f(x) * 2), lambda x: ad.jvp(lambda y: f(y) * 2, (x,), (1.0,))):
        with pytest.raises(ValueError, match=r"math domain error|expected"):
            transformed(x)


def test_arrays_divide_by_zero_as_arrays_do() -> None:
    def f(x: Any) -> Any:
        try:
            return np.sum(np.where(x > 0, 1 / x, 0.0))
        except ZeroDivisionError:
            return -1.0

    with np.errstate(divide="ignore", invalid="ignore"):
        assert ad.value_and_grad(f)(np.array([0.0, 2.0]))[0] == 0.5


def lengths(x: Any) -> Any:
    return math.hypot(x, 2.0, -x * x) + math.hypot(-x) + math.dist([1.0, 2.0], [x, 0.5])


def moments(x: Any) -> Any:
    data = [x, 1.0, 2.5, x * x]
    spread = statistics.pvariance(data, 0.5) + statistics.stdev(data, xbar=x) + statistics.pstdev([1.0, 2.0], x)
    return spread + statistics.fmean([1.0, 2.0], weights=[x, 1.0]) + statistics.covariance([1.0, 2.0, 4.0, 3.0], data)


def enumerated(x: Any) -> Any:
    return sum(v * (i + 2 * j) for (i, j), v in np.ndenumerate(np.array([[x, 2.0], [x * x, 1.0]])))


@pytest.mark.parametrize("f", [lengths, moments, enumerated])
def test_functions_of_several_numbers(f: Any) -> None:
    """Traced numbers in any place: among many, in the second list, as the center of a variance."""
    check_everywhere(f, 0.7)
