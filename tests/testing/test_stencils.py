"""Stencils: exact weights, orders and constants, against polynomials and SymPy's independent recurrence."""

from fractions import Fraction
from math import comb, factorial, log

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from adjoint.testing.stencils import coefficients, points_for_accuracy, solve_rationally, stencil_on

kinds = st.sampled_from(["central", "forward", "backward"])


@given(kinds, st.integers(1, 6), st.integers(0, 4))
def test_exact_on_polynomials_up_to_the_order_and_not_beyond(kind, k, extra):
    """On tᵐ the stencil with step 1 gives k! [m = k] for m < k + q, and k! [m = k] + c m! for m = k + q."""
    stencil = coefficients(kind, k, (k if kind != "central" else (k + 1) // 2) + extra)
    for m in range(k + stencil.order + 1):
        found = sum(a * Fraction(i) ** m for i, a in zip(stencil.offsets, stencil.weights, strict=True))
        expected = factorial(k) if m == k else 0
        if m == k + stencil.order:
            expected += stencil.constant * factorial(m)
            assert stencil.constant != 0
        assert found == expected


@given(kinds, st.integers(1, 5), st.integers(0, 3))
def test_weights_agree_with_sympy(kind, k, extra):
    stencil = coefficients(kind, k, (k if kind != "central" else (k + 1) // 2) + extra)
    recurrence = sympy.finite_diff_weights(k, list(stencil.offsets), 0)[k][-1]
    assert [sympy.Rational(a.numerator, a.denominator) for a in stencil.weights] == recurrence


@given(st.integers(1, 6), st.integers(0, 4))
def test_backward_is_forward_mirrored(k, extra):
    forward, backward = coefficients("forward", k, k + extra), coefficients("backward", k, k + extra)
    assert backward.offsets == tuple(-i for i in reversed(forward.offsets))
    assert backward.weights == tuple((-1) ** k * a for a in reversed(forward.weights))
    assert backward.order == forward.order
    assert backward.constant == (-1) ** forward.order * forward.constant


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_the_smallest_forward_stencil_is_the_binomial_one(k):
    assert coefficients("forward", k).weights == tuple((-1) ** (k - i) * comb(k, i) for i in range(k + 1))


@given(kinds, st.integers(1, 5), st.integers(1, 9))
def test_accuracy_picks_the_smallest_stencil_that_has_it(kind, k, accuracy):
    points = points_for_accuracy(kind, k, accuracy)
    assert coefficients(kind, k, points).order >= accuracy
    if points > (k if kind != "central" else (k + 1) // 2):
        assert coefficients(kind, k, points - 1).order < accuracy


def test_any_offsets():
    stencil = stencil_on([-1, 0, 2], 1)
    assert stencil.weights == (Fraction(-2, 3), Fraction(1, 2), Fraction(1, 6))
    assert (stencil.order, stencil.constant) == (2, Fraction(1, 3))


def test_integers_over_one_denominator_are_the_weights():
    stencil = coefficients("central", 3, 4)
    assert all(isinstance(n, int) for n in stencil.numerators)
    assert tuple(Fraction(n, stencil.denominator) for n in stencil.numerators) == stencil.weights
    assert stencil.evaluations == 8
    assert stencil.gain == pytest.approx(float(sum(abs(a) for a in stencil.weights)))


def test_large_stencils_stay_exact():
    stencil = coefficients("central", 1, 12)
    # The weights of the central first difference have a closed form.
    for i in range(1, 13):
        closed = Fraction((-1) ** (i + 1) * factorial(12) ** 2, i * factorial(12 - i) * factorial(12 + i))
        assert stencil.weights[12 + i] == closed
    assert stencil.order == 24


def test_elimination_swaps_rows_and_refuses_singular_matrices():
    rows = [[Fraction(0), Fraction(2)], [Fraction(3), Fraction(1)]]
    assert solve_rationally(rows, [Fraction(4), Fraction(5)]) == [Fraction(1), Fraction(2)]
    with pytest.raises(ValueError, match="singular"):
        solve_rationally([[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]], [Fraction(1), Fraction(1)])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("middle",), "not 'middle'"),
        (("central", 0), "not 0"),
        (("central", 2, 0), "points >= 1, not points=0"),
        (("forward", 3, 2), "points >= 3, not points=2"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        coefficients(*arguments)


def test_bad_offsets_are_refused():
    with pytest.raises(ValueError, match="not distinct"):
        stencil_on([0, 1, 1])
    with pytest.raises(ValueError, match="at least 3"):
        stencil_on([0, 1], 2)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        points_for_accuracy("central", 1, 0)


def test_the_error_of_a_stencil_is_what_it_says():
    """log at 1 with a step of 1/8: the error is c δ^q f^(k+q) times 1 + O(δ)."""
    for kind, k, p in [("forward", 1, 2), ("backward", 2, 3), ("central", 1, 2), ("central", 3, 2), ("central", 4, 3)]:
        stencil = coefficients(kind, k, p)
        step = 2.0**-7
        values = {i: log(1 + i * step) for i in stencil.offsets}
        found = sum(float(a) * values[i] for i, a in zip(stencil.offsets, stencil.weights, strict=True)) / step**k
        exact = (-1) ** (k - 1) * factorial(k - 1)
        m = k + stencil.order
        leading = float(stencil.constant) * step**stencil.order * (-1) ** (m - 1) * factorial(m - 1)
        assert (found - exact) / leading == pytest.approx(1.0, abs=0.15)
