"""The table of writers: how one element of a primitive is written, by its name and the kind of its operands.

A writer is called as writer(f, dtype, *operands): f is the function being written, dtype that of the first operand in
the ufunc's loop. It gives the element of the loop's result. Kinds are those of NumPy: b i u f c. A writer names the
functions of `vector_math` that it needs; without them the primitive is not native.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from adjoint.compile import vector_math

Writer: TypeAlias = Callable[..., Any]

WRITERS: dict[tuple[str, str], Writer] = {}


def writes(names: str, kinds: str, needs: str = "") -> Callable[[Writer], Writer]:
    """Enter a writer for primitives (names divided by blanks) on operands of some kinds."""
    known = set(needs.split()) <= vector_math.NAMES.keys()

    def register(writer: Writer) -> Writer:
        for name in names.split():
            for kind in kinds if known else "":
                if (name, kind) in WRITERS:
                    raise ValueError(f"two writers for {name} of {kind}")
                WRITERS[name, kind] = writer
        return writer

    return register
