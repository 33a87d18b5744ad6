"""Traced arrays under their other name."""

from adjoint.compat.autograd.boxes import Box

__all__ = ["ArrayBox"]

ArrayBox = Box
