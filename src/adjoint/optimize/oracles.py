"""What a method may ask of a problem: values, gradients, Hessians and products with them, each call counted.

Counts are numbers of the running program, one for each oracle: they are carried through every loop and branch, so that
they are exact in compiled programs and for each batch element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond, while_loop
from adjoint.linear.solvers.iteration import TRACED, either, keep_types
from adjoint.optimize.compiling import compile_when_it_pays

__all__ = ["ORACLES", "Counter", "prepare_call"]

ORACLES = ("value", "gradient", "hvp", "hessian", "residual", "jacobian", "jvp", "vjp", "projection", "prox", "solve")


def prepare_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user function as the solvers call it: Python's `if` and `while` in it work in loops of programs too.

    Called on plain numbers, one with long loops inside is compiled after a few calls.
    """
    return compile_when_it_pays(function)


class Counter:
    """How often each oracle was asked, and loops and branches that carry these numbers with them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.counts: dict[str, Any] = dict.fromkeys(names, np.int64(0))
        self._plain = False  # whether a plain loop is running, whose inner loops are plain as well

    def count(self, *names: str) -> None:
        """One more call of each of these."""
        for name in names:
            self.counts[name] = self.counts[name] + 1

    def loop(
        self,
        goes_on: Callable[[Any], Any],
        body: Callable[[Any], Any],
        state: Any,
        keep: Callable[[Any], None] | None = None,
    ) -> Any:
        """while goes_on(state): state = body(state); `keep` is told of each state of a plain loop."""
        if self._plain or not any(isinstance(leaf, TRACED) for leaf in tree.leaves((state, self.counts))):
            outer, self._plain = self._plain, True
            try:
                while goes_on(state):
                    state = body(state)
                    if keep is not None:
                        keep(state)
                return state
            finally:
                self._plain = outer

        def condition(carry: Any) -> Any:
            return self._inside(carry[1], lambda: goes_on(carry[0]))[0]

        def advance(carry: Any) -> Any:
            return self._inside(carry[1], lambda: keep_types(body(carry[0]), carry[0]))

        state, self.counts = while_loop(condition, advance, (state, self.counts))
        return state

    def when(self, condition: Any, make: Callable[[], Any], instead: Callable[[], Any]) -> Any:
        """make() where the condition holds, else instead(); only one of them runs."""
        if not isinstance(condition, TRACED):
            return make() if condition else instead()
        before = self.counts
        made, self.counts = cond(condition, lambda: self._inside(before, make), lambda: self._inside(before, instead))
        return made

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        """One of two trees of the same form."""
        return tree.map(lambda a, b: either(condition, a, b), yes, no)

    def _inside(self, counts: Any, run: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        """What a part of a program gives, and the counts after it, from those before it."""
        outer, self.counts = self.counts, dict(counts)
        try:
            made = run()
            return made, self.counts
        finally:
            self.counts = outer
