"""What a function computes, as a list of primitives: for claims about how often something is evaluated."""

from collections import Counter

from adjoint import tree
from adjoint.program.record import record_program
from adjoint.program.types import type_of


def recorded(f, *args):
    """The program of f for arguments of these types, derivatives that f takes inside included."""
    leaves, structure = tree.flatten(args)
    program, _ = record_program(
        lambda *xs: tree.leaves(f(*tree.unflatten(structure, xs))), [type_of(x) for x in leaves]
    )
    return program


def names(program):
    """How often each primitive occurs, by name."""
    return Counter(name(eq.op) for eq in program.equations)


def shapes(program):
    """The shapes of everything that is computed."""
    return [v.type.shape for eq in program.equations for v in eq.outputs]


def name(op):
    return getattr(op, "title", type(op).__name__)


def operands(program, title):
    """The shapes of the operands of every primitive of one name."""
    return [tuple(a.type.shape for a in eq.inputs) for eq in program.equations if name(eq.op) == title]
