"""LLVM's text, written directly: values are names with a type, a function is a list of lines.

llvmlite's own builder makes a Python object of every instruction, and then text of the objects; writing the text at
once is several times faster, and compile time is mostly this. Scalars and vectors are written alike: the type of the
operands says how wide an instruction is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from adjoint.compile import pieces
from adjoint.compile.ir_parts import Parts
from adjoint.compile.ir_types import BITS, Value, lanes, like, mangled, number_text, scalar_of, vector_of

INLINED = "alwaysinline nounwind"
# A function of so many lines that is called from more places than that is not inlined: where there are many, the time
# to compile the copies grows faster than their number, and beside so much other work a call is not felt.
LONG, COPIES = 24, 12
# A note on a branch: its condition hardly ever holds. What is needed on the other way stays in registers.
RARELY = ', !prof !{!"branch_weights", i32 1, i32 4095}'
# Another: the processor foresees the way, whichever it is. So it stays a branch; where LLVM chooses between the values
# of both sides, all that follows waits for the condition.
FORESEEN = ', !prof !{!"branch_weights", i32 1, i32 127}'


class Module:
    """Functions and declarations that are compiled together; each is there once, under its name."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}  # name -> text of a function, global or declaration
        self.calls: Counter[str] = Counter()  # how often a function is called, in the text

    def declare(self, name: str, returns: str, params: Sequence[str], attributes: str = "") -> None:
        """Name a function that lives elsewhere: an intrinsic or a symbol bound when the code is loaded."""
        if name not in self.parts:
            self.parts[name] = f"declare {returns} @{name}({', '.join(params)}) {attributes}"

    def name_data(self, name: str) -> Value:
        """The address of something that is no function and lives elsewhere: a symbol bound when the code is loaded."""
        self.parts.setdefault(name, f"@{name} = external global i8")
        return Value(f"@{name}", "ptr")

    def constant_array(self, name: str, kind: str, numbers: Sequence[Any]) -> Value:
        """A global constant array; its address."""
        if name not in self.parts:
            items = ", ".join(f"{kind} {number_text(kind, n)}" for n in numbers)
            self.parts[name] = f"@{name} = internal unnamed_addr constant [{len(numbers)} x {kind}] [{items}], align 64"
        return Value(f"@{name}", "ptr")

    def constant_bytes(self, name: str, content: bytes) -> Value:
        """A global constant string, ended by a zero; its address."""
        if name not in self.parts:
            text = "".join(f"\\{byte:02X}" for byte in content + b"\0")
            self.parts[name] = f'@{name} = internal unnamed_addr constant [{len(content) + 1} x i8] c"{text}"'
        return Value(f"@{name}", "ptr")

    def __str__(self) -> str:
        parts = [
            self._without_inlining(text) if self.calls[name] > COPIES else text for name, text in self.parts.items()
        ]
        return "\n".join(parts) + "\n"

    def _without_inlining(self, text: str) -> str:
        """A long function as one that is not inlined."""
        return text if text.count("\n") < LONG else text.replace(INLINED, "noinline nounwind", 1)


