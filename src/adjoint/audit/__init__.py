"""Questions about a function at given arguments: what it costs, where it has kinks, what its derivatives mean there."""

from adjoint.audit.cost import Cost, cost
from adjoint.audit.flops import FLOPS
from adjoint.audit.generalized import (
    Generalized,
    TangentSpace,
    directional,
    generalized_jacobian,
    is_subgradient,
    lipschitz,
    tangent_space,
)
from adjoint.audit.kinks import Kink, Kinks, kinks

__all__ = [
    "FLOPS",
    "Cost",
    "Generalized",
    "Kink",
    "Kinks",
    "TangentSpace",
    "cost",
    "directional",
    "generalized_jacobian",
    "is_subgradient",
    "kinks",
    "lipschitz",
    "tangent_space",
]
