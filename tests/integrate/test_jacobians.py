"""Forms of the Jacobian: bands, SuperLU, products alone; all give what a dense matrix gives, and the same gradients."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.sparse import diags_array

import adjoint as ad
from adjoint import integrate
from adjoint.integrate.forms import Sparse
from adjoint.integrate.jacobians import choose_form
from adjoint.integrate.system import Arguments, System, read_state, trace_function

N = 50


def heat(t, y, k):
    inner = y[2:] - 2 * y[1:-1] + y[:-2]
    return k * np.concatenate([y[1:2] - 2 * y[:1], inner, y[-2:-1] - 2 * y[-1:]]) - 0.1 * y**3


MIXED = np.random.default_rng(0).permutation(N)


def ring(t, y, k):
    return k * (np.roll(y, 1) - 2 * y + np.roll(y, -1) + 0.1 * y[MIXED]) - 0.1 * y**3


START = np.sin(np.arange(N) / 7.0) + 1.0


def end(k, f, jacobian, method="bdf"):
    return integrate.solve(f, (0.0, 1.0), START, args=(k,), method=method, jacobian=jacobian, rtol=1e-8, atol=1e-8).last


@pytest.mark.parametrize(
    "f, jacobian",
    [(ring, "sparse"), *[pytest.param(*p, marks=pytest.mark.sweep) for p in ((heat, "sparse"), (ring, "free"))]],
)
def test_all_forms_agree(f, jacobian):
    expected = solve_ivp(f, (0.0, 1.0), START, args=(50.0,), method="Radau", rtol=1e-9, atol=1e-9).y[:, -1]
    gradient = ad.grad(lambda k: end(k, f, "dense")[3])(50.0)
    np.testing.assert_allclose(end(50.0, f, jacobian), expected, atol=1e-6)
    assert abs(ad.grad(lambda k: end(k, f, jacobian)[3])(50.0) - gradient) < 1e-7 * abs(gradient) + 1e-10


@pytest.mark.sweep
@pytest.mark.parametrize("method", ["radau", "rodas5p", "rosenbrock23", "kencarp4", "auto"])
@pytest.mark.parametrize("f", [heat, ring])
def test_every_method_takes_sparse_jacobians(method, f):
    for run in (lambda k, j: end(k, f, j, method)[3], lambda k, j: ad.grad(lambda k: end(k, f, j, method)[3])(k)):
        assert abs(run(50.0, "sparse") - run(50.0, "dense")) < 1e-7


def test_derivatives_of_stages_use_the_band_without_python():
    plain = lambda k: end(k, heat, "sparse", "kvaerno3")[3]
    compiled = ad.jit(ad.grad(plain))
    assert abs(compiled(50.0) - (plain(50.001) - plain(49.999)) / 0.002) < 1e-6
    assert "spsolve" not in str(compiled.report())


def test_derivatives_are_exact_for_a_pattern_that_lacks_entries():
    gradients = [ad.grad(lambda k, j=j: end(k, heat, j)[3])(5.0) for j in (np.eye(N), "dense")]
    np.testing.assert_allclose(*gradients, rtol=1e-6)


def form(f, jacobian="auto"):
    _, layout = read_state("solve", "y0", START)
    traced = trace_function("solve", "f", f, layout, Arguments((50.0,)))
    return choose_form("solve", jacobian, integrate.BDF(), System(traced.program, layout, [], traced.theta), [])


def test_bands_and_patterns():
    assert (form(heat).low, form(heat).up) == (1, 1)
    assert not form(ring).order
    assert form(heat).pattern.coloring.number == 3
    assert form(heat) == form(heat)
    given = diags_array([np.ones(N - 1), np.ones(N), np.ones(N - 1)], offsets=[-1, 0, 1])
    assert isinstance(form(heat, given), Sparse)
    assert form(lambda t, y, k: -k * y * np.sum(y)).name == "dense"


def test_what_is_refused():
    with pytest.raises(ValueError, match="'sparse', 'free'"):
        end(50.0, heat, "banded")
    with pytest.raises(ValueError, match=r"a matrix \(50, 50\)"):
        end(50.0, heat, np.eye(3))
    with pytest.raises(ValueError, match="'bdf'"):
        end(50.0, heat, "free", "radau")


def test_many_equations_switch_to_bdf():
    stiff = lambda t, y, k: 100 * heat(t, y, k)
    start = np.sin(np.arange(60) / 7.0) + 1.0
    path = integrate.solve(stiff, (0.0, 5.0), start, args=(50.0,))
    assert path.status == "finished"
    assert 0 < path.factorizations < 0.5 * path.steps
    expected = solve_ivp(stiff, (0.0, 5.0), start, args=(50.0,), method="BDF", rtol=1e-8, atol=1e-11).y[:, -1]
    np.testing.assert_allclose(path.last, expected, atol=1e-7)
