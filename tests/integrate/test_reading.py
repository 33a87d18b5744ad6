"""Arguments of `solve` as they are read: spans and times may be mapped."""

import numpy as np

import adjoint as ad


def test_ends_and_times_are_mapped() -> None:
    last = lambda end: ad.integrate.solve(lambda t, y: -y, (0.0, end), 1.0, rtol=1e-9, atol=1e-12, method="tsit5").last
    np.testing.assert_allclose(ad.vmap(last)(np.array([1.0, 2.0])), np.exp([-1.0, -2.0]), rtol=1e-7)
