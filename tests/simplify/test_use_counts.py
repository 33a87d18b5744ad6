"""Counts of readers, kept while a program is written anew, are those of the program that was written."""

from collections import Counter

import hypothesis
from hypothesis import given

import adjoint as ad
from adjoint.program.program import Var
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.rewriter import Rewriter
from adjoint.simplify.rewriting import BOOK
from adjoint.simplify.use_counts import Readers
from tests.program.test_random import MANY, searching
from tests.support.strategies import programs


@hypothesis.settings(searching, max_examples=MANY or 25)
@given(programs())
def test_counts_are_those_of_the_program_that_was_written(program) -> None:
    """None is too small; and a count that says one is one, or else a rule would do work twice."""
    x = program.inputs
    both = lambda *xs: (program.pool(*xs), ad.grad(program, argnums=tuple(range(len(x))))(*xs))
    rewriter = Rewriter(drop_dead_code(ad.trace(both)(*x).program), BOOK)
    live = drop_dead_code(rewriter.run())
    reads = Counter(a for eq in live.equations for a in eq.inputs if isinstance(a, Var))
    reads += Counter(a for a in live.outputs if isinstance(a, Var))
    for v, n in reads.items():
        assert rewriter.readers.once(v) == (n == 1)


def test_what_nothing_reads_any_more_reads_nothing() -> None:
    program = ad.trace(lambda x: ((y := x * 2.0) + 1.0, y * 3.0, x + 5.0))(1.0).program
    (x,) = program.inputs
    double, plus, times, other = program.equations
    defined = {eq.outputs[0]: eq for eq in program.equations}
    readers = Readers(program, defined)
    y = double.outputs[0]
    assert not readers.once(x)
    assert not readers.once(y)
    readers.release(plus.inputs)
    assert readers.once(y)
    readers.release(times.inputs)  # now nothing reads y, so y does not read x
    assert readers.once(x)
    assert readers.waits()
    readers.take(times.inputs)
    assert not readers.once(x)
    assert other.inputs[0] is x
