"""Programs that are known on disk: run from what was kept, without being written again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path) -> Iterator[None]:
    with config.override(cache=True, cache_dir=str(tmp_path / "kept")):
        yield


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sort(x, axis=0),  # calls NumPy, and looks for signals before it does
        lambda x: x @ x.T @ x,  # calls BLAS
        lambda x: np.sort(x @ x.T) + np.linalg.inv(x @ x.T),
        lambda x: ad.scan(lambda c, row: (np.tanh(c + np.sort(row)), c[0]), x[0], x),
        lambda x: x[np.argmax(x, axis=0), 1],  # may fail with the place of an index
    ],
    ids=["numpy", "blas", "both", "inside a loop", "index"],
)
def test_a_kept_program_needs_all_it_calls(function: Callable[[Any], Any]) -> None:
    x = np.random.default_rng(0).normal(size=(20, 24))
    first, second = ad.jit(function), ad.jit(function)
    want, got = first(x), second(x)
    (first_code,), (second_code,) = first.report().specializations, second.report().specializations
    assert (first_code.how, first_code.cached) == ("compiled", False)
    assert (second_code.how, second_code.cached) == ("compiled", True)
    assert second_code.callbacks == first_code.callbacks
    for a, b, c in zip(*map(ad.tree.leaves, (want, got, function(x))), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(b, c, rtol=1e-10, atol=1e-10)
