"""One small function for each rule of simplification, and the program that remains of it.

In the remaining program a, b, … are the arguments and then the constants; shapes are left out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import adjoint as ad
from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.index import Gather, ScatterSet, ScatterSum
from adjoint.ops.arrays.rearrange import Broadcast, Concatenate, Convert, Pad, Real, Reshape, Transpose
from adjoint.ops.arrays.reduce import Extremum, FlatReduction, Product, Sum
from adjoint.ops.checkpointing.unwritten import Undefined
from adjoint.ops.elementwise.pointwise import MaskedProduct
from adjoint.ops.elementwise.select import Select

V, M = np.array([0.3, -1.2, 2.5]), np.linspace(-1.0, 1.5, 6).reshape(2, 3)
W = np.array([1.1, 0.4, -0.6])
I = np.array([3, -7, 2])
B = np.array([True, False, True])

masked, select = MaskedProduct(), Select()
float64 = np.dtype(np.float64)


class Example(NamedTuple):
    """f(*args), and what remains."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    remains: str


def slot(*items: Any) -> tuple[str, Any]:
    return ("slice", items)


ARITHMETIC: list[Example] = [
    Example(lambda x: x * 1.0, (V,), "-> a"),
    Example(lambda x: np.ones(3) * x, (V,), "-> a"),
    Example(lambda x: x / 1.0, (V,), "-> a"),
    Example(lambda x: 0.0 + x, (V,), "-> a"),
    Example(lambda x: x - np.zeros(3), (V,), "-> a"),
    Example(lambda x: 0.0 - x, (V,), "b = negative a -> b"),
    Example(lambda x: x * -1.0, (V,), "b = negative a -> b"),
    Example(lambda x: x / -1.0, (V,), "b = negative a -> b"),
    Example(lambda x: np.positive(x), (V,), "-> a"),
    Example(lambda x: np.power(x, 1), (V,), "-> a"),
    Example(lambda x: np.conjugate(x), (V,), "-> a"),
    Example(lambda x: x + x, (V,), "b = multiply a 2.0 -> b"),
    Example(lambda x, y: (x + y) + y, (V, W), "c = multiply b 2.0; d = add a c -> d"),
    Example(lambda x, y: x + (x + y), (V, W), "c = multiply a 2.0; d = add b c -> d"),
    Example(lambda x: np.square(x), (V,), "b = multiply a a -> b"),
    Example(lambda x: np.maximum(x, x), (V,), "-> a"),
    Example(lambda x: np.minimum(x, x), (V,), "-> a"),
    Example(lambda x: np.negative(-x), (V,), "-> a"),
    Example(lambda x, y: x + -y, (V, W), "c = subtract a b -> c"),
    Example(lambda x, y: x - -y, (V, W), "c = add a b -> c"),
    Example(lambda x, y: -x * -y, (V, W), "c = multiply a b -> c"),
    Example(lambda x, y: -x * y, (V, W), "c = multiply a b; d = negative c -> d"),
    Example(lambda x: -x * 3.0, (V,), "b = multiply a -3.0 -> b"),
    Example(lambda x: -(x * 3.0), (V,), "b = multiply a -3.0 -> b"),
    Example(lambda x: -(x / 3.0), (V,), "b = divide a -3.0 -> b"),
    Example(lambda x: -(3.0 / x), (V,), "b = divide -3.0 a -> b"),
    Example(lambda x, y: -(x - y), (V, W), "c = subtract b a -> c"),
    Example(lambda x, y: -x / -y, (V, W), "c = divide a b -> c"),
    Example(lambda x: -x / 3.0, (V,), "b = divide a -3.0 -> b"),
    Example(lambda x: 3.0 / -x, (V,), "b = divide -3.0 a -> b"),
    Example(lambda x, y: -x / y, (V, W), "c = divide a b; d = negative c -> d"),
    Example(lambda x, y: x / -y, (V, W), "c = divide a b; d = negative c -> d"),
    Example(lambda x, y: masked(-x, y), (V, W), "c = maskedproduct a b; d = negative c -> d"),
    Example(lambda x, y: masked(x, -y), (V, W), "c = maskedproduct a b; d = negative c -> d"),
    Example(lambda x: np.absolute(-x), (V,), "b = absolute a -> b"),
    Example(lambda x: np.cos(-x), (V,), "b = cos a -> b"),
    Example(lambda x: x / 8.0, (V,), "b = multiply a 0.125 -> b"),
    Example(lambda x: x / 3.0, (V,), "b = divide a 3.0 -> b"),
    Example(lambda x: 2.0 * (x * 3.0), (V,), "b = multiply a 6.0 -> b"),
    Example(lambda x: x / 3.0 * 6.0, (V,), "b = multiply a 2.0 -> b"),
    Example(lambda x: x * 6.0 / 3.0, (V,), "b = multiply a 2.0 -> b"),
    Example(lambda x: 3.0 / x * 2.0, (V,), "b = divide 6.0 a -> b"),
    Example(lambda x, y: x * 3.0 * y, (V, W), "c = multiply a b; d = multiply c 3.0 -> d"),
    Example(lambda x, y: x * y * 3.0, (M, np.float64(2.0)), "c = multiply b 3.0; d = multiply c a -> d"),
    Example(lambda x, y: x * (1.0 / y), (V, W), "c = divide a b -> c"),
    Example(lambda x: x * 3.0 + x * 2.0, (V,), "b = multiply a 5.0 -> b"),
    Example(lambda x: x * 3.0 + x, (V,), "b = multiply a 4.0 -> b"),
    Example(lambda x, y: x * 3.0 + y * 3.0, (V, W), "c = add a b; d = multiply c 3.0 -> d"),
    Example(lambda x, y: x * 3.0 - y * 3.0, (V, W), "c = subtract a b; d = multiply c 3.0 -> d"),
    Example(lambda x: np.power(x, 3), (V,), "b = multiply a a; c = multiply b a -> c"),
    Example(lambda x: np.power(x, 4.0), (V,), "b = multiply a a; c = multiply b b -> c"),
    Example(lambda x: np.power(x, -1), (V,), "b = divide 1.0 a -> b"),
    Example(lambda x: np.power(x, 0), (V,), "b = broadcast[(3,)] 1.0 -> b"),
    Example(lambda x: masked(np.ones(3), x), (V,), "-> a"),
    Example(lambda x: masked(np.zeros(3), x), (V,), "b = broadcast[(3,)] 0.0 -> b"),
    Example(lambda x, c: masked(x, np.where(c, 1.0, 0.5)), (V, B), "c = select 1.0 0.5 b; d = multiply a c -> d"),
    Example(lambda x, y: select(x, y, np.bool_(True)), (V, W), "-> a"),
    Example(lambda x, c: select(x, x, c), (V, B), "-> a"),
    Example(lambda x, y, c: select(x, y, np.logical_not(c)), (V, W, B), "d = select b a c -> d"),
    Example(lambda x, y, c: select(select(x, y, c), y * y, c), (V, W, B), "d = multiply b b; e = select a d c -> e"),
    Example(lambda x, y, c: select(y * y, select(x, y, c), c), (V, W, B), "d = multiply b b; e = select d b c -> e"),
]

