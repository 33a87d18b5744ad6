"""Interpolants of ours against SciPy's, and in every transformation."""

import itertools
from typing import Any

import numpy as np

import adjoint as ad


def equal(found: Any, wanted: Any, what: str = "", tolerance: float = 1e-9) -> None:
    """The same shape, and the same numbers as far as they are large."""
    assert np.shape(found) == np.shape(wanted), f"{what}: shape {np.shape(found)}, not {np.shape(wanted)}"
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=what)


def same_curve(ours: Any, theirs: Any, points: Any, limits: Any, orders: Any = (0, 1, 2, 3, 4)) -> None:
    """Values, derivatives, antiderivatives and integrals of two curves, with every extrapolation."""
    equal(ours.c, theirs.c, "coefficients")
    for extrapolate in (None, True, False, "periodic"):
        for nu in orders:
            equal(ours(points, nu, extrapolate), theirs(points, nu, extrapolate), f"derivative {nu} {extrapolate}")
        for a, b in limits:
            wanted = theirs.integrate(a, b, extrapolate)
            equal(ours.integrate(a, b, extrapolate), wanted, f"∫ from {a} to {b} {extrapolate}")
    for nu in (1, 2):
        equal(ours.antiderivative(nu)(points), theirs.antiderivative(nu)(points), f"antiderivative {nu}")
        equal(ours.derivative(nu).c, theirs.derivative(nu).c, f"derivative {nu}")


def in_every_form(f: Any, *xs: Any) -> None:
    """Derivatives against differences, compiled and batched, in each argument."""
    ad.check_grads(f, xs, order=2)
    total = lambda *xs: np.sum(np.cos(f(*xs)))
    argnums = tuple(range(len(xs)))
    gradient = ad.grad(total, argnums=argnums)
    for found, wanted in zip(ad.jit(gradient)(*xs), gradient(*xs), strict=True):
        equal(found, wanted, "compiled gradient")
    for k, x in enumerate(xs):
        several = np.stack([x, x * (1.0 + 1e-3), x])
        of_one = lambda x, k=k: f(*xs[:k], x, *xs[k + 1 :])
        equal(ad.vmap(of_one)(several), np.stack([of_one(each) for each in several]), f"batch of argument {k}")


def shapes(n: int) -> list[tuple[tuple[int, ...], int]]:
    """Shapes of values, and the axis along which n of them stand."""
    return [((n,), 0), ((n, 2), 0), ((3, n), 1), ((2, n, 2), -2)]


def combinations(**options: Any) -> list[dict[str, Any]]:
    """Every combination of options."""
    return [dict(zip(options, chosen, strict=True)) for chosen in itertools.product(*options.values())]
