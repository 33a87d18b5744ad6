"""Examples of the primitives that move, sum, multiply and choose elements of arrays."""

from collections.abc import Iterator

import numpy as np

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.cumulative import ArgCumExtremum, CumProd, CumSum, LinearRecurrence
from adjoint.ops.arrays.index import Gather, LastWrite, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.rearrange import Broadcast, Complex, Concatenate, Convert, Imag, Pad, Real, Reshape, Transpose
from adjoint.ops.arrays.reduce import ArgSort, Extremum, FlatReduction, Product, Sum
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.arrays.search import ArgPartition, Count, SearchSorted
from adjoint.ops.elementwise.compare import Exponent
from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.elementwise.select import Select, StopGradient
from adjoint.ops.signal.fourier import Fourier, FromHalfSpectrum, HalfSpectrum
from adjoint.ops.signal.vector_convolution import VectorConvolution
from adjoint.ops.special.carlson import CarlsonIntegral
from adjoint.ops.special.gamma import Polygamma
from adjoint.ops.special.parameters import ParameterDerivative
from adjoint.ops.special.quadrature import Placed
from adjoint.ops.special.sequences import FunctionSequence
from tests.ops.samples import ALL, COMPLEX, FLOAT, SINGLE, SINGLE_COMPLEX, Example, apart, normal, strided


