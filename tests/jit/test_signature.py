"""What makes calls of a compiled function alike, and what is said when they are not."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config

x3 = np.arange(3.0)


def reasons(function: Any) -> list[str]:
    return [one.why for one in function.report().specializations]


def test_the_report_says_what_changed() -> None:
    rate, table = 0.5, np.ones(2)

    def f(x: Any, y: float = 1.0, how: str = "") -> Any:
        return x * rate + np.sum(table) * y

    fast = ad.jit(f)
    fast(x3, 1.0, "a")
    fast(np.arange(4.0), 1.0, "a")
    fast(x3, 1.0, "b")
    rate = 0.25
    fast(x3, 1.0, "a")
    table = np.ones(5)
    fast(x3, 1.0, "a")
    fast(x3.astype(np.float32), 2, "a")
    assert reasons(fast) == [
        "the first call of this kind",
        "x changed",
        "how changed",
        "rate changed",
        "table changed",
        "x, y changed",
    ]
    assert [one.arguments["rate"] for one in fast.report().specializations] == ["0.5"] * 3 + ["0.25"] * 3
    assert [one.arguments["table"] for one in fast.report().specializations][3:5] == ["float64[2]", "float64[5]"]


def test_a_number_from_outside_that_keeps_changing_is_told_once() -> None:
    rate = 1.0
    fast = ad.jit(lambda x: x * rate)
    with config.override(specializations=3):
        for rate in (1.0, 2.0, 3.0):
            assert fast(2.0) == 2.0 * rate
        rate = 4.0
        with pytest.warns(RuntimeWarning, match="4 programs were made that differ only in rate"):
            assert fast(2.0) == 8.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rate = 5.0
            assert fast(2.0) == 10.0


def test_a_function_made_anew_in_each_call_is_told() -> None:
    fast = ad.jit(lambda f, x: f(x))
    with config.override(specializations=3):
        for _ in range(3):
            fast(lambda x: 2 * x, x3)
        with pytest.warns(RuntimeWarning, match="differ only in f"):
            fast(lambda x: 2 * x, x3)


def test_shapes_and_what_is_named_static_may_change_as_often_as_they_like() -> None:
    power = ad.jit(lambda x, n: x**n, static_argnames="n")
    with config.override(specializations=2), warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(5):
            np.testing.assert_allclose(power(np.arange(1.0 + n), n), np.arange(1.0 + n) ** n)
            np.testing.assert_allclose(power(x3, n), x3**n)
