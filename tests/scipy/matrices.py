"""Matrices for the tests of linear algebra."""

import numpy as np

from tests.numpy.checking import complex_array, signed


def regular(*shape, seed=0):
    return signed(*shape, seed=seed) + 4 * np.eye(shape[-2], shape[-1])


def complex_regular(*shape, seed=0):
    return complex_array(*shape, seed=seed) + 4 * np.eye(shape[-2], shape[-1])


def adjoint(a):
    return np.conj(np.swapaxes(a, -1, -2))


def gram(a):
    return a @ adjoint(a)


def hermitian(a):
    return (a + adjoint(a)) / 2


def apart(*shape, seed=0, values=(1.0, 2.0, 4.0)):
    """A matrix whose eigenvalues stay apart."""
    return np.diag(values) + 0.2 * signed(*shape, seed=seed)


def complex_apart(*shape, seed=0, values=(1.0, 2.0 + 1j, 4.0)):
    return np.diag(values) + 0.2 * complex_array(*shape, seed=seed)


def compared(found, wanted, tolerance=1e-11):
    """Equal in shape, dtype and value, part by part."""
    found, wanted = (list(x) if isinstance(x, tuple | list) else [x] for x in (found, wanted))
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        ours, theirs = np.asarray(ours), np.asarray(theirs)
        assert ours.shape == theirs.shape
        assert ours.dtype.kind == theirs.dtype.kind
        scale = 1 + np.max(np.abs(theirs), initial=0)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)