def array_examples() -> Iterator[Example]:
    for dtype in (FLOAT, SINGLE, COMPLEX):
        x = normal(2, 3, dtype=dtype)
        yield Example(MaskedProduct(), (x, normal(3, dtype=dtype)))
        yield Example(MatMul(), (x, normal(3, 2, dtype=dtype)))
        yield Example(Einsum("ij,jk->ik"), (x, normal(3, 2, dtype=dtype)))
        yield Example(Slice(((None, None, -1), 1)), (x,))
        yield Example(Gather(1), (x, np.array([1, 0, 1])))
        yield Example(ScatterSum((3, 2), dtype, (("slice", (ALL, 0)),)), (normal(3, dtype=dtype),))
        yield Example(ScatterSet(("slice", (0,))), (x, normal(3, dtype=dtype)))
        yield Example(VectorConvolution(False), (x, normal(2, dtype=dtype)))
        yield Example(VectorConvolution(True), (normal(5, dtype=dtype), x))
        yield Example(VectorConvolution(False), (normal(2, dtype=dtype), normal(4, dtype=dtype)))
        yield Example(VectorConvolution(True), (x, normal(2, 1, 2, dtype=dtype)))
        yield Example(Reshape((3, 2)), (x,))
        yield Example(Transpose((1, 0)), (x,))
        yield Example(Broadcast((4, 2, 3)), (x,))
        yield Example(Concatenate(1), (x, normal(2, 1, dtype=dtype), x))
        yield Example(Pad(((1, 0), (0, 2))), (x,))
        yield Example(Real(), (x,))
        yield Example(Imag(), (x,))
        yield Example(CumSum(1), (x,))
        yield Example(CumProd(1), (x,))
        yield Example(LinearRecurrence(1), (x, normal(2, 3, dtype=dtype, seed=1)))
        yield Example(Sum((0,)), (x,))
        yield Example(Product((1,)), (x,))
        yield Example(Select(), (x, normal(2, 3, dtype=dtype, seed=1), x.real > 0))
        yield Example(LogSumExp((1,)), (x,))
        away = np.abs(x.real) + (0.5 + 0.25j if dtype.kind == "c" else 0.5)
        yield Example(Polygamma(2), (away.astype(dtype),))
        yield Example(StopGradient(), (x,), smooth=False)
        for target in (FLOAT, SINGLE, COMPLEX):
            yield Example(Convert(target), (x,))
        if dtype.kind == "f":
            yield Example(Exponent(), (dtype.type(1.3),))
            yield Example(Exponent(), (1.3 * np.exp2(np.arange(-3, 3)).astype(dtype),))
    yield Example(Count(5), (np.int64(3),))
    yield Example(Count(1), (np.int64(-2),))
    for side in ("left", "right"):
        yield Example(SearchSorted(side), (np.array([-8.0, 0.0, 8.0]), np.array([[-4.0, 13.0], [-13.0, 4.0]])))
        yield Example(SearchSorted(side), (np.array([-1.0, 0.5, 2.0], np.float32), np.float32(0.7)))
    yield Example(Polygamma(1), (np.float64(1.7),))
    for dtype in (FLOAT, SINGLE):
        a, x = np.array([1.5, 0.7], dtype), np.array([[2.0], [0.4]], dtype)
        yield Example(ParameterDerivative("gammainc", (1, 0)), (a, x))
        yield Example(ParameterDerivative("hyp1f1", (0, 1, 0)), (a, np.float64(1.3).astype(dtype), x))
        three = (np.array([0.4, 1.1], dtype), np.array([[2.0], [0.4]], dtype), dtype.type(1.3))
        yield Example(CarlsonIntegral((0, 1, 0, 1)), (*three, np.array([0.7, 3.0], dtype)))
        yield Example(CarlsonIntegral((0, 0, 1, 0)), (*[t.ravel()[0] for t in three], dtype.type(1.0)))
        yield Example(FunctionSequence("lqn", (2,)), (np.array([0.3, -0.6], dtype),))
        yield Example(FunctionSequence("lqmn", (1, 2)), (dtype.type(0.3),))
        yield Example(Placed("wright.stride"), (a, x, dtype.type(3.0)), smooth=False)
        yield Example(Placed("wright.stride"), (a, a, a), smooth=False)
    yield Example(FunctionSequence("pbdv_seq", (2.3,)), (np.float64(0.7),))
    yield Example(ParameterDerivative("jv", (1, 0)), (np.array([1.5, 0.7]), np.array([2.0 + 1.0j, 0.4 - 0.3j])))
    yield Example(LogSumExp((0, 2)), (normal(2, 1, 3),))
    for dtype, half in ((FLOAT, COMPLEX), (SINGLE, SINGLE_COMPLEX)):
        for n in (4, 5):
            yield Example(HalfSpectrum(1), (normal(2, n, dtype=dtype),))
            yield Example(FromHalfSpectrum(0, n), (normal(3, 2, dtype=half),))
            yield Example(FromHalfSpectrum(0, n), (normal(3, dtype=half),))
        for sign in (-1, 1):
            yield Example(Fourier((0,), sign), (normal(5, dtype=half),))
            yield Example(Fourier((0, 2), sign), (normal(2, 3, 4, dtype=half),))
    x = normal(2, 3)
    # axis and shape forms, 0-d and empty, orders of memory
    for y in (x, strided(x), np.asfortranarray(x), normal(0, 3), normal(2, 0)):
        for axes in ((), (0,), (1,), (0, 1)):
            if y.size:
                yield Example(LogSumExp(axes), (y,))
            yield Example(Sum(axes), (y,))
            yield Example(Product(axes), (y,))
        for axis in (0, 1):
            yield Example(CumSum(axis), (y,))
            yield Example(CumSum(axis, True), (y,))
            yield Example(CumProd(axis), (y,))
            yield Example(ArgSort(axis), (y,))
            yield Example(ArgCumExtremum("max", axis), (y,))
            yield Example(LinearRecurrence(axis), (y, y + 1))
            yield Example(LinearRecurrence(axis, True), (y, y + 1))
        yield Example(Transpose((1, 0)), (y,))
        yield Example(Reshape((y.size,)), (y,))
        yield Example(Slice((ALL, (None, None, 2))), (y,))
        yield Example(MatMul(), (y, normal(y.shape[1], 2)))
        yield Example(Select(), (y, normal(2, 1), y > 0)) if y.size else Example(Select(), (y, 1.0, y > 0))
    for y in (np.float64(1.3), np.array(1.3)):
        for op in (Sum(()), Product(()), Reshape((1, 1)), Transpose(()), Broadcast((2,)), Pad(()), Convert(SINGLE)):
            yield Example(op, (y,))
        yield Example(Slice((None,)), (np.asarray(y),))
        yield Example(Real(), (y,))
        yield Example(Imag(), (y,))
        yield Example(StopGradient(), (y,), smooth=False)
        yield Example(Einsum(",->"), (y, np.float64(2.0)))
        yield Example(MaskedProduct(), (y, np.float64(2.0)))
    yield from _products()
    yield from _orders()
    yield from _indexing()
    yield from _selecting()


