"""Which residuals of a loop are stored, and which are computed again: the cheapest choice.

A residual may be stored (one write and one read for each element and iteration) or computed again in the loop that
reads it, from what that can have: constants of the first loop, the arrays that it scans, stacks that are made anyway,
and other residuals. With sᵥ the cost of storing v and rₑ that of computing equation e, the cheapest choice minimizes

    Σ sᵥ over stored v + Σ rₑ over computed e,   where a computed e needs all its arguments, stored or computed,

a closed set of smallest weight (see `min_cut`): "v is at hand" costs sᵥ, "v = e(…) is computed" costs rₑ - sᵥ and needs
v and the arguments of e at hand.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from adjoint.program.program import Atom, Equation, Var
from adjoint.simplify.costs import ITERATIONS_UNKNOWN, cost, elements, size_in_bytes
from adjoint.simplify.loops.min_cut import cheapest_closed_set
from adjoint.simplify.loops.parts import Loop, acts

# (bytes of all stacks of a loop, cost of storing and reading eight of them): in caches the processor hides most of it;
# beyond them every page is new memory as well
STORES = ((1 << 20, 2.1), (1 << 25, 2.4), (math.inf, 6.0))
LOAD = 1.0
PREFERRED = 0.99  # of two choices that cost the same, the one that stores the carry


class Choice:
    """How the residuals are at hand most cheaply: what is stored, and which equations are computed again."""

    def __init__(
        self, forward: Loop, residual_stacks: Collection[Var], residuals: Sequence[Var], read: Collection[Atom]
    ) -> None:
        """`read` are the arrays that the second loop reads anyway."""
        self.forward = forward
        self.makers = {v: eq for eq in forward.equations for v in eq.outputs}
        self.free: dict[Var, float] = dict.fromkeys([*forward.values, *[v for v, _ in forward.constants]], 0.0)
        for v, array in forward.scanned:
            self.free[v] = 0.0 if array in read else LOAD * elements(v.type)
        for atom, stack in forward.ys:
            if isinstance(atom, Var) and stack not in residual_stacks:
                self.free[atom] = 0.0 if stack in read else LOAD * elements(atom.type)
        self.carried = {c.inside for c in forward.carries}
        iterations = forward.length if forward.length is not None else ITERATIONS_UNKNOWN
        total = iterations * sum(size_in_bytes(atom.type) for atom, _ in forward.ys)
        self.store = next(price for limit, price in STORES if total <= limit)
        self.stored, self.computed = self._solve(residuals)

    def _at_hand(self, v: Var) -> float:
        """The cost of having v in the second loop without computing it."""
        price = self.free.get(v)
        if price is None:
            price = self.store * size_in_bytes(v.type) / 8
            price *= PREFERRED if v in self.carried else 1.0
        return price

    def _solve(self, residuals: Sequence[Var]) -> tuple[list[Var], list[Equation]]:
        weights: list[float] = []
        needs: list[list[int]] = []
        item: dict[Var | Equation, int] = {}

        def add(thing: Var | Equation, weight: float) -> int:
            item[thing] = len(weights)
            weights.append(weight)
            needs.append([])
            return item[thing]

        waiting = list(residuals)
        required = [add(v, self._at_hand(v)) for v in waiting]
        gains: list[tuple[Var, int]] = []  # outputs of equations with several, and that they are computed
        while waiting:
            v = waiting.pop()
            eq = self.makers.get(v)
            if eq is None or acts(eq.op):
                continue
            again = cost(eq)
            if again >= sum(self._at_hand(w) for w in eq.outputs):
                continue
            if eq not in item:
                number = add(eq, again)
                for a in eq.inputs:
                    if isinstance(a, Var):
                        if a not in item:
                            add(a, self._at_hand(a))
                            waiting.append(a)
                        needs[number].append(item[a])
            if len(eq.outputs) == 1:
                weights[item[eq]] -= weights[item[v]]
                needs[item[eq]].append(item[v])
            else:
                gains.append((v, len(weights)))
                weights.append(-weights[item[v]])
                needs.append([item[v], item[eq]])
        chosen = cheapest_closed_set(weights, needs, required)
        recomputed = {v for v, number in gains if number in chosen}
        single = [eq for eq in item if isinstance(eq, Equation) and len(eq.outputs) == 1]
        recomputed |= {eq.outputs[0] for eq in single if item[eq] in chosen}
        at_hand = [v for v in item if isinstance(v, Var) and item[v] in chosen]
        stored = [v for v in at_hand if v not in recomputed and v not in self.free]
        computed = {self.makers[v] for v in recomputed}
        return stored, [eq for eq in self.forward.equations if eq in computed]
