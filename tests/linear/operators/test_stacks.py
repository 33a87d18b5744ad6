"""Stacks of maps, as vmap returns them, are mapped over; used as one map they are refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear
from adjoint.base.errors import ShapeError

XS = np.array([[0.3, -0.7, 1.1], [1.2, 0.4, 0.6], [0.9, 2.0, -0.2]])  # as many as the maps have rows
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])
V = np.array([0.4, -1.0, 0.6])


def curve(x):
    return np.sin(x) * x[::-1]


MAPS = {
    "matrix": lambda x: linear.matrix(S + np.outer(x, x)),
    "diagonal": linear.diagonal,
    "scaling": lambda x: linear.scaling(x[0], 3),
    "low_rank": lambda x: linear.low_rank(x, x**2),
    "sparse": lambda x: linear.sparse(x, [0, 1, 2], [0, 2, 2], (3, 3)),
    "khatri_rao": lambda x: linear.khatri_rao(x[None], S),
    "kronecker": lambda x: linear.kronecker(linear.matrix(x[:1, None]), S),
    "sum": lambda x: linear.diagonal(x) + 2 * linear.matrix(S),
    "product": lambda x: linear.matrix(S) @ linear.diagonal(x),
    "inverse": lambda x: linear.matrix(S + np.outer(x, x)).inverse,
    "factored": lambda x: linear.factored(linear.matrix(S + np.outer(x, x))),
    "block": lambda x: linear.raveled(linear.block([[linear.diagonal(x)]])),
    "jacobian": linear.jacobian(curve),
    "hessian": linear.hessian(lambda x: np.sum(curve(x) ** 2)),
}


@pytest.mark.parametrize("name", MAPS)
def test_stacks_are_mapped_over(name):
    make = MAPS[name]
    stack = ad.vmap(make)(XS)
    one_by_one = np.stack([make(x).to_dense() @ V for x in XS])
    assert_allclose(ad.vmap(lambda a: a @ V)(stack), one_by_one, rtol=1e-12)
    assert_allclose(ad.tree.map(lambda leaf: leaf[1], stack) @ V, one_by_one[1], rtol=1e-12)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize(
    "use",
    [
        lambda a: a @ V,
        lambda a: a(XS),
        lambda a: a.T @ V,
        lambda a: V @ a,
        lambda a: a @ S,
        lambda a: a.solve(V),
        lambda a: a.to_dense(),
        lambda a: a.trace(),
        lambda a: a.as_scipy(),
        lambda a: (a + a) @ V,
        linear.logdet,
        lambda a: linear.gmres(a, V),
        lambda a: linear.estimate_trace(a, 0),
    ],
)
def test_a_stack_is_no_map(name, use):
    with pytest.raises(ShapeError, match="a stack of 3 maps, as vmap returns it"):
        use(ad.vmap(MAPS[name])(XS))


def test_stacks_say_what_they_are():
    stack = ad.vmap(MAPS["matrix"])(XS)
    assert stack.batch_shape == (3,)
    assert repr(stack) == "<3 stacked: Matrix 3×3>"
    assert pickle.loads(pickle.dumps(ad.vmap(linear.diagonal)(XS))).batch_shape == (3,)
    assert linear.diagonal(XS).batch_shape == ()  # one map, on arrays of this shape
    assert ad.jit(linear.diagonal)(XS).batch_shape == ()
    assert ad.vmap(ad.vmap(linear.diagonal))(XS[None]).batch_shape == (1, 3)
