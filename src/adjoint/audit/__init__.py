"""Questions about a function at given arguments: what it costs, where it has kinks, what its derivatives mean there."""

from adjoint.audit.cost import Cost, cost
from adjoint.audit.kinks import Kink, Kinks, kinks

__all__ = ["Cost", "Kink", "Kinks", "cost", "kinks"]
