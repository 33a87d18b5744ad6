"""The derivative of one recorded run as a function: what `vjp` and `linearize` return."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import DtypeError
from adjoint.base.source import user_facing
from adjoint.program.trace import Tracer
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import Selection, fresh
from adjoint.transform.drivers import Linearized, check_tangents, tangent_leaves
from adjoint.transform.nonfinite import settle

__all__ = ["Pullback", "Pushforward", "tangents_of", "with_zeros"]


class _Derivative(ABC):
    """∂f(x) of a recorded run of f, or its adjoint."""

    def __init__(self, recorded: Linearized, chosen: Selection) -> None:
        self._recorded, self._chosen = recorded, chosen

    @user_facing
    def __call__(self, *args: Any) -> Any:
        result = self._apply(*args)
        return settle(result) if self._recorded.watch is not None else result

    @abstractmethod
    def _apply(self, *args: Any) -> Any:
        """The derivative of tangents or cotangents."""

    def __reduce__(self) -> Any:
        raise TypeError(
            "A derivative at one point holds the record of a run, and does not pickle. Pickle the function, and call "
            "vjp or linearize again."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} through {len(self._recorded.entries)} recorded values>"


class Pullback(_Derivative):
    """u ↦ the tuple of ∂f(x)*[u], one for each argument."""

    def _apply(self, *args: Any) -> Any:
        if len(args) != 1:
            raise TypeError(
                f"vjp: a pullback takes one cotangent, like the function's result; got {len(args)}. For a function "
                "with "
                "several results give a tuple of them: pullback((u, v))."
            )
        recorded, chosen = self._recorded, self._chosen
        names = recorded.structure.paths()
        cotangents = tangent_leaves(args[0], recorded.structure, recorded.output_types, "vjp cotangent", names)
        return chosen.result(with_zeros(chosen, fresh(recorded.pull(cotangents), cotangents)))


class Pushforward(_Derivative):
    """(v, …) ↦ ∂f(x)[v, …], a tangent for each argument."""

    def _apply(self, *args: Any) -> Any:
        tangents = tangents_of(self._chosen, args, "linearize tangents")
        return tree.unflatten(self._recorded.structure, fresh(self._recorded.push(tangents), tangents))

    def transpose(self) -> Pullback:
        """The pullback of the same run."""
        return Pullback(self._recorded, self._chosen)


def tangents_of(chosen: Selection, given: Any, what: str) -> list[Value]:
    """The tangents of the active leaves; integer leaves must have none that matter."""
    leaves = tree.leaves_like(what, chosen.structure, given, "the primals", "the tangents")
    for i, leaf in enumerate(leaves):
        if (
            i not in chosen.active
            and leaf is not None
            and not isinstance(leaf, Tracer)
            and np.any(np.not_equal(leaf, 0))
        ):
            is_state = type_of(chosen.leaves[i]).dtype.kind in "fc"
            kind = "is state that the function changes, which is" if is_state else "is an integer, and integers are"
            raise DtypeError(f"{what}: {chosen.names[i]} {kind} not differentiable: its tangent must be zero or None.")
    types, names = [type_of(v) for v in chosen.values], chosen.names
    return check_tangents([leaves[i] for i in chosen.active], types, what, [names[i] for i in chosen.active])


def with_zeros(chosen: Selection, active: Sequence[Value]) -> list[Value]:
    """Gradients of all leaves: integer leaves have zeros of their own type."""
    given = dict(zip(chosen.active, active, strict=True))
    return [given[i] if i in given else type_of(leaf).zeros() for i, leaf in enumerate(chosen.leaves)]
