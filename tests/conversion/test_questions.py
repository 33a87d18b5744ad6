"""Which questions become part of a program: those whose answer is not known, in whatever stands around the value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad


def repeated(x: Any) -> Any:
    y, count = x * 1.0, 0
    while count < 3 and np.sum(np.abs(y)) < 2.5:
        y[count % 2] = np.sin(y)[count % 2] + 1
        count += 1
    return y


def chosen(x: Any) -> Any:
    return 2 * x if x[0] > 0.05 else np.sin(x)


@pytest.mark.parametrize("f", [repeated, chosen])
def test_values_that_a_checkpointed_function_of_known_arguments_closes_over(f: Callable[..., Any]) -> None:
    inside = lambda x: ad.checkpoint(lambda known: f(known * x))(np.ones(2))
    traced = ad.trace(inside)(np.ones(2))
    for x in np.array([[0.1, 0.2], [1.0, 2.0], [0.01, 0.1]]):
        np.testing.assert_allclose(traced(x), f(x), rtol=1e-14)
        np.testing.assert_allclose(ad.scan(lambda c, _: (inside(c), None), x, None, 1)[0], f(x), rtol=1e-14)