class Function(Parts):
    """A function being written. Methods append an instruction and give its result.

    `attributes` stand behind the parameter list (`alwaysinline nounwind`), `linkage` before the result type
    (`internal`). Text goes to the current block; `begin` starts another.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        params: Sequence[str],
        returns: str,
        *,
        linkage: str = "internal",
        attributes: str = "nounwind",
    ) -> None:
        self.module, self.name, self.returns = module, name, returns
        self.params = tuple(Value(f"%p{i}", scalar_parameter(kind)) for i, kind in enumerate(params))
        listed = ", ".join(f"{kind} %p{i}" for i, kind in enumerate(params))
        self._head = f"define {linkage + ' ' if linkage else ''}{returns} @{name}({listed}) {attributes} {{"
        self._prologue: list[str] = ["entry:"]  # allocations: they must stand in the first block
        self._lines: list[str] = []
        self._count = 0
        self._types: dict[str, str] = {p.text: p.type for p in self.params}
        self._marks, self._marked = list[str](), 0  # blocks at which it may be cut, and the line of the last one
        self.block = "start"  # the name of the current block
        self._lines.append("start:")

    # Instructions

    def _new(self, kind: str, text: str) -> Value:
        self._count += 1
        name = f"%v{self._count}"
        self._lines.append(f"  {name} = {text}")
        self._types[name] = kind
        return Value(name, kind)

    def line(self, text: str) -> None:
        """An instruction without result."""
        self._lines.append(f"  {text}")

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """fadd fsub fmul fdiv frem, add sub mul sdiv udiv srem urem, and or xor, shl lshr ashr."""
        return self._new(a.type, f"{op} {a.type} {a.text}, {b.text}")

    def fadd(self, a: Value, b: Value) -> Value:
        return self.binary("fadd", a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        return self.binary("fsub", a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        return self.binary("fmul", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self.binary("fdiv", a, b)

    def fneg(self, a: Value) -> Value:
        return self._new(a.type, f"fneg {a.type} {a.text}")

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """a b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def add(self, a: Value, b: Value) -> Value:
        if a.text == "0":
            return b
        return a if b.text == "0" else self.binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return a if b.text == "0" else self.binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        if a.text == "1":
            return b
        return a if b.text == "1" else self.binary("mul", a, b)

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        """Compare floats: oeq one olt ole ogt oge ord, une ult …, uno."""
        return self._new(like("i1", a), f"fcmp {predicate} {a.type} {a.text}, {b.text}")

    def icmp(self, predicate: str, a: Value, b: Value) -> Value:
        """Compare integers: eq ne slt sle sgt sge ult …"""
        return self._new(like("i1", a), f"icmp {predicate} {a.type} {a.text}, {b.text}")

    def select(self, condition: Value, a: Value, b: Value, note: str = "") -> Value:
        """a where the condition holds, else b; lane by lane when the condition has lanes."""
        text = f"select {condition.type} {condition.text}, {a.type} {a.text}, {b.type} {b.text}{note}"
        return self._new(a.type, text)

    def cast(self, op: str, a: Value, scalar: str) -> Value:
        """fpext fptrunc fptosi fptoui sitofp uitofp sext zext trunc bitcast, to a scalar type, as wide as `a`.

        With `bitcast` the lanes keep their number, so the scalar types must have the same size.
        """
        kind = like(scalar, a)
        return a if kind == a.type else self._new(kind, f"{op} {a.type} {a.text} to {kind}")

    def constant(self, kind: str, number: Any) -> Value:
        """A number of a type; the same in every lane."""
        scalar = scalar_of(kind)
        text = number_text(scalar, number)
        return Value(text if kind[0] != "<" else f"splat ({scalar} {text})", kind)

    def same(self, model: Value, number: Any) -> Value:
        """A number of the type of another value."""
        return self.constant(model.type, number)

    def index(self, number: int) -> Value:
        """A number as i64."""
        return Value(str(number), "i64")

    def intrinsic(
        self, name: str, *args: Value, returns: str | None = None, over: Sequence[str] | None = None
    ) -> Value:
        """llvm.<name>, overloaded over the type of its first argument (or the types in `over`)."""
        full = f"llvm.{name}." + ".".join(mangled(t) for t in ([args[0].type] if over is None else over))
        return self.call(full, args[0].type if returns is None else returns, *args, declared=True)

    def call(self, name: str, returns: str, *args: Value, declared: bool = False, attributes: str = "") -> Value:
        """Call a function; `declared` when it stands elsewhere and must be named in the module."""
        if declared and name not in self.module.parts:
            self.module.declare(name, returns, [a.type for a in args], attributes)
        self.module.calls[name] += 1
        listed = ", ".join(f"{a.type} {a.text}" for a in args)
        if returns == "void":
            self.line(f"call void @{name}({listed})")
            return Value("", "void")
        return self._new(returns, f"call {returns} @{name}({listed})")

    def call_address(self, address: Value, returns: str, *args: Value) -> Value:
        """Call a function by its address."""
        listed = ", ".join(f"{a.type} {a.text}" for a in args)
        if returns == "void":
            self.line(f"call void {address.text}({listed})")
            return Value("", "void")
        return self._new(returns, f"call {returns} {address.text}({listed})")

    # Memory

    def load(
        self, kind: str, pointer: Value, align: int | None = None, note: str = "", *, volatile: bool = False
    ) -> Value:
        """The value at an address; `align` in bytes when it is less than natural, `note` is metadata."""
        aligned = f", align {align}" if align else ""
        return self._new(kind, f"load {'volatile ' * volatile}{kind}, ptr {pointer.text}{aligned}{note}")

    def store(self, value: Value, pointer: Value, align: int | None = None, note: str = "") -> None:
        aligned = f", align {align}" if align else ""
        self.line(f"store {value.type} {value.text}, ptr {pointer.text}{aligned}{note}")

    def element(self, pointer: Value, index: Value, kind: str) -> Value:
        """The address of an element: pointer + index · sizeof(kind)."""
        if index.text == "0":
            return pointer
        return self._new("ptr", f"getelementptr {kind}, ptr {pointer.text}, i64 {index.text}")

    def allocate(self, kind: str, count: int = 1, align: int = 64) -> Value:
        """A buffer on the stack, for the whole function: an array, since LLVM keeps no `kind, count` in registers."""
        self._count += 1
        name = f"%a{self._count}"
        self._prologue.append(f"  {name} = alloca [{count} x {kind}], align {align}")
        return Value(name, "ptr")

    def initialize(self, value: Value, buffer: Value) -> None:
        """Put a constant into a buffer on the stack before anything else runs."""
        self._prologue.append(f"  store {value.type} {value.text}, ptr {buffer.text}")

    # Vectors

    def spread(self, scalar: Value, width: int) -> Value:
        """The same value in every lane."""
        if width == 1 or scalar.width == width:
            return scalar
        if scalar.text[0] not in "%@":
            return Value(f"splat ({scalar.type} {scalar.text})", vector_of(scalar.type, width))
        kind = vector_of(scalar.type, width)
        first = self._new(kind, f"insertelement {kind} poison, {scalar.type} {scalar.text}, i64 0")
        return self._new(kind, f"shufflevector {kind} {first.text}, {kind} poison, <{width} x i32> zeroinitializer")

    def lane(self, vector: Value, index: int | Value) -> Value:
        """One lane."""
        if vector.width == 1:
            return vector
        text = str(index) if isinstance(index, int) else index.text
        return self._new(vector.scalar, f"extractelement {vector.type} {vector.text}, i64 {text}")

    def with_lane(self, vector: Value, scalar: Value, index: int | Value) -> Value:
        """The vector with one lane replaced."""
        text = str(index) if isinstance(index, int) else index.text
        return self._new(
            vector.type, f"insertelement {vector.type} {vector.text}, {scalar.type} {scalar.text}, i64 {text}"
        )

    def shuffle(self, a: Value, b: Value | None, order: Sequence[int]) -> Value:
        """Lanes of a (0 … width-1) and b (width …), in the order given."""
        if len(order) == 1:
            return self.lane(a, order[0]) if order[0] < a.width or b is None else self.lane(b, order[0] - a.width)
        other = "poison" if b is None else b.text
        listed = ", ".join(f"i32 {i}" for i in order)
        kind = vector_of(a.scalar, len(order))
        return self._new(kind, f"shufflevector {a.type} {a.text}, {a.type} {other}, <{len(order)} x i32> <{listed}>")

    def lane_numbers(self, width: int, kind: str = "i64") -> Value:
        """0, 1, 2, … in the lanes."""
        if width == 1:
            return self.constant(kind, 0)
        return Value("<" + ", ".join(f"{kind} {i}" for i in range(width)) + ">", vector_of(kind, width))

    def any_lane(self, mask: Value) -> Value:
        """Whether some lane is true."""
        if mask.width == 1:
            return mask
        return self.intrinsic("vector.reduce.or", mask, returns="i1")

    # Blocks and loops

    def new_block(self, hint: str = "b") -> str:
        """A fresh name for a block."""
        self._count += 1
        return f"{hint}{self._count}"

    def begin(self, block: str) -> None:
        """Start a block; the one before must have ended with a jump."""
        self._lines.append(f"{block}:")
        self.block = block

    def jump(self, block: str) -> None:
        self.line(f"br label %{block}")

    def branch(self, condition: Value, yes: str, no: str, note: str = "") -> None:
        self.line(f"br i1 {condition.text}, label %{yes}, label %{no}{note}")

    def ret(self, value: Value | None = None) -> None:
        self.line("ret void" if value is None else f"ret {value.type} {value.text}")

    def phi(self, kind: str, arrivals: Sequence[tuple[Value, str]]) -> Value:
        """The value according to the block that control came from; must stand first in its block."""
        return self._new(kind, f"phi {kind} " + ", ".join(f"[ {v.text}, %{b} ]" for v, b in arrivals))

    @contextmanager
    def loop(self, start: Value, stop: Value, step: Value | None = None, note: str = "") -> Generator[Value]:
        """for i in range(start, stop, step), step positive. Values that change live in buffers (`allocate`).

        The test stands before the first iteration and at the end of each: LLVM's own pass that turns loops over takes a
        time that grows with the square of their number. Where the first is known it is written all the same, so that
        what follows the loop is not dominated by its body, all of which LLVM looks through for every variable.
        """
        step = Value("1", "i64") if step is None else step
        body, tail, done = (self.new_block(h) for h in ("body", "tail", "done"))
        before = self.block
        self.branch(self.icmp("slt", start, stop), body, done)
        self.begin(body)
        self._count += 2
        index, following = f"%i{self._count}", f"%i{self._count - 1}"
        self.line(f"{index} = phi i64 [ {start.text}, %{before} ], [ {following}, %{tail} ]")
        yield Value(index, "i64")
        self.jump(tail)
        self.begin(tail)
        self.line(f"{following} = add nsw i64 {index}, {step.text}")
        self.branch(self.icmp("slt", Value(following, "i64"), stop), body, done, note)
        self.begin(done)

    @contextmanager
    def when(self, condition: Value, note: str = "") -> Generator[None]:
        """A block that runs if the condition holds."""
        yes, done = self.new_block("then"), self.new_block("done")
        self.branch(condition, yes, done, note)
        self.begin(yes)
        yield
        self.jump(done)
        self.begin(done)

    def mark(self, *, last: bool = False) -> None:
        """A place between two steps: a function that gets long is cut there."""
        if self._marks if last else len(self._lines) > self._marked + pieces.PIECE:
            self._marks.append(block := self.new_block("piece"))
            self.jump(block)
            self.begin(block)
            self._marked = len(self._lines)

    def finish(self, leave: str = "") -> None:
        """Put the function into its module; `leave` is the block where all its ways end."""
        text = pieces.Text(self.name, self._head, self._prologue, self._lines, self._types)
        self.module.parts |= pieces.cut_function(text, self._marks, leave) or {self.name: text.whole()}


