"""Primitives and transformations from outside: what those of the library are made of.

A primitive states one fact and has all else from its family:

| family | you state | you get |
|---|---|---|
| `Elementwise` | `evaluate` in plain NumPy, `partials` | broadcasting, all modes, native code |
| `Linear` | `evaluate`, `result_type`, `transpose`, `batch` | all modes; `expand` gives native code |
| `Multilinear` | the same with `adjoint` in each argument | product rule, Cauchy products |
| `Implicit` | `push` and `pull` of the solution of an equation | Taylor series |
| `Composite` | `expand`: other primitives, loops and branches | everything |
| `Flat` | `evaluate`, `result_type`, `batch` | derivative zero |

A transformation is a `Trace` with values of its own (`Tracer`), and a `RuleTable` of rules by class of primitive, with
defaults by family; `table.missing(primitive_classes())` says what it does not
cover.
"""

from adjoint.numpy import waiting
from adjoint.numpy.dispatch import load_primitives
from adjoint.ops.calculus import Differential, Flat, Implicit, Linear, Multilinear, fit, total
from adjoint.ops.control import cond, remat, scan, while_loop  # noqa: F401  # pyright: ignore[reportUnusedImport]  (see below)
from adjoint.ops.control.base import Control
from adjoint.ops.control.composite import Composite
from adjoint.ops.elementwise.pointwise import UFUNCS, Pointwise, Ufunc
from adjoint.ops.elementwise.smooth import Elementwise
from adjoint.ops.elementwise.work import Work
from adjoint.ops.kinks import NonSmooth
from adjoint.program.circuits import Circuit
from adjoint.program.dag import Dag
from adjoint.program.expansion import expansion
from adjoint.program.op import PRIMITIVES, EffectKind, Op, primitive
from adjoint.program.program import Equation, Program, interpret
from adjoint.program.rule_table import RuleTable
from adjoint.program.trace import Trace, bind, running
from adjoint.program.trace import Tracer as Tracer
from adjoint.program.types import type_of

waiting.load_all()  # a name that the library has is refused where it is declared again

__all__ = [
    "PRIMITIVES",
    "Circuit",
    "Composite",
    "Control",
    "Dag",
    "Differential",
    "EffectKind",
    "Elementwise",
    "Equation",
    "Flat",
    "Implicit",
    "Linear",
    "Multilinear",
    "NonSmooth",
    "Op",
    "Pointwise",
    "Program",
    "RuleTable",
    "Trace",
    "Tracer",
    "Ufunc",
    "Work",
    "bind",
    "expansion",
    "fit",
    "interpret",
    "primitive",
    "primitive_classes",
    "running",
    "total",
    "type_of",
]


def primitive_classes() -> list[type[Op]]:
    """The classes of all primitives that there are, those of ufuncs and of other packages too."""
    load_primitives()
    return sorted({*PRIMITIVES.values(), *map(type, UFUNCS.values())}, key=lambda kind: kind.__name__)