# What must stay, since it differs where x is NaN, infinite, or of another dtype.
STAYS: list[Example] = [
    Example(lambda x: x * 0.0, (V,), "b = multiply a 0.0 -> b"),
    Example(lambda x: x - x, (V,), "b = subtract a a -> b"),
    Example(lambda x: x / x, (V,), "b = divide a a -> b"),
    Example(lambda x: x * 1.0, (I,), "b = multiply a 1.0 -> b"),
    Example(lambda x: x * np.float64(1.0), (V.astype(np.float32),), "b = multiply a 1.0 -> b"),
    Example(lambda x: x * 1e200 * 1e-200, (V,), "b = multiply a 1e+200; c = multiply b 1e-200 -> c"),
    Example(lambda x, y: masked(x, y), (V, W), "c = maskedproduct a b -> c"),
    Example(lambda x: np.power(x, 0.5), (V,), "b = power a 0.5 -> b"),
    Example(lambda x: np.log(np.exp(x)), (V,), "b = exp a; c = log b -> c"),
    Example(
        lambda x: (x.astype(np.int8) * 2).astype(np.int64) * 3,
        (I,),
        "b = convert[int8] a; c = multiply b 2; d = convert[int64] c; e = multiply d 3 -> e",
    ),
]

# Small integers and other dtypes whose sums are wider than they are.
STAYS += [
    Example(lambda x: Einsum("i->")(x), (I.astype(np.int8),), "b = einsum[i->] a -> b"),
    Example(lambda x: Einsum("i,i->")(x, x), (I.astype(np.int8),), "b = einsum[i,i->] a a -> b"),
    Example(
        lambda x: Sum((0,))(Broadcast((4, 3))(x)), (I.astype(np.int8),), "b = broadcast[(4, 3)] a; c = sum[(0,)] b -> c"
    ),
    Example(lambda x: Sum((0,))(Reshape((1, 3))(x)), (B,), "b = reshape[(1, 3)] a; c = sum[(0,)] b -> c"),
]

