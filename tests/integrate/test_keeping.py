"""What is kept of the steps where nothing is said."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import integrate
from adjoint.integrate import keeping
from adjoint.memory import Online


def decay(t, y, w):
    return -w * y + np.sin(3 * t)


def end(w, y0, **options):
    return integrate.solve(decay, (0.0, 10.0), y0, args=(w,), method="tsit5", **options).last


def test_all_that_fits_then_slots(monkeypatch):
    vectors, matrix = [np.zeros(100)] * 2, np.zeros((100, 100))
    big = keeping.Fitting(1 << 17)
    assert keeping.plan_steps(None, vectors, 100) is None
    assert keeping.plan_steps(7, vectors, 100) == 7
    monkeypatch.setattr(keeping, "_half_of_memory", lambda: 2**17 * 1600)
    assert keeping.plan_steps(big, vectors, 100) is None
    assert keeping.plan_steps(big, [*vectors, matrix], 100) is None  # matrices are not kept
    monkeypatch.setattr(keeping, "_half_of_memory", lambda: 2**17 * 1600 - 1)
    assert keeping.plan_steps(big, vectors, 100) == Online(keeping.MOST_SLOTS)
    assert keeping.plan_steps(big, [*vectors, matrix], 100) == Online((2**16 * 1600 - 1) // 81_600)
    monkeypatch.setattr(keeping, "_half_of_memory", lambda: 10)
    assert keeping.plan_steps(big, vectors, 100) == Online(2)


@pytest.mark.parametrize("transform, size", [(lambda g: g, 2), (ad.jit, 3)])  # programs are remembered
def test_the_gradient_is_the_same(monkeypatch, transform, size):
    y0 = np.arange(1.0, 1 + size)
    gradient = lambda **options: transform(ad.grad(lambda w: np.sum(end(w, y0, **options))))(0.7)
    wanted = gradient(checkpoint=None)
    assert gradient() == wanted
    used = []
    plan_steps = keeping.plan_steps
    monkeypatch.setattr("adjoint.integrate.stepping.plan_steps", lambda *a: used.append(plan_steps(*a)) or used[-1])
    monkeypatch.setattr(keeping, "_half_of_memory", lambda: 2 * 10 * 72)
    np.testing.assert_allclose(gradient(rtol=1.1e-6), gradient(rtol=1.1e-6, checkpoint=None), rtol=1e-13)
    assert Online in map(type, used)
    assert end(0.7, y0) == pytest.approx(end(0.7, y0, checkpoint=None), rel=1e-14)


def test_what_is_no_plan_is_refused():
    with pytest.raises(ValueError, match="checkpoint='all' is no plan"):
        end(0.7, 1.0, checkpoint="all")
    with pytest.raises(ValueError, match="no plan"):
        integrate.solve_sde(decay, decay, (0.0, 1.0), 1.0, ad.random.default_rng(1), args=(1.0,), steps=3,
                            checkpoint="all")  # fmt: skip


def test_paths_with_noise(monkeypatch):
    def last(w):
        rng = ad.random.default_rng(3)
        return integrate.solve_sde(decay, lambda t, y, w: w * y, (0.0, 1.0), 1.0, rng, args=(w,), steps=40).last

    wanted = ad.grad(last)(0.7)
    monkeypatch.setattr(keeping, "_half_of_memory", lambda: 100)
    assert ad.grad(last)(0.7) == pytest.approx(wanted, rel=1e-13)
