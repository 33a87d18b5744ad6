"""Questions about a function at given arguments: what it costs, where it has kinks, what its derivatives mean there."""

from adjoint.audit.cost import Cost, cost

__all__ = ["Cost", "cost"]