SHAPES: list[Example] = [
    Example(lambda x: np.reshape(x, (3,)), (V,), "-> a"),
    Example(lambda x: Reshape((6,))(Reshape((3, 2))(x)), (M,), "b = reshape[(6,)] a -> b"),
    Example(lambda x: x + Reshape((2, 1))(np.ones(2)), (M,), "b = add a 1.0 -> b"),
    Example(lambda x: Transpose((1, 0))(Transpose((1, 0))(x)), (M,), "-> a"),
    Example(lambda x: Transpose((1, 0))(Reshape((3, 1))(x)), (V,), "b = reshape[(1, 3)] a -> b"),
    Example(
        lambda x, y: Transpose((1, 0))(MatMul()(Transpose((1, 0))(x), y)),
        (M, M),
        "c = transpose[(1, 0)] b; d = matmul c a -> d",
    ),
    Example(lambda x: Broadcast((2, 3))(Broadcast((1, 3))(x)), (V,), "b = broadcast[(2, 3)] a -> b"),
    Example(lambda x: np.sin(Broadcast((2, 3))(x)), (V,), "b = sin a; c = broadcast[(2, 3)] b -> c"),
    Example(lambda x, y: Broadcast((2, 3))(x) * y, (V, M), "c = multiply a b -> c"),
    Example(lambda x, y: y * Reshape((1, 3))(x), (V, M), "c = multiply b a -> c"),
    Example(
        lambda x, y, c: select(Broadcast((2, 3))(x), y, c > 0.0), (V, M, M), "d = greater c 0.0; e = select a b d -> e"
    ),
    Example(
        lambda x, y, c: select(y, Broadcast((2, 3))(x), c > 0.0), (V, M, M), "d = greater c 0.0; e = select b a d -> e"
    ),
    Example(lambda x, y, c: select(x, y, Broadcast((2, 3))(c)), (M, M + 1.0, B), "d = select a b c -> d"),
    Example(lambda x: np.sin(Reshape((3, 1))(x)), (V,), "b = sin a; c = reshape[(3, 1)] b -> c"),
    Example(
        lambda x, y: Reshape((3, 1))(x) * Reshape((3, 1))(y), (V, W), "c = multiply a b; d = reshape[(3, 1)] c -> d"
    ),
    Example(lambda x: 2.0 / Reshape((3, 1))(x), (V,), "b = divide 2.0 a; c = reshape[(3, 1)] b -> c"),
    Example(
        lambda x, c: select(Reshape((3, 1))(x), 0.0, Reshape((3, 1))(c)),
        (V, B),
        "c = select a 0.0 b; d = reshape[(3, 1)] c -> d",
    ),
    Example(
        lambda x: Convert(np.dtype(np.float32))(Reshape((3, 1))(x)),
        (V,),
        "b = convert[float32] a; c = reshape[(3, 1)] b -> c",
    ),
    Example(lambda x: Convert(float64)(x), (V,), "-> a"),
    Example(lambda x: x.astype(np.float64).astype(np.float32), (V.astype(np.float32),), "-> a"),
    Example(lambda x: Real()(x), (V,), "-> a"),
    Example(lambda x: np.real(x.astype(complex)), (V,), "-> a"),
    Example(lambda x: Pad(((0, 0),))(x), (V,), "-> a"),
]

