"""Sums over broadcast axes, as rules need them, against autograd's."""

import autograd.numpy.numpy_vjps as theirs
import autograd.numpy.numpy_wrapper as wrapper
import numpy as np
import pytest

from adjoint.compat.autograd.numpy import linalg, make_diagonal, metadata, numpy_wrapper, random, row_stack
from adjoint.compat.autograd.numpy.numpy_vjps import match_complex, replace_zero, unbroadcast, unbroadcast_f


@pytest.mark.parametrize("shape", [(), (3,), (1,), (2, 1), (1, 3), (2, 3), (4, 1, 1)])
def test_broadcast_axes_are_summed(shape) -> None:
    x = np.arange(24.0).reshape(4, 2, 3) + 1j
    for target in (np.ones(shape), np.ones(shape, complex)):
        expected = theirs.unbroadcast(x, wrapper.metadata(target))
        np.testing.assert_allclose(unbroadcast(x, metadata(target)), expected)
        np.testing.assert_allclose(unbroadcast_f(target, lambda g: 2 * g)(x), 2 * expected)


def test_small_things() -> None:
    assert match_complex(1.0, 1 + 2j) == 1.0
    assert match_complex(1j, 1.0) == 1 + 0j
    np.testing.assert_allclose(replace_zero(np.array([0.0, 2.0]), 5.0), [5.0, 2.0])
    np.testing.assert_allclose(make_diagonal(np.arange(3.0), axis1=-1, axis2=-2), np.diag(np.arange(3.0)))
    with pytest.raises(NotImplementedError, match=r"np\.eye"):
        make_diagonal(np.ones(3))
    assert row_stack(([1.0], [2.0])).shape == (2, 1)
    assert numpy_wrapper.array_from_args((), {}, 1.0, 2.0).tolist() == [1.0, 2.0]
    assert numpy_wrapper.concatenate_args(0, [1.0], [2.0]).tolist() == [1.0, 2.0]
    assert random.RandomState is np.random.RandomState
    assert linalg.LinAlgError is np.linalg.LinAlgError
