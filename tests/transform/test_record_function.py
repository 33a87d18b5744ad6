"""What a recorded function returns."""

from collections import OrderedDict, defaultdict
from typing import Any

import numpy as np

import adjoint as ad

LABELS = np.array([3, 5, 3])


def by_label(x: Any) -> Any:
    sums: dict[Any, Any] = {}
    for label, one in zip(LABELS, x, strict=True):
        sums[int(label)] = sums.get(int(label), 0.0) + one
    return sums


def by_number(x: Any, n: Any) -> Any:
    return {n: x, n - 7: (2.0 * x, {(n, "pair"): 3.0 * x})}


def ordered(x: Any, n: Any) -> Any:
    return OrderedDict([(n + 1, x), (n, -x)])


def test_keys_of_results_are_plain_numbers() -> None:
    x = np.array([1.0, 2.0, 4.0])
    compiled, gradient = ad.jit(by_label), ad.jit(ad.grad(lambda x: sum(np.sin(v) for v in by_label(x).values())))
    for _ in range(2):
        assert compiled(x) == {3: 5.0, 5: 2.0}
        np.testing.assert_allclose(gradient(x), np.cos([5.0, 2.0, 5.0]))
        assert {type(key) for key in compiled(x)} == {int}


def test_keys_that_are_arguments() -> None:
    compiled, in_order = ad.jit(by_number), ad.jit(ordered)
    for n in (3, 9, 3, -2):
        assert compiled(1.5, n) == by_number(1.5, n)
        assert list(in_order(1.5, n)) == [n + 1, n]


def test_keys_beside_texts() -> None:
    compiled = ad.jit(lambda x, n: {"b": x, n: 2.0 * x, "a": 3.0 * x, n - 5: defaultdict(float, {n: 4.0 * x})})
    for n in (3, 8, 3):
        assert compiled(1.5, n) == {"b": 1.5, n: 3.0, "a": 4.5, n - 5: {n: 6.0}}
