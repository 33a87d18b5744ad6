"""Derivatives of single primitives as the walks use them: a sample of all of them, against nested derivatives."""

import numpy as np
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import tree
from adjoint.curvature import backpropagate
from adjoint.curvature.graph import record_graph
from adjoint.curvature.local import pull_squared, stack_rows
from tests.ops.examples import examples

# Functions of symmetric arguments that are stored in full: their derivatives in single elements mean nothing.
OF_SYMMETRIC = ("solveh_banded", "commutator_solve", "anticommutator_solve", "block_right_solve")
EVERY = 6


def sample():
    """One small example of every sixth smooth primitive: a function of its active arguments, and these."""
    found = {}
    for example in examples():
        args = [example.args[i] for i in example.active]
        name = str(example.op)
        if name in found or name.startswith(OF_SYMMETRIC) or example.op.flat or not args:
            continue
        if any(x.dtype.char != "d" or not x.size for x in args) or sum(x.size for x in args) > 16:
            continue

        def f(*active, example=example):
            given = list(example.args)
            for i, x in zip(example.active, active, strict=True):
                given[i] = x
            return example.op(*given)

        if all(np.asarray(leaf).dtype.char == "d" for leaf in tree.leaves(f(*args))):
            found[name] = f, args
    names = sorted(found)
    assert len(names) > 200
    return [(name, *found[name]) for name in names[::EVERY]]


def test_hessians_through_every_kind_of_primitive():
    """A weighted sum s of the results, and s²: first and second derivatives of the primitive both count."""
    for name, f, args in sample():

        def g(*xs, f=f):
            parts = [
                np.sum(np.cos(np.arange(z.size) + k).reshape(z.shape) * z) for k, z in enumerate(tree.leaves(f(*xs)))
            ]
            return sum(parts) + 0.1 * sum(parts) ** 2

        every = tuple(range(len(args)))
        found, wanted = backpropagate(g, every)(*args).hessian, ad.hessian(g, every)(*args)
        for a, b in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
            assert_allclose(a, b, rtol=1e-8, atol=1e-9 * (1 + np.max(np.abs(b), initial=0)), err_msg=name)


def test_squares_of_jacobians():
    """(J∘J)ᵀ d, with weights squared in products and sums taken before squares, against whole Jacobians."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    functions = {
        "matmul": (lambda x: A @ x @ B, rng.normal(size=(4, 4))),
        "vectors": (lambda x: x @ np.ones(4) * 1.0, rng.normal(size=4)),
        "both": (lambda x: x @ x, rng.normal(size=(3, 3))),
        "einsum": (lambda x: np.einsum("ij,jk,kl->il", A, x, B), rng.normal(size=(4, 4))),
        "einsum alone": (lambda x: np.einsum("ijk->j", x), rng.normal(size=(2, 3, 2))),
        "summed others": (lambda x: np.einsum("i,jk->i", x, A), rng.normal(size=3)),
        "sums": (lambda x: np.sum(x, axis=0), rng.normal(size=(3, 2))),
        "running sums": (lambda x: np.cumsum(x), rng.normal(size=5)),
        "repeated": (lambda x: x[[0, 0, 1]], rng.normal(size=3)),
        "Fourier": (lambda x: np.fft.irfft(np.fft.rfft(A[0])) * x, rng.normal(size=4)),
        "convolution": (lambda x: np.convolve(x, A[0]), rng.normal(size=5)),
        "determinant": (lambda x: np.linalg.det(x), rng.normal(size=(3, 3))),
    }
    for name, (f, x) in functions.items():
        graph = record_graph(lambda active, f=f: f(*active), [x])
        for node in graph.nodes:
            d = [rng.normal(size=np.shape(z)) if o >= 0 else None for z, o in zip(node.zs, node.outputs, strict=True)]
            weights = np.concatenate([np.ravel(part) for part in d if part is not None])
            for found, J in zip(pull_squared(node, d), stack_rows(node), strict=True):
                assert_allclose(found, np.tensordot(weights, J**2, 1), rtol=1e-11, atol=1e-13, err_msg=name)
