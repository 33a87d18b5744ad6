"""Memory that grows while a kernel runs, and is freed when the kernel is left, wherever that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.compile.ir import Function, Value
from adjoint.compile.statuses import NO_MEMORY


class Growing:
    """A piece of memory of the heap: nothing at first.

    Its address stands twice: where the kernel works with it, which LLVM may keep in a register, and in a record of what
    is to be freed, which is written when it grows and read at the end alone. Were there one of them, every exit of the
    kernel would hand each address over to the one place that frees them: exits · addresses moves between registers.
    """

    def __init__(self, shared: Any) -> None:
        f = shared.function
        self.slot, self.record = f.allocate("ptr", align=8), f.allocate("ptr", align=8)
        for address in (self.slot, self.record):
            f.initialize(Value("null", "ptr"), address)
        shared.releases.append(self.record)

    def address(self, f: Function) -> Value:
        return f.load("ptr", self.slot, 8)

    def grow(self, emitter: Any, nbytes: Value) -> None:
        """Have so many bytes; what is there stays."""
        f = emitter.f
        address = f.call("realloc", "ptr", self.address(f), nbytes, declared=True)
        emitter.leave_if(f.icmp("eq", address, Value("null", "ptr")), NO_MEMORY)
        f.store(address, self.slot)
        f.store(address, self.record)


def free_all(f: Function, records: Sequence[Value]) -> None:
    """Free what has grown; volatile, so that the records stay in memory."""
    for record in records:
        f.call("free", "void", f.load("ptr", record, 8, volatile=True), declared=True)  # nothing, if it never grew