PLACES: list[Example] = [
    Example(lambda x: x[0:3], (V,), "-> a"),
    Example(lambda x: x[:-1], (V,), "b = slice[(0, 2, 1)] a -> b"),
    Example(lambda x: x[..., None], (V,), "b = reshape[(3, 1)] a -> b"),
    Example(lambda x: x[1:][0], (V,), "b = slice[1] a -> b"),
    Example(lambda x: x[::-1][:2], (V,), "b = slice[(2, 0, -1)] a -> b"),
    Example(lambda x: Broadcast((2, 3))(x)[:, 1:], (V,), "b = slice[(1, 3, 1)] a; c = broadcast[(2, 2)] b -> c"),
    Example(lambda x: Broadcast((2, 3))(x)[1], (V,), "-> a"),
    Example(lambda x, y: np.concatenate([x, y])[3:5], (V, W), "c = slice[(0, 2, 1)] b -> c"),
    Example(lambda x, y: np.stack([x, y])[1], (V, W), "-> b"),
    Example(lambda x: Pad(((1, 2),))(x)[1:4], (V,), "-> a"),
    Example(lambda x, y: ScatterSet(slot(1))(x, y)[1], (V, np.float64(4.0)), "-> b"),
    Example(lambda x, y: ScatterSet(slot(1))(x, y)[0], (V, np.float64(4.0)), "c = slice[0] a -> c"),
    Example(
        lambda x, y, i: select(ScatterSet(("gather", 1))(x, y, i), x, i > 0),
        (V, np.float64(4.0), np.int64(2)),
        "d = greater c 0; e = gather[1] a c; f = select b e d; g = scatterset[('gather', 1)] a f c -> g",
    ),
    Example(lambda x, y: ScatterSet(slot((None, None, None)))(x, y), (V, W), "-> b"),
    Example(lambda x, y: ScatterSet(slot((None, None, None)))(x, y), (V, W[None]), "c = reshape[(3,)] b -> c"),
    Example(
        lambda x, y: ScatterSet(slot(0))(x, y)[0],
        (M, np.float32(2.0)),
        "c = convert[float64] b; d = broadcast[(3,)] c -> d",
    ),
    Example(
        lambda x, y: ScatterSet(slot(-1))(ScatterSet(slot(-1))(x, 2.0), y),
        (V, np.float64(4.0)),
        "c = scatterset[('slice', (2,))] a b -> c",
    ),
    Example(lambda x: ScatterSum((3,), float64, (slot((None, None, None)),))(x), (V,), "-> a"),
    Example(
        lambda x, y: ScatterSum((6,), float64, (slot((3, None, None)), slot((None, 3, None))))(x, y),
        (V, W),
        "c = concatenate[0] b a -> c",
    ),
    Example(
        lambda x, y: ScatterSum((3,), float64, (slot((0, 3, 1)), slot((0, 3, 1))))(x, y), (V, W), "c = add a b -> c"
    ),
    Example(
        lambda x, i: ScatterSum((4,), float64, (("gather", 1), ("gather", 1)))(x, np.zeros(3), i, i),
        (V, np.array([0, 1, 1])),
        "c = scattersum[(4,), float64, (('gather', 1),)] a b -> c",
    ),
    Example(lambda x: Gather(1)(x, np.array([2, 1, 0])), (V,), "b = slice[(2, None, -1)] a -> b"),
    Example(lambda x: Gather(1)(x, np.int64(-1)), (V,), "b = slice[2] a -> b"),
    Example(
        lambda x, i, j: Gather(1)(Gather(1)(x, i), j),
        (M, np.int64(1), np.array([2, 0])),
        "d = gather[2] a b c -> d",
    ),
    Example(
        lambda x, i: Gather(1)(np.sin(x) * 2.0, i),
        (np.arange(8.0), np.int64(3)),
        "c = gather[1] a b; d = sin c; e = multiply d 2.0 -> e",
    ),
    Example(lambda x: Concatenate(0)(x[:1], x[1:]), (V,), "-> a"),
    Example(lambda x, y: Concatenate(0)(Concatenate(0)(x, y), x), (V, W), "c = concatenate[0] a b a -> c"),
]

REDUCTIONS: list[Example] = [
    Example(lambda x: Sum((0,))(Reshape((1, 3))(x)), (V,), "-> a"),
    Example(lambda x: Product((0,))(x), (M[:1],), "b = reshape[(3,)] a -> b"),
    Example(lambda x: FlatReduction("all", (0,))(x), (B[:1],), "b = reshape[()] a -> b"),
    Example(lambda x: Sum((0,))(Broadcast((4, 3))(x)), (V,), "b = multiply a 4.0 -> b"),
    Example(lambda x: Sum((1,))(Broadcast((4, 3))(x)), (V,), "b = sum[(0,)] a; c = broadcast[(4,)] b -> c"),
    Example(lambda x: Extremum("max", (0,))(Broadcast((4, 3))(x)), (V,), "-> a"),
    Example(lambda x: np.sum(-x), (V,), "b = sum[(0,)] a; c = negative b -> c"),
    Example(lambda x: np.sum(x * 3.0), (V,), "b = sum[(0,)] a; c = multiply b 3.0 -> c"),
    Example(lambda x: Sum((0,))(Sum((1,))(x)), (M,), "b = sum[(0, 1)] a -> b"),
    Example(lambda x: Sum((0,))(Reshape((6,))(x)), (M,), "b = sum[(0, 1)] a -> b"),
    Example(lambda x: Sum((0,))(Reshape((2, 1, 3))(x)), (M,), "b = sum[(0,)] a; c = reshape[(1, 3)] b -> c"),
]

