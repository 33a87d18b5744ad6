"""Calls at C speed: matching the arguments, running a kernel and building the result are machine code."""

from adjoint.compile.callable.objects import Entry, fast_class
from adjoint.compile.callable.specialisation import (
    ArrayLeaf,
    Build,
    Captured,
    Cell,
    Constant,
    Current,
    DictNode,
    DictOf,
    Equal,
    Fixed,
    Global,
    ListNode,
    ListOf,
    Made,
    Node,
    NumberLeaf,
    ObjectNode,
    Output,
    OutputType,
    Passed,
    Same,
    Specialisation,
    TupleNode,
    TupleOf,
)
