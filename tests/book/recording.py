"""What a function computes, as a list of primitives: for claims about how often something is evaluated."""

from collections import Counter

import adjoint as ad


def recorded(f, *args):
    """The program of f for arguments of these types, with the derivatives that f takes inside."""
    return ad.trace(f)(*args).program


def name(op):
    return getattr(op, "title", type(op).__name__)


def names(program):
    """How often each primitive occurs, by name."""
    return Counter(name(eq.op) for eq in program.equations)


def shapes(program):
    """The shapes of everything that is computed."""
    return [v.type.shape for eq in program.equations for v in eq.outputs]


def operands(program, title):
    """The shapes of the operands of every primitive of one name."""
    return [tuple(a.type.shape for a in eq.inputs) for eq in program.equations if name(eq.op) == title]
