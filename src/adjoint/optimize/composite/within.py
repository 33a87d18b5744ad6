"""Sets among the constraints of `minimize`: the method that stays in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.optimize.composite.frank_wolfe import FrankWolfe
from adjoint.optimize.composite.mirror_descent import MirrorDescent
from adjoint.optimize.composite.objective import Composite
from adjoint.optimize.composite.proximal_gradient import FISTA, ProjectedGradient
from adjoint.optimize.sets.products import intersection
from adjoint.optimize.sets.set import Set

__all__ = ["METHODS", "method_within"]

METHODS: dict[str, Callable[[Set], Composite]] = {
    "projected gradient": ProjectedGradient,
    "fista": FISTA,
    "frank wolfe": FrankWolfe,
    "mirror descent": MirrorDescent,
}


def method_within(title: str, rules: Sequence[Any], method: Any, **others: Any) -> Composite:
    """The method of that name for points of all sets; "auto" is FISTA with their projection."""
    sets = [rule for rule in rules if isinstance(rule, Set)]
    rest = [type(rule).__name__ for rule in rules if not isinstance(rule, Set)]
    if rest:
        raise TypeError(
            f"{title}: subject_to has the set sets.{sets[0].name} together with a {rest[0]}. Sets are kept by "
            "projections, other constraints by multipliers: write the set as equality, inequality and bounds, or all "
            "constraints as sets (half_space, affine, polyhedron, box …)."
        )
    given = [name for name, entry in others.items() if entry is not None]
    if given:
        raise ValueError(f"{title}: {given[0]}= and a set do not go together. Give bounds as one more set, "
                         "subject_to=[…, sets.box(lower, upper)]; scale and freeze within the function.")  # fmt: skip
    within = sets[0] if len(sets) == 1 else intersection(*sets)
    if isinstance(method, str):
        name = method.lower().replace("_", " ").replace("-", " ")
        name = "fista" if name == "auto" else name
        if name in METHODS:
            return METHODS[name](within)
    shown = repr(method) if isinstance(method, str) else f"the {type(method).__name__}"
    raise ValueError(
        f"{title}: {shown} is no method by name that stays in a set. With sets in subject_to= they are: "
        f"{', '.join(METHODS)}. A method with options of its own is given with its set and without subject_to: "
        "method=optimize.FrankWolfe(sets.simplex(), away=False)."
    )
