"""The cheapest choice of residuals, against trying all choices."""

from itertools import chain, combinations

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.program import Var
from adjoint.simplify.costs import cost, size_in_bytes
from adjoint.simplify.loops.parts import open_loop
from adjoint.simplify.loops.residual_choice import PREFERRED, STORES, Choice
from tests.simplify.programs import loop_of, program_of

XS = np.linspace(0.1, 1.0, 10)
BODIES = {
    "one cheap operation from the carry": lambda c, x: (np.sin(c), (c * 2.0,)),
    "a long chain": lambda c, x: (np.sin(c), (((c * 2.0 + 1.0) * c + 3.0) * c + c * 5.0 + c,)),
    "an exponential": lambda c, x: (np.sin(c), (np.exp(c) * 2.0,)),
    "two that share": lambda c, x: (np.sin(c), ((c * 2.0 + 1.0) * c, (c * 2.0 + 1.0) + c)),
    "from what is walked along": lambda c, x: (np.sin(c) * x, (np.exp(x), x * 2.0, c / x)),
    "two exponentials and their sum": lambda c, x: (np.sin(c), (np.exp(c) + np.exp(2.0 * c), np.exp(2.0 * c))),
}


def all_subsets(things):
    things = list(things)
    return chain.from_iterable(combinations(things, k) for k in range(len(things) + 1))


def weight(loop, stored, residuals) -> float:
    """The cost of storing some values and computing from them what is needed for the residuals."""
    makers = {v: eq for eq in loop.equations for v in eq.outputs}
    arrays = {v for v, _ in loop.scanned}
    carries = {c.inside for c in loop.carries}
    price = STORES[0][1]
    total = sum(price * size_in_bytes(v.type) / 8 * (PREFERRED if v in carries else 1.0) for v in stored)
    waiting, seen = list(residuals), set()
    while waiting:
        v = waiting.pop()
        if not isinstance(v, Var) or v in seen or v in stored:
            continue
        seen.add(v)
        if v in arrays:
            total += 1.0
        elif v not in makers:
            return float("inf")
        else:
            total += cost(makers[v])
            waiting += makers[v].inputs
    return total


@pytest.mark.parametrize("body", BODIES)
def test_no_other_choice_is_cheaper(body: str) -> None:
    program, _ = program_of(lambda xs: ad.scan(BODIES[body], 0.5, xs), XS)
    loop = open_loop(loop_of(program))
    assert loop is not None
    residuals = [a for a, _ in loop.ys if isinstance(a, Var)]
    choice = Choice(loop, [v for _, v in loop.ys], residuals, ())
    values = {v for eq in loop.equations for v in eq.outputs} | {c.inside for c in loop.carries}
    best = min(weight(loop, set(stored), residuals) for stored in all_subsets(values))
    assert weight(loop, set(choice.stored), residuals) == pytest.approx(best)


def test_what_the_second_loop_reads_anyway_is_free() -> None:
    program, _ = program_of(lambda xs: ad.scan(lambda c, x: (np.sin(c), x * 2.0 + 1.0), 0.5, xs), XS)
    loop = open_loop(loop_of(program))
    assert loop is not None
    (residual,), stacks = [a for a, _ in loop.ys], [v for _, v in loop.ys]
    assert isinstance(residual, Var)
    assert Choice(loop, stacks, [residual], [program.inputs[0]]).stored == []
