"""Primitives on arrays with arguments to try them on, for real numbers and for complex ones."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.cumulative import ArgCumExtremum, CumProd, CumSum, LinearRecurrence
from adjoint.ops.arrays.index import Gather, LastWrite, ScatterSet, ScatterSum, Slice
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.norm import Length
from adjoint.ops.arrays.rearrange import Broadcast, Complex, Concatenate, Convert, Imag, Pad, Real, Reshape, Transpose
from adjoint.ops.arrays.reduce import ArgSort, Extremum, FlatReduction, Product, Sum
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.ops.arrays.search import ArgPartition, Nonzero, SearchSorted
from adjoint.ops.checkpointing.policies import Mark
from adjoint.ops.elementwise.compare import Exponent
from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.elementwise.select import Select, StopGradient
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.ops.special.gamma import Polygamma
from adjoint.random.draws import Undifferentiable

Draw = Callable[..., Any]  # shape -> array
SPECIAL = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, -np.inf], [0.0, -0.0, 0.0]])
Tried = Iterator[tuple[Any, list[Any]]]


def real(rng: np.random.Generator) -> Draw:
    return lambda *shape: rng.normal(size=shape)


def complex_(rng: np.random.Generator) -> Draw:
    return lambda *shape: rng.normal(size=shape) + 1j * rng.normal(size=shape)


def reductions(draw: Draw) -> Tried:
    x = draw(2, 3, 4)
    one = draw() / draw()  # 1, or a complex number, so that ties and specials are complex too
    one = one / abs(one)
    special = SPECIAL.astype(x.dtype)
    ties = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]]) * one
    for axes in ((), (0,), (1, 2), (0, 1, 2)):
        yield Sum(axes), [x]
        yield Product(axes), [x]
        yield Length(axes), [x]
        yield LogSumExp(axes), [x]
    for axes in ((0,), (0, 2)):
        for kind in ("max", "min"):
            yield Extremum(kind, axes), [x]
    for kind in ("argmax", "argmin"):
        yield FlatReduction(kind, (1,)), [special]
        yield FlatReduction(kind, (0,)), [ties]
    for kind in ("any", "all", "count_nonzero"):
        yield FlatReduction(kind, (0,)), [np.array([[0.0, 1.0], [0.0, np.nan]]) * one]
    for reverse in (False, True):
        yield CumSum(1, reverse), [x]
        yield LinearRecurrence(2, reverse), [x, x[::-1].copy()]
    yield CumProd(0), [x]
    yield ArgSort(1), [special]
    yield ArgSort(0), [ties]
    yield ArgSort(1), [x]
    for kind in ("max", "min"):
        yield ArgCumExtremum(kind, 1), [special]
        yield ArgCumExtremum(kind, 2), [x]
    a = np.sort(draw(9))
    for side in ("left", "right"):
        yield SearchSorted(side), [a, np.concatenate([draw(3), a[2:5]])]
        yield SearchSorted(side), [a, a[4]]
    nonzero = x * (np.abs(x) > 0.7)
    yield Nonzero(int(np.count_nonzero(nonzero))), [nonzero]


def real_reductions(draw: Draw) -> Tried:
    """What NumPy defines for real numbers alone, or defines otherwise."""
    special = SPECIAL
    for op in (Sum((1,)), Product((1,)), Extremum("max", (1,)), Extremum("min", (0,)), LogSumExp((1,)), CumSum(1)):
        yield op, [special]
    yield LogSumExp((0,)), [np.full((3, 2), -np.inf)]
    yield Sum((0,)), [np.arange(20_000, dtype=np.float32) / 7]
    yield Sum((0,)), [np.array([True, False, True])]
    yield ArgPartition((0, 1, 2, 3), 1), [np.array([[3.0, 1.0, 2.0, np.nan], [0.5, 9.0, -1.0, 4.0]])]
    for n in (1, 2, 5):
        yield Polygamma(n), [np.array([0.1, 0.7, 1.0, 2.5, 13.0, 40.0, -0.5, -2.3, np.inf, np.nan])]
    yield Exponent(), [np.array([1.0, 0.5, -3.0, 0.0, 1e-310, 1e308, np.inf])]
    yield SearchSorted("left"), [np.array([1.0, 2.0, np.nan]), np.array([np.nan, np.inf, 2.0])]
    yield LastWrite((3, 4)), [np.array([0, 2, 2, 1]), np.array([1, 1, 1, 3])]


def rearrangements(draw: Draw) -> Tried:
    x = draw(3, 4)
    kind = x.dtype
    yield Reshape((2, 6)), [x]
    yield Transpose((1, 0)), [x]
    yield Transpose((2, 0, 1)), [draw(2, 3, 4)]
    yield Broadcast((2, 3, 4)), [x]
    yield Broadcast((3, 4)), [x[:, :1]]
    yield Concatenate(1), [x, x[:, :2], x * 2]
    yield Concatenate(0), [np.arange(3), draw(2)]
    yield Pad(((1, 0), (2, 3))), [x]
    for dtype in ("float32", "int64", "bool", "float64", "int8", "float16", "complex128", "complex64"):
        yield Convert(np.dtype(dtype)), [np.array([1.7, -2.5, 0.0, 1e-9]) * (1 if np.isrealobj(x) else 1 + 2j)]
    yield Real(), [x]
    yield Imag(), [x]
    yield Complex(), [x.real.copy(), x.imag.copy()]
    yield StopGradient(), [x]
    yield Mark("a"), [x]
    yield Weaken(), [x]
    yield Undifferentiable("normal", "scale", "it is drawn."), [x]
    yield Select(), [x, -x, x.real > 0]
    yield Select(), [np.nan, x, x.real > 0]
    ct, d = np.array([0.0, 1.0, -0.0, 2.0]), np.array([np.inf, 4.0, np.nan, 3.0])
    yield MaskedProduct(), [ct.astype(kind), d.astype(kind)]
    for items in ((0,), (-1, 2), ((None, None, -1),), ((1, None, 2), None, (0, -1, 1)), (None, (5, 9, None)),
                  ((-1, 0, -2), (None, None, None)), ((2, 0, -1), 1), (..., 0), (1, ..., None),
                  (..., (None, -1, None))):  # fmt: skip
        yield Slice(items), [x]
        part = np.asarray(Slice(items).evaluate(x)) * 3
        yield ScatterSum((3, 4), kind, (("slice", items),)), [part]
        yield ScatterSet(("slice", items)), [x, part]
    rows, columns = np.array([0, 2, 2, -1]), np.array([1, 1, 1, 3])
    yield Gather(1), [x, rows]
    yield Gather(2), [x, rows[:, None], columns]
    yield ScatterSum((3, 4), kind, (("gather", 2),)), [draw(4), rows, columns]
    yield ScatterSum((3, 4), kind, (("gather", 1), ("slice", (0,)))), [draw(4, 4), np.ones(4), rows]
    yield ScatterSet(("gather", 2)), [x, np.arange(4.0), rows, columns]
    yield ScatterAdd((), ("gather", 2)), [x, draw(4), rows, columns]
    yield ScatterAdd((("transpose", (1, 0)), ("slice", ((1, None, 1),))), ("gather", 1)), [x, draw(4, 3), rows]
    yield ScatterAdd((("reshape", (2, 6)),), ("slice", (1, (None, None, 2)))), [x, draw(3)]


def products(draw: Draw) -> Tried:
    for a, b in (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (2, 3, 2)),
    ):
        yield MatMul(), [draw(*a), draw(*b)]
    yield MatMul(), [draw(2, 3), np.arange(3)]
    yield Einsum("ij,jk->ik"), [draw(2, 3), draw(3, 4)]
    yield Einsum("ij,ij->"), [draw(2, 3), draw(2, 3)]
    yield Einsum("bij,bj,i->b"), [draw(4, 2, 3), draw(4, 3), draw(2)]
    yield Einsum("ij->ji"), [draw(2, 3)]


FAMILIES = (reductions, real_reductions, rearrangements, products)
COMPLEX_FAMILIES = (reductions, rearrangements, products)
