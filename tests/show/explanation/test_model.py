"""Explanations of random programs: adjoints are those of `grad`, and everything can be printed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint.base.errors import TraceError
from tests.random_programs.functions import random_function

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")


@pytest.mark.parametrize("first", [600_000, 600_020, 600_040])
def test_adjoints_of_random_programs_are_those_of_grad(first):
    count = 0
    for seed in range(first, first + 20):
        f = random_function(seed)
        xs = f.values(0) if f.steps else []
        smooth = tuple(i for i, x in enumerate(xs) if np.asarray(x).dtype in (np.float64, np.complex128))
        if not smooth:
            continue
        try:
            with np.errstate(all="ignore"):
                expected = ad.grad(f.weighed, argnums=smooth)(*xs)
                explained = ad.explain(f.weighed, argnums=smooth)(*xs)
        except TraceError:  # np.ascontiguousarray inside a branch, or writing into a plain array: refused with a remedy
            continue
        for i, g in zip(smooth, expected, strict=True):
            scale = np.max(np.abs(g[np.isfinite(g)]), initial=1.0) if np.ndim(g) else 1.0
            assert_allclose(explained.model.inputs[i].adjoint, g, rtol=1e-9, atol=1e-9 * scale, err_msg=f"seed {seed}")
        assert f.weighed.__name__ in str(explained)
        assert explained.latex().count("align*") == 4
        count += 1
    assert count > 8


def test_parts_of_a_long_explanation_are_printed_briefly():
    def f(x):
        for _ in range(60):
            x = np.sin(x) * x + x
        return x

    model = ad.explain(f)(0.5).model
    for part in (model.variables[90], model.events[90], model.events[90].group, *model.guards):
        assert len(repr(part)) < 2000
