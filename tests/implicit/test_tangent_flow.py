"""Where tangents flow: kinks of steps, norms and reports have no part in a derivative; those on the way have."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import implicit, optimize
from adjoint.implicit.diagnosis import DerivativeWarning
from adjoint.implicit.kinks import has_kinks
from tests.simplify.programs import program_of


def is_rough(F) -> bool:
    return has_kinks(program_of(F, np.float64(0.4), np.float64(0.7))[0], 1)


def test_a_loop_whose_steps_have_kinks() -> None:
    def by_steps(choose):
        def F(a, x):
            def step(state):
                y, h, error = state
                slope = np.cos(y) - a * y
                h = choose(h * np.minimum(2.0, 0.1 / (error + 0.05)))
                return y + h * slope, h, np.abs(h * slope)

            return ad.while_loop(lambda s: s[2] > 1e-3, step, (x, 0.1, 1.0))[0]

        return F

    assert not is_rough(by_steps(ad.stop_gradient))
    assert is_rough(by_steps(lambda h: h))


def test_what_leads_to_decisions_alone() -> None:
    def F(a, x):
        size = np.max(np.abs(np.stack([x, a * x])))
        return ad.cond(size > 1.0, lambda x: x * a, lambda x: np.sin(x) + a, x)

    assert not is_rough(F)
    assert is_rough(lambda a, x: ad.cond(x > 1.0, lambda x: x * a, lambda x: np.abs(x) + a, x))


def test_the_carries_of_a_scan_lead_on_to_each_other() -> None:
    def F(last):
        def body(c, t):
            y, kept, size = c
            return (y + t * x_of(kept), np.abs(y), np.abs(y) + size), None

        x_of = (lambda kept: kept) if last else (lambda kept: 1.0)
        return lambda a, x: ad.scan(body, (x, a, 0.0), np.arange(3.0))[0][0]

    assert not is_rough(F(last=False))
    assert is_rough(F(last=True))


def test_a_solution_inside_has_the_kinks_of_its_equation() -> None:
    smooth = lambda a, x: optimize.root_scalar(lambda r: r + np.sin(r) * a - x, x0=1.0).value - a
    assert not is_rough(smooth)
    assert is_rough(lambda a, x: optimize.root_scalar(lambda r: r - np.maximum(x - r, 0.0) - a, x0=1.0).value)


def test_a_compiled_gradient_through_solvers_calls_no_python() -> None:
    def best(p):
        inner = lambda t: optimize.root_scalar(lambda r: r + 0.3 * np.sin(r) - t * p, x0=1.0).value
        return optimize.minimize(lambda t: (inner(t) - 0.5) ** 2 + 0.1 * t**2, 0.3, tol=1e-10).value

    gradient = ad.jit(ad.grad(best))
    np.testing.assert_allclose(gradient(0.7), (best(0.7 + 1e-4) - best(0.7 - 1e-4)) / 2e-4, rtol=1e-5)
    assert "opaque[look]" not in str(gradient.report())


@pytest.mark.parametrize("transform", [lambda f: f, ad.jit], ids=["eager", "compiled"])
def test_a_kink_of_an_equation_inside_is_told(transform) -> None:
    def F(x, a):  # r = (x - a) / 2 above a, and 0 below
        half = lambda x: np.maximum(x - a, 0.0) / 2
        return x + implicit.root(lambda r, x: r - np.maximum(x - a - r, 0.0), half, check="ignore")(x) - a

    gradient = transform(ad.grad(implicit.root(F, lambda a: a)))
    with pytest.warns(DerivativeWarning, match="kink"):
        assert np.isnan(gradient(0.3))
