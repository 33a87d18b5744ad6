"""Carries that are the number that they start with, whatever the iterations do."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.simplify import simplify
from tests.simplify.programs import loop_of, program_of, same_results

X = np.array([0.6, 0.9, 0.35])


def carries(f) -> int:
    """How many carries the loop of a function has, simplified."""
    before, arguments = program_of(f, X)
    after = simplify(before)
    same_results(before, after, arguments, rounding=0.0)
    return loop_of(after).op.carries


@pytest.mark.parametrize(
    "following, stays",
    [
        (lambda c, t: np.where(t > 0.5, c, 0.0), True),
        (lambda c, t: np.where(t > 0.5, c, 1.0), False),
        (lambda c, t: np.where(t > 0.5, c, -0.0), False),  # another zero
        (lambda c, t: (c + c) * 3.0, True),
        (lambda c, t: c * t, False),  # t may be infinite
        (lambda c, t: ad.cond(t > 0.5, lambda c: c * 2.0, lambda c: c + 0.0, c), True),
        (lambda c, t: ad.cond(t > 0.5, lambda c: c * 2.0, lambda c: c + 1.0, c), False),
        (lambda c, t: ad.scan(lambda d, _: (np.where(d < t, d, 0.0), None), c, None, length=3)[0], True),
        (lambda c, t: ad.scan(lambda d, _: (d + t, None), c, None, length=3)[0], False),
    ],
)
def test_a_zero_that_stays_zero(following, stays) -> None:
    def f(x):
        return ad.scan(lambda c, t: ((following(c[0], t), c[1] + c[0] * t), None), (0.0, x[0]), x)[0]

    assert carries(f) == (1 if stays else 2)


def test_numbers_that_hold_only_together() -> None:
    def f(x):
        def body(c, t):
            a, b, s = c
            return (np.where(t > 0.5, b, a), a * 1.0, s + a * t), None

        return ad.scan(body, (2.0, 2.0, x[0]), x)[0]

    assert carries(f) == 1


def test_a_maximum_that_ends_a_loop_leaves_nothing_to_carry_backwards() -> None:
    def f(x):
        def sweep(state):
            u, _ = state
            new = 0.5 * np.cos(u) + 0.1 * x
            return new, np.max(np.abs(new - u))

        return np.sum(ad.while_loop(lambda s: s[1] > 1e-10, sweep, (x, 1.0))[0] ** 2)

    h = 1e-6
    differences = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(ad.jit(ad.grad(f))(X), differences, rtol=1e-7)
