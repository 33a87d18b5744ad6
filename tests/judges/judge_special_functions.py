"""The stored derivatives of special functions, computed again by mpmath with today's version."""

from __future__ import annotations

import json

import mpmath
import pytest

from tests.ops.special_accuracy.collection import entries, stored
from tests.ops.special_accuracy.entry import Entry, exactly, key
from tools import special_references

ROWS = json.loads(special_references.TARGET.read_text(encoding="utf-8"))
FUNCTIONS = {name: function for name, function, *_ in special_references.TABLE}
ENTRIES = [entry for entry in entries() if not entry.direct]


@pytest.mark.parametrize("name, orders, point, value, scale", ROWS)
def test_derivative_in_parameters(name: str, orders: list[int], point: list[float], value: float, scale: float) -> None:
    if tuple(point) in special_references.GAMMA_LARGE:
        exact = special_references.large_gamma(*point)
    else:
        exact = mpmath.re(special_references.derived(FUNCTIONS[name], tuple(orders), tuple(point)))
    assert abs(exact - value) <= 1e-15 * max(abs(value), scale) + 1e-300


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.function} {entry.argument} {entry.region}")
def test_derivative(entry: Entry) -> None:
    values = stored()
    for point in entry.points:
        with mpmath.workdps(30):
            expected = mpmath.mpf(values[key(entry, point)])
            error = abs(exactly(entry, point) - expected)
            assert error <= 1e-18 * abs(expected), point
