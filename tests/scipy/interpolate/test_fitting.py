"""Splines through data: SciPy's for every degree and condition, derivatives in nodes, values, knots and weights."""

import numpy as np
import pytest
import scipy.interpolate as theirs

import adjoint as ad
from adjoint.scipy import interpolate
from tests.numpy.checking import Case, array, every_check, signed
from tests.scipy.interpolate.agreement import equal, in_every_form, shapes
from tests.scipy.signal.agreement import CHECKS

X = np.array([0.0, 0.4, 1.1, 1.9, 2.3, 3.0, 3.7])
Y = np.array([0.3, 1.2, -0.5, 0.8, 1.5, 0.2, -0.6])
P = np.array([0.13, 1.57, 3.01])
INNER = np.array([0.9, 2.1])
W = array(7)
ring = lambda y: np.concatenate([y[:-1], y[:1]])
full = lambda inner: np.concatenate([np.zeros(4), inner, np.full(4, 3.7)])
make = interpolate.make_interp_spline
CASES = [
    *[Case(f"degree {k}", lambda x, y, p, k=k: make(x, y, k)(p), (X, Y, P)) for k in (1, 2, 3, 5)],
    Case("natural", lambda x, y, p: make(x, y, bc_type="natural")(p), (X, Y, P)),
    Case(
        "given",
        lambda x, y, a, b: make(x, y, bc_type=([(1, a)], [(2, b)]))(P),
        (X, Y, np.float64(0.3), np.float64(0.7)),
    ),
    Case("periodic", lambda x, y, p: make(x, ring(y), bc_type="periodic")(p), (X, Y, P)),
    Case(
        "least squares",
        lambda x, y, t, w: interpolate.make_lsq_spline(x, y, full(t), w=w)(P),
        (0.01 + 0.99 * X, Y, INNER, W),
    ),
]


@every_check(CASES, CHECKS)
def test_every_transformation(case, check):
    check(case)


def same(ours, wanted, points) -> None:
    assert ours.k == wanted.k
    equal(ours.t, wanted.t, "knots")
    equal(ours.c, wanted.c, "coefficients", 1e-8)
    equal(ours(points), wanted(points), "values", 1e-8)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_values(n):
    x = np.cumsum(array(n))
    for shape, axis in shapes(n):
        y = signed(*shape)
        closed = np.moveaxis(y.copy(), axis, 0)
        closed[-1] = closed[0]
        closed = np.moveaxis(closed, 0, axis)
        points = np.linspace(x[0], x[-1], 6).reshape(2, 3)
        for k in range(6):
            if n > k:
                same(make(x, y, k, axis=axis), theirs.make_interp_spline(x, y, k, axis=axis), points)
            if k > 1 and n > k:
                ours = make(x, closed, k, axis=axis, bc_type="periodic")
                wanted = theirs.make_interp_spline(x, closed, k, axis=axis, bc_type="periodic")
                same(ours, wanted, points)
                equal(ours(points + 5.0), wanted(points + 5.0), tolerance=1e-8)
        rest = np.moveaxis(y, axis, 0).shape[1:]
        one, two = (1, np.full(rest, 0.7)), (2, np.full(rest, -0.3))
        for bc in ("natural", "clamped", ("natural", "clamped"), ([one], [two]), ([one, two], None)):
            if n > 3:
                ours, wanted = (m.make_interp_spline(x, y, 3, axis=axis, bc_type=bc) for m in (interpolate, theirs))
                same(ours, wanted, points)


def test_few_points_of_a_closed_curve():
    """SciPy solves another equation for few points, of which it takes one curve only."""
    for n, k in ((3, 3), (4, 5), (3, 2)):
        x, y = X[:n], ring(Y[:n])
        ours, wanted = (m.make_interp_spline(x, y, k, bc_type="periodic") for m in (interpolate, theirs))
        equal(ours(P), wanted(P), tolerance=1e-8)


def test_given_knots():
    t = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.5, 2.5, 3.7, 3.7, 3.7, 3.7])
    same(make(X, Y, t=t), theirs.make_interp_spline(X, Y, t=t), P)
    in_every_form(lambda t, y: make(X, y, t=full(t))(P), t[4:7], Y)


def test_complex_values_and_least_squares():
    y = Y + 1j * Y[::-1]
    same(make(X, y), theirs.make_interp_spline(X, y), P)
    for values in (Y, y, np.stack([Y, Y[::-1]])):
        axis = values.ndim - 1
        for w in (None, W):
            ours = interpolate.make_lsq_spline(X, values, full(INNER), w=w, axis=axis)
            same(ours, theirs.make_lsq_spline(X, values, full(INNER), w=w, axis=axis), P)


def test_compiled_and_batched():
    in_every_form(lambda x, y, p: make(x, y)(p), X, Y, P)
    in_every_form(lambda x, y: make(x, ring(y), 3, bc_type="periodic")(P), X, Y)


def test_what_does_not_fit_is_refused():
    for call, words in (
        (lambda: make(X, Y[:3]), "incompatible"),
        (lambda: make(X[::-1], Y), "strictly increasing"),
        (lambda: make(X, Y, -1), "non-negative"),
        (lambda: make(X, Y * np.nan), "finite"),
        (lambda: make(X, Y, 0, bc_type="natural"), "Too much info for k=0"),
        (lambda: make(X, Y, 1, bc_type="natural"), "Too much info for k=1"),
        (lambda: make(X, Y, bc_type="periodic"), "does not match"),
        (lambda: make(X, Y, bc_type="loose"), "Unknown boundary"),
        (lambda: make(X, Y, bc_type=3), "Unknown boundary"),
        (lambda: make(X, Y, bc_type=([1], None)), "pair of iterables"),
        (lambda: make(X, Y, t=X), "need at least"),
        (lambda: make(X, Y, t=full([1.0, 2.0, 3.0])[::-1]), "sorted"),
        (lambda: make(X, Y, t=full([1.0, 2.0, 3.0]) + 1), "out of the bounds"),
        (lambda: make(X, Y, t=full([1.0, 2.0, 3.0]), bc_type="natural"), "number of derivatives"),
        (lambda: make(X, Y, bc_type=([(9, 0.0)], [(1, 0.0)])), "Bad boundary conditions at the first"),
        (lambda: interpolate.make_lsq_spline(X, Y, full(INNER), method="magic"), "Unknown method"),
        (lambda: interpolate.make_lsq_spline(X[:2], Y[:2], full(INNER)), "more x points"),
        (lambda: interpolate.make_lsq_spline(X, Y[:3], full(INNER)), "incompatible"),
        (lambda: interpolate.make_lsq_spline(X + 1, Y, full(INNER)), "out of the bounds"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(NotImplementedError, match="automatically"):
        make(X, ring(Y), t=full([1.0, 2.0, 3.0]), bc_type="periodic")
    with pytest.raises(ValueError, match="strictly increasing"):
        ad.grad(lambda x: make(x, Y)(0.5))(X[::-1].copy())
