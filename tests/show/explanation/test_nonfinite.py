"""Where a NaN or an infinity came from."""

import numpy as np
import pytest

import adjoint as ad

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def test_the_first_operation_that_made_one_is_named():
    def f(x):
        a = x - 1.0
        b = np.log(a)
        return b * 0.0 + x

    (found,) = ad.explain(f)(1.0).nonfinite[:1]
    assert found.what == "value"
    assert found.variable.label == "b"
    assert "b = np.log(a)" in found.line
    assert "v₁ = 0" in found.operands
    assert any("not finite: v₂ = log(v₁)" in note for note in ad.explain(f)(1.0).notes)


def test_what_arises_on_the_way_back_alone():
    explained = ad.explain(lambda x: np.sum(np.sqrt(x)))(np.array([0.0, 4.0]))
    (found,) = explained.nonfinite
    assert found.what == "adjoint"
    assert found.variable is explained.model.inputs[0]
    assert "inf" in str(found)


def test_tangents():
    (found,) = ad.explain(np.sqrt, mode="forward")(0.0).nonfinite
    assert found.what == "tangent"


def test_arguments_that_are_not_finite_are_named_and_nothing_after_them():
    (found,) = ad.explain(lambda x, y: np.sin(x) * y)(np.nan, 2.0).nonfinite
    assert found.formula == "the argument x"


def test_nothing_to_tell():
    assert ad.explain(np.sin)(0.5).nonfinite == []


def test_parts_of_statements_are_named_by_what_they_are():
    explained = ad.explain(lambda x: np.sum(np.sqrt(x * 2)), detail="statements")(np.array([0.0, 2.0]))
    (one,) = explained.nonfinite
    assert "0.5 / sqrt(v₀ · 2)" in str(one)
    assert str(one).startswith("the adjoint of v₀ · 2 = ")


def test_an_argument_that_is_not_finite():
    (one,) = ad.explain(np.sin)(np.nan).nonfinite
    assert str(one) == "the argument x (v₀) is nan"
