"""Who reads the stacks of a loop: loops, through slices or not, and readers of one row."""

import numpy as np

import adjoint as ad
from adjoint.simplify.loops.stack_readers import RowRead, ScanRead, StackReaders
from tests.simplify.programs import loops_of, program_of

XS = np.linspace(0.1, 1.0, 10)


def readers_of(after):
    """The readers of the two stacks of a loop of ten iterations."""

    def f(xs):
        _, (a, b) = ad.scan(lambda c, x: (c * x, (c, c + x)), 1.0, xs)
        return after(a, b)

    program, _ = program_of(f, XS)
    readers = StackReaders(program)
    first = loops_of(program)[0]
    return program, [readers.of(v) for v in first.outputs[1:]]


def test_loops_and_rows() -> None:
    program, (a, b) = readers_of(
        lambda a, b: ad.scan(lambda s, r: (s * r[0] + r[1], None), 0.0, (a[1:9], b[2:]), reverse=True)[0] * b[-1]
    )
    second = program.equations.index(loops_of(program)[1])
    titles = [eq.op.title for eq in program.equations]
    slices = [i for i, title in enumerate(titles) if title == "slice"]
    assert a == [ScanRead(second, 1, slices[0])]
    assert set(b) == {ScanRead(second, 2, slices[1]), RowRead(slices[2], 9)}


def test_a_whole_stack() -> None:
    program, (a, b) = readers_of(lambda a, b: ad.scan(lambda s, r: (s * r[0] + r[1], None), 0.0, (a, b))[0])
    second = program.equations.index(loops_of(program)[1])
    assert a == b == [ScanRead(second, 0, None)]


def test_other_readers() -> None:
    _, (a, b) = readers_of(lambda a, b: (a, np.sum(b)))
    assert a is None
    assert b is None
    _, (a, b) = readers_of(lambda a, b: (np.sum(a[2:5]), b[::2]))
    assert a is None
    assert b is None
    _, (a, b) = readers_of(lambda a, b: ad.scan(lambda s, r: (s + a, r), a, b)[1])
    assert a is None
    assert b is not None


def test_where_rows_come_from() -> None:
    program, _ = program_of(lambda xs: (np.sin(xs)[3:], xs[::-1]), XS)
    readers = StackReaders(program)
    whole, rows = program.equations[0].outputs[0], program.equations[1].outputs[0]
    assert readers.source(rows) == (whole, 3)
    assert readers.source(whole) == (whole, 0)
    assert readers.source(program.outputs[1]) == (program.outputs[1], 0)
