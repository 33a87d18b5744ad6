"""Reshape, transpose, broadcast, convert."""

import numpy as np
import pytest

import adjoint as ad
from tests.numpy.checking import Case, array, complex_array, every_check

X, T = array(2, 3), array(2, 3, 4)
CASES = [
    Case("reshape", lambda x: np.reshape(x, (3, 2)), (X,)),
    Case("reshape -1", lambda x: np.reshape(x, (3, -1)), (X,)),
    Case("reshape F", lambda x: np.reshape(x, (4, 6), order="F"), (T,)),
    Case("ravel", np.ravel, (X,)),
    Case("ravel F", lambda x: np.ravel(x, order="F"), (T,)),
    Case("transpose", np.transpose, (T,)),
    Case("transpose axes", lambda x: np.transpose(x, (1, -1, 0)), (T,)),
    Case("permute_dims", lambda x: np.permute_dims(x, (2, 0, 1)), (T,)),
    Case("swapaxes", lambda x: np.swapaxes(x, 0, -1), (T,)),
    Case("matrix_transpose", np.matrix_transpose, (T,)),
    Case("moveaxis", lambda x: np.moveaxis(x, 0, -1), (T,)),
    Case("moveaxis several", lambda x: np.moveaxis(x, [0, 1], [-1, 0]), (T,)),
    Case("rollaxis", lambda x: np.rollaxis(x, 2, 1), (T,)),
    Case("expand_dims", lambda x: np.expand_dims(x, (0, 2)), (X,)),
    Case("squeeze", np.squeeze, (array(1, 3, 1),)),
    Case("squeeze axis", lambda x: np.squeeze(x, axis=2), (array(1, 3, 1),)),
    Case("atleast_1d", lambda x: np.atleast_1d(x), (1.3,)),
    Case("atleast_2d", np.atleast_2d, (array(3),)),
    Case("atleast_3d", np.atleast_3d, (X,)),
    Case("atleast of several", lambda x, y: np.atleast_2d(x, y), (1.3, X)),
    Case("broadcast_to", lambda x: np.broadcast_to(x, (2, 2, 3)), (X,)),
    Case("broadcast_to same", lambda x: np.broadcast_to(x, (2, 3)), (X,)),
    Case("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y), (array(3), array(2, 1))),
    Case("astype", lambda x: np.astype(x, np.complex128), (X,)),
    Case("astype to float", lambda z: np.real(z).astype(float), (complex_array(3),)),
    Case("unstack", lambda x: np.unstack(x, axis=1), (X,)),
]


@every_check(CASES)
def test_shaping(case, check) -> None:
    check(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.reshape(x, (4, 2)),
        lambda x: np.reshape(x, (-1, -1)),
        lambda x: np.transpose(x, (0, 0)),
        lambda x: np.squeeze(x, 0),
        lambda x: np.broadcast_to(x, (4,)),
        lambda x: np.broadcast_to(x, (5, 3)),
        lambda x: np.moveaxis(x, [0, 1], [0]),
        lambda x: np.expand_dims(x, 7),
        lambda x: np.swapaxes(x, 0, 5),
    ],
)
def test_wrong_shapes_raise(call) -> None:
    with pytest.raises(ValueError):  # AxisError is one
        ad.grad(lambda x: np.sum(call(x)))(np.ones((2, 3)))


def test_float32_stays_float32() -> None:
    x = np.ones((2, 3), np.float32)
    g = ad.grad(lambda x: np.sum(np.reshape(x, (3, 2)).T * 2.0))(x)
    assert g.dtype == np.float32
