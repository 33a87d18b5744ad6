"""Derivatives of integrals that are not found are told of in every transformation; what the precision of f allows."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate

LOST = r"integral of the derivative of f was not found"
MODES = {
    "eager": ad.grad,
    "forward": lambda f: lambda t: ad.jvp(f, (t,), (1.0,)),
    "jit": lambda f: ad.jit(ad.grad(f)),
    "vmap": lambda f: lambda t: ad.vmap(ad.grad(f))(np.array([t, t])),
}


def pole(t, **options):
    """Its derivative is a principal value, which no rule finds."""
    return integrate.quad(lambda x: np.log(np.abs(x - t)), 0.0, 1.0, rtol=1e-9, **options).value


def ridge(t, **options):
    return integrate.cubature(
        lambda x: np.sqrt(np.abs(x[0] + x[1] - t)), [0.0, 0.0], [1.0, 1.0], rtol=0.05, max_boxes=100, **options
    ).value


@pytest.mark.parametrize("mode", MODES)
def test_a_derivative_that_is_not_found(mode: str) -> None:
    with pytest.warns(RuntimeWarning, match=LOST):
        MODES[mode](pole)(0.43)


@pytest.mark.parametrize("mode", ["eager", pytest.param("jit", marks=pytest.mark.sweep)])
def test_in_a_box(mode: str) -> None:
    with pytest.warns(RuntimeWarning, match=LOST + ".*max_boxes"):
        MODES[mode](ridge)(0.83)


@pytest.mark.parametrize("mode", ["eager", "jit"])
def test_it_can_raise_or_say_nothing(mode: str) -> None:
    with pytest.raises(ad.SolveError, match=LOST):
        MODES[mode](lambda t: pole(t, check="raise"))(0.43)
    assert np.isfinite(MODES[mode](lambda t: pole(t, check="ignore"))(0.43))
    with pytest.raises(ValueError, match="'warn', 'raise' or 'ignore'"):
        pole(0.43, check="no")


def test_jumps_too() -> None:
    step = lambda x, t: np.where(np.sum(x) < t, 1.0, 0.0)
    each = {
        "quad": lambda t, check: integrate.quad(step, 0.0, 1.0, args=(t,), check=check),
        "qmc": lambda t, check: integrate.qmc(step, [0.0], [1.0], 16, ad.random.default_rng(0), args=(t,), check=check),
    }
    for f in each.values():
        with pytest.raises(ad.SolveError, match="f jumps near"):
            ad.grad(lambda t, f=f: f(t, "raise").value)(0.4)
        assert ad.grad(lambda t, f=f: f(t, "ignore").value)(0.4) == 0.0


def test_single_precision() -> None:
    area = lambda c: integrate.quad(lambda x: c * np.exp(-x).astype(np.float32), 0.0, 1.0)
    box = lambda c: integrate.cubature(lambda x: c * np.exp(-x[0]).astype(np.float32), [0.0, 0.0], [1.0, 1.0])
    two = np.float32(2.0)
    for integral in (area, box):
        found = integral(two)
        assert found.converged
        assert found.value.dtype == np.float32
        assert found.value == pytest.approx(2.0 * (1.0 - np.exp(-1.0)), rel=2e-7)
        gradient = ad.grad(lambda c, integral=integral: integral(c).value)(two)
        assert gradient.dtype == np.float32
        assert gradient == pytest.approx(1.0 - np.exp(-1.0), rel=2e-7)