def _products() -> Iterator[Example]:
    for shapes in [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((4, 2, 3), (3, 2)),
        ((2, 3), (4, 3, 2)),
        ((4, 2, 3), (4, 3, 1)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((4, 2, 3), (3,)),
        ((3,), (4, 3, 2)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((1, 2, 3), (4, 3, 2)),
    ]:
        yield Example(MatMul(), tuple(normal(*s, seed=i) for i, s in enumerate(shapes)))
    yield Example(MatMul(), (normal(3), normal(3, dtype=COMPLEX)))
    yield Example(MatMul(), (normal(2, 3, dtype=COMPLEX), normal(4, 3, 2)))
    yield Example(MatMul(), (np.arange(6).reshape(2, 3), normal(3, 2)))
    yield Example(MatMul(), (strided(normal(2, 3)), np.asfortranarray(normal(3, 2))))
    for spec, *shapes in [
        ("ij,ij->", (2, 3), (2, 3)),
        ("ij->i", (2, 3)),
        ("ij->ji", (2, 3)),
        ("i,j->ij", (2,), (3,)),
        ("ij,j->i", (2, 3), (3,)),
        ("ij,jk,kl->il", (2, 3), (3, 2), (2, 4)),
        ("ijk->", (2, 3, 2)),
        ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
        ("i,i,i->i", (3,), (3,), (3,)),
        ("ij,jk->ik", (2, 0), (0, 3)),
        ("ij,j->i", (2, 1), (3,)),
        ("ij,ij->ij", (2, 3), (1, 3)),
        ("ij,k->kj", (2, 3), (4,)),
    ]:
        yield Example(Einsum(spec), tuple(normal(*s, seed=i) for i, s in enumerate(shapes)))
    yield Example(Einsum("ij,jk->ik"), (normal(2, 3), normal(3, 2, dtype=COMPLEX)))
    yield Example(MaskedProduct(), (np.array([0.0, 1.0, 0.0]), normal(2, 3)), "zeros")
    yield Example(MaskedProduct(), (normal(2, 1), normal(3)))
    yield Example(MaskedProduct(), (normal(0, 2), normal(2)))
    yield Example(MaskedProduct(), (normal(3), normal(3, dtype=SINGLE)))
    yield Example(MaskedProduct(), (normal(3), 2.0))
    yield Example(CumProd(0), (np.array([1.5, 0.0, 2.0, 0.0, 1.0]),), "zeros")
    yield Example(Product((0,)), (np.array([1.5, 0.0, 2.0, 3.0]),), "onezero")
    yield Example(Product((0,)), (np.array([0.0, 0.0, 2.0, 3.0]),), "twozeros")
    yield Example(Product((0, 2)), (normal(2, 3, 2),))
    yield Example(Product((0,)), (normal(3, dtype=COMPLEX),))
    yield Example(CumProd(0), (normal(3, dtype=COMPLEX),))
    yield Example(LinearRecurrence(0), (normal(3, dtype=COMPLEX), normal(3)))
    yield Example(LinearRecurrence(0), (normal(3), normal(3, dtype=COMPLEX)))
    yield Example(LinearRecurrence(0), (normal(3, 1), normal(3, 2)))
    yield Example(LinearRecurrence(0), (normal(3, 2), normal(3, 1)))


def _orders() -> Iterator[Example]:
    for kind in ("max", "min"):
        x = apart(3, 4)
        for y in (x, strided(x), np.asfortranarray(x), x.astype(SINGLE)):
            for axes in ((0,), (1,), (0, 1)):
                yield Example(Extremum(kind, axes), (y,))
        yield Example(Extremum(kind, ()), (x,))
        yield Example(Extremum(kind, ()), (np.float64(1.5),))
        yield Example(Extremum(kind, (1,)), (normal(0, 3),))
        yield Example(ArgCumExtremum(kind, 1), (apart(3, 4),))
        yield Example(ArgCumExtremum(kind, 0), (apart(3, 4),))
    for kind in ("any", "all", "argmax", "argmin", "count_nonzero"):
        for axis in (0, 1):
            yield Example(FlatReduction(kind, (axis,)), (apart(3, 4),))
        if not kind.startswith("arg"):
            yield Example(FlatReduction(kind, (0, 1)), (apart(3, 4),))
            yield Example(FlatReduction(kind, ()), (apart(3, 4),))
            yield Example(FlatReduction(kind, (0,)), (normal(0, 2),))
    yield Example(ArgSort(0), (np.array([1.0, 0.0, 1.0, 0.0]),), "ties", smooth=False)
    yield Example(ArgSort(2), (apart(2, 2, 3),))
    yield Example(Complex(), (normal(2, 3), normal(2, 3, seed=1)))
    yield Example(Complex(), (normal(dtype=SINGLE), normal(dtype=SINGLE, seed=1)))
    yield Example(ArgPartition((1, 3), 1), (apart(2, 5),))
    yield Example(ArgPartition((2,), 0), (apart(7).astype(np.float32),))


def _indexing() -> Iterator[Example]:
    x = normal(3, 4, 2)
    for items in [
        (0,),
        (-1,),
        ((1, 3, None),),
        ((None, None, -2),),
        (Ellipsis, 0),
        (None, 1),
        (ALL, None, (0, 0, None)),
        ((2, None, -1), Ellipsis, 1),
        (0, 1, 1),
        (Ellipsis,),
        (),
    ]:
        yield Example(Slice(items), (x,))
        part = np.asarray(x[tuple(slice(*i) if type(i) is tuple else i for i in items)])
        yield Example(ScatterSet(("slice", items)), (x, normal(*part.shape, seed=3)))
        yield Example(ScatterSum((3, 4, 2), FLOAT, (("slice", items),)), (normal(*part.shape, seed=3),))
    grids = [
        (np.array([2, 0, 0, 1]),),
        (np.array([[2, -1], [0, 1]]),),
        (np.array([0, 2]), np.array([3, 3])),
        (np.array([[0], [2]]), np.array([1, 3])),
        (np.array([0, 2, 1]), np.array([3, 3, 0]), np.array([1, 0, 0])),
        (np.int64(1),),
        (np.array([], int),),
        (np.array([1, 1, 1]),),
        (np.array([[2]]), np.array([0, 3, -4])),
    ]
    for indices in grids:
        n = len(indices)
        shape = np.shape(x[indices])
        yield Example(Gather(n), (x, *indices))
        yield Example(ScatterSum((3, 4, 2), FLOAT, (("gather", n),)), (normal(*shape, seed=3), *indices))
        yield Example(ScatterSet(("gather", n)), (x, normal(*shape, seed=3), *indices))
        yield Example(LastWrite((3, 4, 2)[:n]), indices)
    vector = normal(5)
    repeated = np.array([4, 0, 4, -1, 2, 0])
    yield Example(Gather(1), (vector, repeated))
    yield Example(Gather(1), (vector.astype(SINGLE), repeated))
    yield Example(Gather(1), (vector + 1j, repeated))
    yield Example(Gather(1), (vector, np.array([[4, 0], [4, 1]])))
    yield Example(ScatterSum((5,), FLOAT, (("gather", 1),)), (normal(6), repeated))
    yield Example(ScatterSum((5,), COMPLEX, (("gather", 1),)), (normal(6, dtype=COMPLEX), repeated))
    yield Example(ScatterSet(("gather", 1)), (vector, normal(6), repeated))
    yield Example(ScatterSet(("gather", 1)), (vector + 1j, normal(6, dtype=COMPLEX), repeated))
    yield Example(ScatterAdd((), ("gather", 1)), (vector, normal(6), repeated))
    yield Example(ScatterAdd((), ("gather", 1)), (vector + 1j, normal(6, dtype=COMPLEX), repeated))
    yield Example(ScatterAdd((), ("gather", 1)), (vector, np.float64(0.7), np.int64(-2)))
    yield Example(ScatterAdd((), ("slice", ((3, None, -2),))), (vector, normal(2, seed=4)))
    columns = (("transpose", (1, 0, 2)),)
    yield Example(ScatterAdd(columns, ("gather", 1)), (x, normal(3, 2, seed=4), np.int64(3)))
    inside = (("slice", ((1, None, None), (None, None, 2))), ("transpose", (2, 1, 0)), ("slice", (0,)))
    yield Example(ScatterAdd(inside, ("gather", 2)), (x, normal(3), np.array([0, 1, -1]), np.array([1, 1, 0])))
    flat = (("reshape", (24,)), ("reshape", (6, 4)))
    yield Example(ScatterAdd(flat, ("gather", 1)), (x, normal(2, 4, seed=4), np.array([5, 5])))
    several = (("slice", (0,)), ("gather", 1), ("slice", (ALL, 1)), ("gather", 2))
    yield Example(
        ScatterSum((3, 2), FLOAT, several),
        (normal(2), normal(2, 2), normal(3), normal(2), np.array([0, 2]), np.array([1, 1]), np.array([0, 1])),
    )


def _selecting() -> Iterator[Example]:
    mask = np.array([True, False, True])
    yield Example(Select(), (normal(3), normal(3, seed=1), mask))
    yield Example(Select(), (normal(2, 1), normal(3), mask))
    yield Example(Select(), (normal(3), 0.0, mask))
    yield Example(Select(), (1, normal(3), mask))
    yield Example(Select(), (normal(3, dtype=SINGLE), 0.0, mask))
    yield Example(Select(), (2, normal(3, dtype=SINGLE), mask))
    yield Example(Select(), (np.float64(1.5), np.float64(2.5), np.True_))
    yield Example(Select(), (normal(3), normal(3, seed=1), np.True_))
    yield Example(Select(), (normal(3, dtype=SINGLE), normal(3), mask))
    yield Example(Select(), (normal(3), normal(3, dtype=COMPLEX), mask))
    yield Example(Select(), (np.arange(3), normal(3), mask))
    yield Example(Select(), (normal(0), normal(0), np.array([], bool)))
    yield Example(Broadcast((2, 3)), (normal(1, 1),))
    yield Example(Broadcast((2, 0)), (normal(1),))
    yield Example(Broadcast((3,)), (normal(3),))
    yield Example(Concatenate(0), (normal(2), normal(0), normal(1)))
    yield Example(Concatenate(0), (normal(2), normal(1, dtype=SINGLE), normal(1, dtype=COMPLEX)))
    yield Example(Concatenate(1), (normal(2, 1, 2), normal(2, 2, 2)))
    yield Example(Concatenate(0), (np.arange(2), normal(2)))
    yield Example(Transpose((2, 0, 1)), (normal(2, 3, 4),))
    yield Example(Reshape((2, 2, 3)), (normal(3, 4),))