CONTRACTIONS: list[Example] = [
    Example(
        lambda x, y: MatMul()(Reshape((3, 1))(x), Reshape((1, 3))(y)),
        (V, W),
        "c = reshape[(3, 1)] a; d = multiply c b -> d",
    ),
    Example(lambda x, y: MatMul()(x, Reshape((3, 1))(y)), (M, V), "c = matmul a b; d = reshape[(2, 1)] c -> d"),
    Example(
        lambda x, y: MatMul()(x, y),
        (M, V[None, :, None] + np.zeros((4, 1, 1))),
        "c = reshape[(4, 3)] b; d = transpose[(1, 0)] a; e = matmul c d; f = reshape[(4, 2, 1)] e -> f",
    ),
    Example(lambda x, y: MatMul()(Reshape((1, 2))(x), y), (V[:2], M), "c = matmul a b; d = reshape[(1, 3)] c -> d"),
    Example(
        lambda x, y: MatMul()(x, y),
        (np.ones((4, 2, 3)) * V, M.T.copy()),
        "c = reshape[(8, 3)] a; d = matmul c b; e = reshape[(4, 2, 2)] d -> e",
    ),
    Example(
        lambda x, y: MatMul()(Reshape((4, 1, 3, 2))(Transpose((0, 2, 1))(x)), y),
        (np.ones((4, 2, 3)) * V, V[:2]),
        "c = transpose[(0, 2, 1)] a; d = matmul c b; e = reshape[(4, 1, 3)] d -> e",
    ),
    Example(lambda x: Einsum("ij->j")(x), (M,), "b = sum[(0,)] a -> b"),
    Example(lambda x: Einsum("ij->ji")(x), (M,), "b = transpose[(1, 0)] a -> b"),
    Example(lambda x, y: Einsum("ij,kj->ik")(x, y), (M, M), "c = transpose[(1, 0)] b; d = matmul a c -> d"),
    Example(lambda x, y: Einsum("i,i->")(x, y), (V, W), "c = matmul a b -> c"),
    Example(lambda x, y: Einsum("i,j->ij")(x, y), (V, W), "c = reshape[(3, 1)] a; d = multiply c b -> d"),
    Example(lambda x, y: Einsum("ij,ij->i")(x, y), (M, M + 1.0), "c = multiply a b; d = sum[(1,)] c -> d"),
    Example(lambda x, y: Einsum("i,ij->j")(x, y), (V[:2], M), "c = matmul a b -> c"),
]

LOOPS: list[Example] = [
    Example(lambda x: ad.scan(lambda h, y: (h * y, h), x, np.zeros(0)), (V,), "b = broadcast[(0, 3)] 0.0 -> a, b"),
    Example(
        lambda x, y: ad.scan(lambda h, t: (h * t, h), x, y),
        (V, W[:1]),
        "c = reshape[()] b; d = multiply a c; e = reshape[(1, 3)] a -> d, e",
    ),
]

NO = np.zeros(3, bool)
nothing, nowhere = Undefined((3,), float64), Undefined((1, 3), float64)

NEVER_LOOKED_AT: list[Example] = [  # by what is chosen here
    Example(lambda x, p: np.where(p, nothing(x), x), (V, NO), "-> a"),
    Example(lambda x, p: np.where(p, x, nothing(x)), (V, ~NO), "-> a"),
    Example(lambda x, y, p: np.where(p, np.broadcast_to(nothing(x), (2, 3)), y), (V, M, NO), "-> b"),
    Example(lambda x, p: np.where(p, np.reshape(nowhere(x), 3), x), (V, NO), "-> a"),
    Example(lambda x, p: np.where(p, nowhere(x).T[:, 0], x), (V, NO), "-> a"),
]

EXAMPLES = [*ARITHMETIC, *STAYS, *SHAPES, *PLACES, *REDUCTIONS, *CONTRACTIONS, *LOOPS, *NEVER_LOOKED_AT]
