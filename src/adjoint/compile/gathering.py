"""Results that several nests would gather from several arrays: they are written once, and read as one.

A stream that every layer adds to (xₖ = xₖ₋₁ + fₖ) costs little to compute, but would be summed up from its beginning in
each of the nests that read it: more memory is read the deeper the network is, and more code is compiled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from adjoint.compile.symbolic_sizes import expected
from adjoint.compile.views import VIEWS
from adjoint.program.program import Equation, Var

WORTH_WRITING = 512  # elements: fewer stay in registers, or near them
MANY = 8  # arrays: how many more there are does not matter


def gathered(visits: Iterable[Iterable[Var]], definitions: Mapping[Var, Equation], memory: Collection[Var]) -> set[Var]:
    """What n nests compute from m > 2 arrays each, and memory would save more reads than it costs.

    `visits` are the results that each nest computes on its way, `memory` what stands in memory already.
    """
    readers: dict[Var, int] = {}
    for nest in visits:
        for var in nest:
            readers[var] = readers.get(var, 0) + 1
    known: dict[Var, frozenset[Var]] = {}
    found: set[Var] = set()
    for var, n in readers.items():
        if n < 2 or var in memory or definitions[var].op in VIEWS or expected(var.type.size) < WORTH_WRITING:
            continue
        m = len(_arrays(var, definitions, memory, known))
        if m > 2 and (n - 1) * (m - 1) > 2:  # n·m reads against m, a write, and n - 1 of the result
            found.add(var)
    return found


def _arrays(
    var: Var, definitions: Mapping[Var, Equation], memory: Collection[Var], known: dict[Var, frozenset[Var]]
) -> frozenset[Var]:
    """The arrays in memory, at least as large as a result, that its elements are computed from; some, if many."""
    if var in memory or var not in definitions:
        return frozenset([var])
    if var not in known:
        arrays: frozenset[Var] = frozenset()
        for a in definitions[var].inputs:
            if isinstance(a, Var) and len(arrays) <= MANY and expected(a.type.size) >= expected(var.type.size):
                arrays |= _arrays(a, definitions, memory, known)
        known[var] = arrays
    return known[var]
