"""The order of equations: what reads an array comes before what writes into it, so that it may be written in place.

z = x with x[i] = v may stand in the memory of x if nothing reads x any more. Equations of a program may stand in any
order that has each one behind those that it reads: here assignments wait for the other readers of their array.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Sequence

from adjoint.ops.arrays.index import ScatterSet
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.program.program import Atom, Equation, Program, Var
from adjoint.simplify.costs import elements
from adjoint.simplify.loops.parts import acts, open_loop

WRITES = (ScatterSet, ScatterAdd)
SMALLEST = 32  # elements of an array that is worth waiting for


def sort_equations(equations: Sequence[Equation]) -> list[Equation]:
    """Each equation behind those that it reads, else in the order in which they stand."""
    makers = {v: eq for eq in equations for v in eq.outputs}
    done: set[int] = set()
    begun: set[int] = set()  # what these read is being sorted
    ordered: list[Equation] = []
    for eq in equations:
        waiting = [eq]
        while waiting:
            last = waiting[-1]
            if id(last) in done:
                waiting.pop()
                continue
            missing = [m for a in last.inputs if isinstance(a, Var) and (m := makers.get(a)) and id(m) not in done]
            begun.add(id(last))
            if any(id(m) in begun for m in missing):
                raise AssertionError(f"{last.op.title} reads what is made of its own result")
            waiting += missing
            if not missing:
                done.add(id(last))
                ordered.append(waiting.pop())
    return ordered


def depends(atom: Atom, start: Var, equations: Sequence[Equation]) -> bool:
    """Whether an atom is made of a variable."""
    made: set[Atom] = {start}
    for eq in equations:
        if any(a in made for a in eq.inputs):
            made.update(eq.outputs)
    return atom in made


def order_writes(program: Program) -> list[Equation] | None:
    """The equations with those that write into arrays as late as need be; None if they are so already."""
    equations = program.equations
    written = {k: set(_written(eq)) for k, eq in enumerate(equations)}
    written = {k: arrays for k, arrays in written.items() if arrays}
    if not written:
        return None
    readers: dict[Var, list[int]] = {v: [] for arrays in written.values() for v in arrays}
    for k, eq in enumerate(equations):
        for a in {a for a in eq.inputs if isinstance(a, Var) and a in readers}:
            readers[a].append(k)
    if all(readers[v][-1] <= k for k, arrays in written.items() for v in arrays):
        return None
    order = _schedule(equations, written, readers)
    return None if order == list(range(len(equations))) else [equations[k] for k in order]


def _written(eq: Equation) -> Iterable[Var]:
    """Arrays whose memory an equation may take for its results."""
    if isinstance(eq.op, WRITES):
        candidates = [eq.inputs[0]]
    else:
        loop = open_loop(eq)
        candidates = [] if loop is None else [c.start for c in loop.carries]
    return [a for a in candidates if isinstance(a, Var) and elements(a.type) >= SMALLEST]


def _schedule(equations: Sequence[Equation], written: dict[int, set[Var]], readers: dict[Var, list[int]]) -> list[int]:
    """Equations whose operands are there, first those that nothing speaks against, in the order in which they stand."""
    makers = {v: k for k, eq in enumerate(equations) for v in eq.outputs}
    before: list[set[int]] = [{makers[a] for a in eq.inputs if isinstance(a, Var) and a in makers} for eq in equations]
    effects = [k for k, eq in enumerate(equations) if acts(eq.op)]
    for earlier, later in itertools.pairwise(effects):
        before[later].add(earlier)
    after: list[list[int]] = [[] for _ in equations]
    for k, needed in enumerate(before):
        for j in needed:
            after[j].append(k)
    missing = [len(needed) for needed in before]
    unread = {v: set(ks) for v, ks in readers.items()}
    read_by: dict[int, list[Var]] = {}
    for v, ks in readers.items():
        for k in ks:
            read_by.setdefault(k, []).append(v)
    free = [k for k, n in enumerate(missing) if n == 0 and k not in written]
    held = [k for k, n in enumerate(missing) if n == 0 and k in written]
    order: list[int] = []
    while free or held:
        if free:
            k = heapq.heappop(free)
        else:
            k = min(held, key=lambda j: (sum(len(unread[v]) for v in written[j]), j))
            held.remove(k)
        order.append(k)
        for v in read_by.get(k, ()):
            unread[v].discard(k)
        for j in after[k]:
            missing[j] -= 1
            if missing[j] == 0:
                if j in written:
                    held.append(j)
                else:
                    heapq.heappush(free, j)
    return order
