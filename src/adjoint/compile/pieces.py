"""Long functions cut into pieces, which are functions of their own: LLVM takes a time for one that grows with n².

What stands between two marks becomes a function. Every value has one name in the whole text, so what is read of it
elsewhere is seen in the lines: it is stored where it is made, in an environment that all pieces are given, and read
where a piece begins. Memory of the stack that one piece alone uses stands in that piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from adjoint.compile.ir_parts import DEFINED, NAMES
from adjoint.compile.ir_types import BITS, Value

LONGEST = 6000  # lines of a function: LLVM takes about half a second
PIECE = 1500  # lines between two marks, about
_TARGET = re.compile(r"label %([\w.]+)")
_MEMORY = re.compile(r"^ *(%a\d+) = alloca \[(\d+) x ([^\]]+)\], align (\d+)$")


class Text(NamedTuple):
    """A function in lines; the prologue is its first block, in which memory of the stack is taken."""

    name: str
    head: str
    prologue: Sequence[str]
    lines: Sequence[str]
    types: Mapping[str, str]  # of values

    def whole(self) -> str:
        """The function as it is."""
        return "\n".join([self.head, *self.prologue, "  br label %start", *self.lines, "}"])


class _Piece:
    """The lines from one mark to the next."""

    def __init__(self, name: str, begin: str, end: str, lines: Sequence[str]) -> None:
        self.name, self.begin, self.end, self.lines = name, begin, end, lines
        self.read = set(_names(lines)) - set(_made(lines))
        labels = {line[:-1] for line in lines if line.endswith(":")}
        self.leads_to = {label for line in lines for label in _TARGET.findall(line)} - labels
        self.own: list[str] = []  # lines of the first block, of memory that nobody else uses


def _names(lines: Iterable[str]) -> Iterator[str]:
    return (name for line in lines for name in NAMES.findall(line))


def _made(lines: Iterable[str]) -> Iterator[str]:
    return (name for line in lines for name in DEFINED.findall(line))


def cut_function(text: Text, marks: Sequence[str], leave: str) -> dict[str, str] | None:
    """The texts of a function and of its pieces; None where it is short, or cannot be cut.

    `marks` are the labels at which it may be cut; the last one stands behind the last piece. All pieces lead on to the
    next one, or to the block `leave`.
    """
    name, head, prologue, lines, types = text
    if len(lines) <= LONGEST or len(marks) < 2:
        return None
    at = {line: i for i, line in enumerate(lines) if line.endswith(":")}
    positions = [at[f"{mark}:"] for mark in marks]
    pieces = [
        _Piece(f"{name}_{k}", marks[k], marks[k + 1], lines[positions[k] : positions[k + 1]])
        for k in range(len(marks) - 1)
    ]
    before, behind = lines[: positions[0]], lines[positions[-1] :]
    if not all(piece.leads_to <= {leave, piece.end} for piece in pieces) or any(" = phi " in line for line in behind):
        return None
    prologue = _hand_out_memory(pieces, prologue, [*before, *behind])
    late = sorted(set(_names(behind)) - {"%p0", *_made([*prologue, *before, *behind])})
    environment = _Environment({n for piece in pieces for n in piece.read}.union(late), types)
    prologue = [environment.placed(line) for line in prologue]
    texts = {piece.name: _write_piece(piece, environment, head[head.index(") ") + 2 :], leave) for piece in pieces}
    calls = [line for piece in pieces for line in _write_call(piece, leave)]
    texts[name] = "\n".join(
        [head, prologue[0], f"  %environment = alloca [{environment.size} x i8], align 64",
         *environment.filled(prologue[1:]), *(environment.store("%p0") if "%p0" in environment.slots else ()),
         "  br label %start", *environment.filled(before), *calls,
         behind[0], *[line for n in late for line in environment.load(n)], *behind[1:], "}"]
    )  # fmt: skip
    return texts


class _Environment:
    """Where values stand that one part of a function makes and another one reads."""

    def __init__(self, names: Iterable[str], types: Mapping[str, str]) -> None:
        self.values = {n: Value(n, types.get(n, "i64" if n[1] == "i" else "ptr")) for n in sorted(names)}
        self.slots: dict[str, int] = {}
        self.memory: dict[str, int] = {}  # memory of the stack that several pieces use: it stands here itself
        self.size = 0
        for name, value in self.values.items():
            self.slots[name] = self.size
            self.size += 8 * max(1, -(-BITS[value.scalar] * value.width // 64))

    def placed(self, line: str) -> str:
        """A line of the first block, with memory here instead of memory of its own, if others use it."""
        found = _MEMORY.match(line)
        if found is None or found[1] not in self.slots:
            return line
        name, count, kind, align = found[1], int(found[2]), Value("", found[3]), int(found[4])
        width = 1 << (kind.width - 1).bit_length()
        self.memory[name] = -(-self.size // align) * align
        self.size = self.memory[name] + count * max(1, BITS[kind.scalar] * width // 8)
        del self.slots[name]
        return f"  {name} = getelementptr i8, ptr %environment, i64 {self.memory[name]}"

    def _address(self, name: str) -> str:
        return f"  {name}.at = getelementptr i8, ptr %environment, i64 {self.slots[name]}"

    def store(self, name: str) -> list[str]:
        """Lines that store a value."""
        return [self._address(name), f"  store {self.values[name].type} {name}, ptr {name}.at, align 8"]

    def load(self, name: str) -> list[str]:
        """Lines that load a value, under its name."""
        if name in self.memory:
            return [f"  {name} = getelementptr i8, ptr %environment, i64 {self.memory[name]}"]
        return [self._address(name), f"  {name} = load {self.values[name].type}, ptr {name}.at, align 8"]

    def filled(self, lines: Sequence[str]) -> Iterator[str]:
        """The lines, and those that store what others read where it is made; phis stand first in their block."""
        waiting: list[str] = []
        for line in lines:
            if waiting and " = phi " not in line:
                yield from waiting
                waiting = []
            yield line
            waiting += [new for n in DEFINED.findall(line) if n in self.slots for new in self.store(n)]
        yield from waiting


def _write_piece(piece: _Piece, environment: _Environment, attributes: str, leave: str) -> str:
    """A piece as a function: whether it leaves the whole."""
    loads = [line for n in sorted(piece.read) for line in environment.load(n)]
    ends = [f"{piece.end}:", "  ret i64 0", *([f"{leave}:", "  ret i64 1"] if leave in piece.leads_to else [])]
    return "\n".join(
        [f"define internal i64 @{piece.name}(ptr noalias %environment) {attributes}", "entry:", *piece.own, *loads,
         f"  br label %{piece.begin}", *environment.filled(piece.lines), *ends, "}"]
    )  # fmt: skip


def _write_call(piece: _Piece, leave: str) -> list[str]:
    begin = piece.begin
    return [
        f"{begin}:", f"  %{begin}.left = call i64 @{piece.name}(ptr %environment)",
        f"  %{begin}.leaves = icmp ne i64 %{begin}.left, 0",
        f"  br i1 %{begin}.leaves, label %{leave}, label %{piece.end}",
    ]  # fmt: skip


def _hand_out_memory(pieces: Sequence[_Piece], prologue: Sequence[str], rest: Sequence[str]) -> list[str]:
    """Give the pieces the memory of the stack that they alone use; the other lines of the first block."""
    linked = [line for line in prologue if len(set(NAMES.findall(line))) > 1]
    users: dict[str, set[_Piece | None]] = {n: {None} for n in _names([*rest, *linked])}
    for piece in pieces:
        for n in piece.read:
            users.setdefault(n, set()).add(piece)
    kept: list[str] = []
    for line in prologue:
        names = NAMES.findall(line)
        found = set[_Piece | None]().union(*[users.get(n, {None}) for n in names])
        piece = found.pop() if len(found) == 1 else None
        (kept if piece is None else piece.own).append(line)
    for piece in pieces:
        piece.read.difference_update(_made(piece.own))
    return kept
