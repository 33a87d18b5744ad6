"""Integrals in one and several dimensions, with derivatives in integrands, ends and breakpoints."""
