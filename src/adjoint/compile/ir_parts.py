"""Parts of a function that stand apart while they are written, and become functions of their own or not.

Every value has a name that no other value of the function has, and a type. So what a part reads of the function around
it can be seen in its lines: those values are handed over in memory, and have the same names inside.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from adjoint.compile.ir_types import BITS, Value

NAMES = re.compile(r"%[vaip]\d+\b")  # values of a function; labels have longer names
DEFINED = re.compile(r"^ *(%[vaip]\d+) = ")


class Part:
    """Lines that stand apart from the function in which they were written."""

    def __init__(self) -> None:
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self.params: list[Value] = []
        self.start = ""


class Parts:
    """What a function being written does with parts of it."""

    module: Any
    _prologue: list[str]
    _lines: list[str]
    _types: dict[str, str]
    _count: int
    block: str

    @contextmanager
    def apart(self, params: Sequence[str]) -> Generator[Part]:
        """What is written here stands apart: as a function of its own, or in this one after all."""
        part = Part()
        for kind in params:
            self._count += 1
            part.params.append(Value(f"%v{self._count}", kind))
            self._types[f"%v{self._count}"] = kind
        self._count += 1
        part.start = f"part{self._count}"
        around = self._prologue, self._lines, self.block
        self._prologue, self._lines = part.prologue, part.lines
        part.lines.append(f"{part.start}:")
        self.block = part.start
        try:
            yield part
        finally:
            self._prologue, self._lines, self.block = around

    def include(self, part: Part, values: Sequence[Value]) -> None:
        """Put a part into this function, with values for its parameters; its last line must have been a jump."""
        for param, value in zip(part.params, values, strict=True):
            text = f"bitcast {value.type} {value.text} to {value.type}"
            self._lines.append(f"  {param.text} = {text}")
        self._lines.append(f"  br label %{part.start}")
        self._prologue += part.prologue
        self._lines += part.lines

    def separate(self, part: Part, name: str, attributes: str) -> list[Value]:
        """Make a part a function; the values of this one that it reads, which its first parameter must point to.

        They stand at `offsets`.
        """
        used: dict[str, None] = {}
        own = {p.text for p in part.params}
        for line in (*part.prologue, *part.lines):
            own.update(DEFINED.findall(line))
            used.update(dict.fromkeys(NAMES.findall(line)))
        read = [Value(n, self._types.get(n, "i64" if n[1] == "i" else "ptr")) for n in used if n not in own]
        loads: list[str] = []
        for value, at in zip(read, self.offsets(read), strict=True):
            loads.append(f"  {value.text}.at = getelementptr i8, ptr {part.params[0].text}, i64 {at}")
            loads.append(f"  {value.text} = load {value.type}, ptr {value.text}.at, align 8")
        listed = ", ".join(f"{p.type} {p.text}" for p in part.params)
        self.module.parts[name] = "\n".join(
            [f"define internal i64 @{name}({listed}) {attributes} {{", "entry:", *part.prologue, *loads,
             f"  br label %{part.start}", *part.lines, "}"]
        )  # fmt: skip
        return read

    @staticmethod
    def offsets(values: Sequence[Value]) -> list[int]:
        """Where values stand one after the other, in bytes."""
        sizes = [8 * max(1, -(-BITS[v.scalar] * v.width // 64)) for v in values]
        return [0, *itertools.accumulate(sizes)][: len(sizes)]
