"""Texts whose blocks are so long that LLVM's usual code generation takes minutes: a cheaper tier for them.

Straight-line code of n instructions is one block, or a few. Its registers are chosen in a time that grows with n², 5 s
for 50 000 lines. Cut into shorter blocks, and without optimization of what goes to which register, it takes a tenth of
that and grows with n, for code that is about a fifth slower.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count

LONGEST = 12_000  # lines of a block: half a second of LLVM's time, or more
PIECE = 1000  # lines of a block that was cut
_FLAG, _PIECE, _STOP = "@adjoint_never", "adjoint_piece", "adjoint_stop"


def measure_blocks(text: str) -> list[int]:
    """The lines of each block of a text."""
    lines = [0]
    for line in text.split("\n"):
        if line.endswith(":") or line.startswith("define"):
            lines.append(0)
        else:
            lines[-1] += 1
    return lines


def giant_block(text: str) -> int:
    """Lines of the longest block, if it is one of a giant; else 0, for which short texts are not read.

    A giant is a block of more than n = LONGEST lines, or what takes as long as three of them: Σ lines² > 3 n².
    """
    lines = measure_blocks(text) if text.count("\n") > LONGEST else [0]
    return max(lines) if max(lines) > LONGEST or sum(n * n for n in lines) > 3 * LONGEST**2 else 0


def cut_blocks(text: str) -> str:
    """The same with no block much longer than a piece.

    A block ends where a flag is read that is always zero: LLVM cannot know, and so does not join what was cut.
    """
    cut = [f"{_FLAG} = internal global i8 0", "declare void @llvm.trap()"]
    function: list[str] = []
    for line in text.split("\n"):
        function.append(line)
        if line == "}":
            cut += _cut_function(function, len(cut))
            function = []
    return "\n".join([*cut, *function])


def _cut_function(lines: Sequence[str], number: int) -> Iterator[str]:
    """The lines of a function; what comes into blocks from one that was cut comes from its last piece."""
    last: dict[str, str] = {}
    made = list(_cut(lines, last, number))
    for line in made:
        yield _rename(line, last) if last and " = phi " in line else line


def _cut(lines: Sequence[str], last: dict[str, str], number: int) -> Iterator[str]:
    block, here, pieces = "", 0, count(number)
    for line in lines:
        if line.endswith(":"):
            block, here = line[:-1], 0
        elif line == "}" and last:
            yield f"{_STOP}:\n  call void @llvm.trap()\n  unreachable"
        elif here >= PIECE and line.startswith("  %") and " = phi " not in line and " = alloca " not in line:
            here = 0
            name = last[block] = f"{_PIECE}{next(pieces)}"
            yield f"  %{name}.flag = load volatile i8, ptr {_FLAG}"
            yield f"  %{name}.go = icmp eq i8 %{name}.flag, 0"
            yield f"  br i1 %{name}.go, label %{name}, label %{_STOP}"
            yield f"{name}:"
        here += 1
        yield line


def _rename(line: str, last: dict[str, str]) -> str:
    return re.sub(r", %([^\s,\]]+) \]", lambda found: f", %{last.get(found[1], found[1])} ]", line)
