"""What a compiled function becomes, stage by stage: `jit(f).lower(*args)`."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from adjoint.base.loading import deferred
from adjoint.compile.machine import emit_assembly, optimize_text
from adjoint.program.program import Program

if TYPE_CHECKING:
    from adjoint.compile.expand import expand_program
    from adjoint.compile.lower import LoweredCode
    from adjoint.compile.runtime_sizes import name_sizes
    from adjoint.simplify import simplify
    from adjoint.simplify.finish import finish
else:
    expand_program = deferred("adjoint.compile.expand", "expand_program")
    LoweredCode = deferred("adjoint.compile.lower", "LoweredCode")
    name_sizes = deferred("adjoint.compile.runtime_sizes", "name_sizes")
    simplify = deferred("adjoint.simplify", "simplify")
    finish = deferred("adjoint.simplify.finish", "finish")


class Lowered:
    """The stages of compiling one program: traced, simplified, LLVM's text, the same after its passes, assembly."""

    def __init__(self, name: str, program: Program) -> None:
        self.name, self.program = name, program

    @cached_property
    def simplified(self) -> Program:
        """The program after simplification."""
        return simplify(self.program)

    @cached_property
    def llvm(self) -> str:
        """LLVM's text, as it is written."""
        return LoweredCode(name_sizes(expand_program(finish(self.simplified)))).text

    @cached_property
    def optimized(self) -> str:
        """LLVM's text after its passes."""
        return optimize_text(self.llvm)

    @cached_property
    def assembly(self) -> str:
        """The instructions of this machine."""
        return emit_assembly(self.llvm)

    def __str__(self) -> str:
        return str(self.simplified)

    def __repr__(self) -> str:
        counts = f"{len(self.program.equations)} equations, {len(self.simplified.equations)} simplified"
        return f"<{self.name}, lowered: {counts}>"
