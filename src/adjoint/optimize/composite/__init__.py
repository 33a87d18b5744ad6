"""Minimization of f + Ω: projected and proximal gradients, Frank-Wolfe, mirror descent, splitting."""
