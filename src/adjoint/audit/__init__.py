"""Questions about a function at given arguments: what it costs, where it has kinks, what its derivatives mean there."""

from adjoint.audit.clarke import Generalized, directional, generalized_jacobian, lipschitz
from adjoint.audit.cost import Cost, cost
from adjoint.audit.flops import FLOPS
from adjoint.audit.kinks import Kink, Kinks, kinks
from adjoint.audit.subgradients import is_subgradient
from adjoint.audit.tangents import TangentSpace, tangent_space

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
