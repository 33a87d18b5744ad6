"""Minimization under constraints: what x is subject to, methods, and derivatives of what they find."""
