"""Linear functions: a tape that takes nothing else, so that the record read backwards is the transpose."""

# The slots of traced values are private to users, not to the engine.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoint.base.errors import NotLinear
from adjoint.program.op import Op
from adjoint.program.trace import Tracer
from adjoint.program.types import Value
from adjoint.transform.tape import Tape, TapeTracer


class LinearTape(Tape):
    """A tape that takes only what is linear in its inputs: what `linear_transpose` reads backwards."""

    title = "linear_transpose"

    def apply_one(self, op: Op, x: Tracer) -> Value:
        return self.apply(op, (x,))

    def apply_two(self, op: Op, x: Value, y: Value) -> Value:
        return self.apply(op, (x, y))

    def apply(self, op: Op, args: Sequence[Value]) -> Value:
        tracked = [isinstance(a, TapeTracer) and a._trace is self and a._index >= 0 for a in args]
        partly = bool(op.linear_arguments) and tracked == [i in op.linear_arguments for i in range(len(args))]
        if op.linear and any(tracked) and _adds_constant(op, args, tracked):
            raise NotLinear(
                f"{op.title} adds a constant that is not zero, so the function is affine, not linear, and has no "
                "transpose. Leave the constant out, or linearize: linearize(f, x), or vjp(f, x)."
            )
        if any(tracked) and not (
            op.linear or partly or (op.multilinear and sum(tracked) == 1) or op.effect or op.is_control
        ):
            raise NotLinear(
                f"{op.title} is not linear in {'its argument' if len(args) == 1 else 'what it is given here'}, so the "
                "function has no transpose. Linearize it first: linearize(f, x), or vjp(f, x)."
            )
        if op.pointwise and len(args) < 3:
            return Tape.apply_one(self, op, args[0]) if len(args) == 1 else Tape.apply_two(self, op, *args)
        return Tape.apply(self, op, args)


def _adds_constant(op: Op, args: Sequence[Value], tracked: Sequence[bool]) -> bool:
    """Whether an operand beside the linear ones is known and not zero."""
    operands = len(args) - op.parameters
    beside = [a for a, t in zip(args[:operands], tracked[:operands], strict=True) if not t]
    return any(not isinstance(a, Tracer) and bool(np.any(np.not_equal(a, 0))) for a in beside)
