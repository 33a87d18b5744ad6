"""Examples for the primitives of convolution, windows and resampling."""

from collections.abc import Iterator

import numpy as np

from adjoint.ops.signal.convolution import Convolution
from adjoint.ops.signal.cosine_transforms import TrigonometricTransform
from adjoint.ops.signal.recursive_filter import AllPole
from adjoint.ops.signal.resampling import WeightedTaps
from adjoint.ops.signal.windows import WindowArgExtremum, WindowExtremum, WindowShare, WindowSum
from tests.ops.samples import COMPLEX, SINGLE, Example, apart, normal, strided


def signal_examples() -> Iterator[Example]:
    """All of them."""
    yield from _convolutions()
    yield from _windows()
    yield from _filters()
    index, weight = np.array([[0, 1], [1, 1], [3, 0]]), normal(3, 2)
    for x in (normal(4), normal(4, 2), normal(4, dtype=COMPLEX), normal(4).astype(SINGLE), strided(normal(4, 3))):
        yield Example(WeightedTaps(0, 4), (x, index, weight))
    yield Example(WeightedTaps(1, 4), (normal(2, 4, 2), index, weight))
    yield Example(WeightedTaps(1, 4, transposed=True), (normal(2, 3), index, weight))


def _filters() -> Iterator[Example]:
    a = np.array([[1.0, -0.5, 0.3], [2.0, 0.4, 0.0]])
    for op in (AllPole(), AllPole(reverse=True)):
        yield Example(op, (a, normal(3, 2, 5)))
        yield Example(op, (a[:1], normal(1, 1, 2)), note="shorter than the filter")
        yield Example(op, (a[:, :1], normal(2, 2, 4)), note="no feedback")
        yield Example(op, (a + 0.2j, normal(2, 2, 4)))
        yield Example(op, (a, normal(2, 2, 4, dtype=COMPLEX)))
        yield Example(op, (a.astype(SINGLE), normal(2, 2, 4).astype(SINGLE)))
        yield Example(op, (a, normal(0, 2, 4)), note="empty")
    for kind, type_ in [(kind, type_) for kind in ("dct", "dst") for type_ in (1, 2, 3, 4)]:
        op = TrigonometricTransform(kind, type_, 0)
        for x in (normal(5), normal(2, 3), normal(4, dtype=COMPLEX), normal(4).astype(SINGLE)):
            yield Example(op, (x,))
        yield Example(TrigonometricTransform(kind, type_, 1), (normal(2, 3, 2),))


def _convolutions() -> Iterator[Example]:
    one = Convolution((1,), (1,), (1,), (0,), (4,))
    yield Example(one, (normal(2, 1, 1, 6), normal(1, 1, 1, 3)), note="one channel")
    yield Example(one, (normal(2, 2, 3, 6), normal(2, 2, 3, 3)), note="groups")
    yield Example(one, (normal(1, 1, 2, 6, dtype=COMPLEX), normal(1, 2, 2, 3)))
    yield Example(one, (normal(1, 1, 2, 6), normal(1, 1, 2, 3, dtype=COMPLEX)))
    yield Example(one, (normal(1, 1, 2, 6).astype(SINGLE), normal(1, 2, 2, 3).astype(SINGLE)))
    yield Example(one, (strided(normal(1, 1, 2, 6)), strided(normal(1, 2, 2, 3))))
    yield Example(one, (normal(0, 1, 2, 6), normal(1, 2, 2, 3)), note="empty")
    yield Example(Convolution((2,), (2,), (3,), (-1,), (5,)), (normal(1, 1, 2, 4), normal(1, 2, 2, 3)))
    yield Example(Convolution((-1,), (-2,), (2,), (4,), (5,)), (normal(1, 2, 1, 4), normal(2, 1, 1, 3)))
    yield Example(Convolution((2, 1), (1, 2), (1, 1), (-1, 0), (2, 3)), (normal(2, 1, 2, 4, 5), normal(1, 2, 2, 3, 2)))
    yield Example(Convolution((), (), (), (), ()), (normal(2, 1, 3), normal(1, 2, 3)), note="no space")


def _windows() -> Iterator[Example]:
    line, plane = ((2,), (1,), (1,), (0,), (3,)), ((2, 3), (2, 1), (1, 2), (-1, -1), (2, 3))
    for fields, shape in ((line, (4,)), (line, (2, 4)), (plane, (4, 6)), (plane, (2, 4, 6))):
        x, space = apart(*shape), shape[len(shape) - len(fields[0]) :]
        yield Example(WindowSum(*fields, space), (x,))
        yield Example(WindowSum(*fields, space), (x.astype(SINGLE),))
        yield Example(WindowSum(*fields, space), (x * (1 + 2j),))
        for kind in ("max", "min"):
            op = WindowExtremum(kind, *fields)
            yield Example(op, (x,))
            yield Example(op, (strided(x.astype(SINGLE)),))
            yield Example(WindowArgExtremum(kind, *fields), (x,))
        z = WindowExtremum("max", *fields).evaluate(x)
        yield Example(WindowSum(*fields, space, transposed=True), (normal(*z.shape),))
        yield Example(WindowShare(*fields), (normal(*shape), x, z))
        yield Example(WindowShare(*fields, transposed=True), (normal(*z.shape), x, z))
        yield Example(WindowShare(*fields, transposed=True), (normal(*z.shape, dtype=COMPLEX), np.sign(x), np.sign(z)))
