"""Arrays that may be plain ones of outside, behind branches."""

from typing import Any

import numpy as np

import adjoint as ad

X = np.array([1.0, 2.0, 3.0])


def test_a_reshaped_array_that_may_be_one_from_outside() -> None:
    """Behind a branch z is a plain array or a traced one; reading it flat asks for the memory of neither."""
    outside = np.array([0.3, -0.2, 0.8])

    def f(x: Any, u: Any) -> Any:
        z = outside * 1.0
        if np.all(u < 0.9):
            z = np.zeros(3)
        elif u[0] > 2:
            z = np.tanh(x)
        return np.sum(x) * z[np.argmax(z)] + np.sum(z.T.reshape(3, 1) * x)

    xs, us = np.stack([X, X * 0.5, -X]), np.stack([X, X * 0.1, X + 2])
    expected = [f(x, u) for x, u in zip(xs, us, strict=True)]
    np.testing.assert_allclose(ad.jit(ad.vmap(f))(xs, us), expected, rtol=1e-12)
    np.testing.assert_allclose([ad.jit(f, branches="native")(x, u) for x, u in zip(xs, us, strict=True)], expected)
