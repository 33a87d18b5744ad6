"""Containers as vectors, optimizers, fixed points."""

from adjoint.compat.autograd.misc.flatten import flatten
from adjoint.compat.autograd.misc.tracers import const_graph

__all__ = ["const_graph", "flatten"]