def scalar_parameter(kind: str) -> str:
    """The type of a parameter, without the attributes that may follow it (`ptr noalias`)."""
    return kind if kind[0] == "<" else kind.split(" ")[0]


Writer = Callable[..., Value]  # (function, *operands) -> result: writes instructions


def shared_function(function: Function, name: str, write: Writer, *args: Value, attributes: str = INLINED) -> Value:
    """Call a function of scalars or vectors that is written into the module once for each type of its arguments."""
    full = f"{name}.{'.'.join(mangled(a.type) for a in args)}"
    key = (full, attributes)
    known = _written.get(key)
    module = function.module
    if known is None:
        own = Module()
        inner = Function(own, full, [a.type for a in args], "?", attributes=attributes)
        result = write(inner, *inner.params)
        inner.returns = result.type
        inner._head = inner._head.replace(" ? ", f" {result.type} ", 1)  # pyright: ignore[reportPrivateUsage]
        inner.ret(result)
        inner.finish()
        known = _written[key] = (result.type, dict(own.parts))
    returns, parts = known
    if full not in module.parts:
        for other, text in parts.items():
            module.parts.setdefault(other, text)
    return function.call(full, returns, *args)


_written: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}  # functions of this kind, as text


__all__ = [
    "BITS", "FORESEEN", "RARELY", "Function", "Module", "Value", "Writer", "lanes", "like", "mangled", "number_text",
    "scalar_of", "shared_function", "vector_of",
]  # fmt: skip
