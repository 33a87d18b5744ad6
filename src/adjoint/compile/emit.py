"""The equations of a program as instructions: its plan, the memory of its variables, and its steps one after another.

The program of a kernel has an emitter, and so has the body of every loop and branch inside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from adjoint.compile import vectors
from adjoint.compile.boxes import cut_graph
from adjoint.compile.graph import Graph, Node
from adjoint.compile.growing import Growing
from adjoint.compile.ir import RARELY, Function, Module, Value
from adjoint.compile.memory import Arena
from adjoint.compile.moves import Moves, Operand
from adjoint.compile.nest import Nest
from adjoint.compile.nest_regions import emit_nests
from adjoint.compile.order import collapse_axes, loop_order, vector_axis, vector_width
from adjoint.compile.overwriting import lend_memory
from adjoint.compile.placing import locate_parts
from adjoint.compile.plan import Fused, Plan, Single, draw_graph
from adjoint.compile.regions import Region
from adjoint.compile.results import Output, Root, neutral
from adjoint.compile.statuses import BOUNDS, NO_MEMORY
from adjoint.compile.strips import emit_group, find_groups
from adjoint.compile.symbolic_sizes import SizeError, Sym, Unsupported, expected, is_found_later, plain
from adjoint.compile.views import Index, View, identity, linear, strides_of
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable

ON_THE_STACK = 256  # bytes: smaller temporaries are registers, or next to them


Write = Callable[["Emitter", Any, Equation], None]
InParts = Callable[["Emitter", Equation], bool]


class Lowering(NamedTuple):
    """How an operation that is no part of a nest becomes instructions."""

    write: Write  # (emitter, op, equation)
    strided: bool = False  # reads operands at any stride
    # its code may be for sizes that are known at run time; "standalone": where nothing is compiled for known ones later
    any_size: bool | str = False


LOWERINGS: RuleTable[Lowering] = RuleTable("compiled code", of="evaluate")


def lowers(*kinds: type[Op], strided: bool = False, any_size: bool | str = False) -> Callable[[Write], Write]:
    """Declare how an operation becomes instructions."""

    def declare(write: Write) -> Write:
        LOWERINGS.update(dict.fromkeys(kinds, Lowering(write, strided, any_size)))
        return write

    return declare


def _is_strided(op: Op) -> bool:
    lowering = LOWERINGS.get(op)
    return lowering is not None and lowering.strided


class Shared:
    """What all emitters of a kernel have in common."""

    def __init__(self, module: Module, function: Function, fallback: Lowering, in_parts: InParts) -> None:
        self.module, self.function = module, function
        self.fallback = fallback  # of operations without a lowering
        self.in_parts = in_parts  # writes an operation on a stack as a region; False where that does not pay
        self.status = function.allocate("i64", align=8)
        self.leave = function.new_block("leave")
        self.context: Value | None = None
        self.callbacks: list[Equation] = []
        self.looped: list[Equation] = []  # of these, what every iteration of a loop calls
        self.errors: list[Equation] = []  # by the number that a failure reports
        self.work = 0.0  # about how many additions a call makes
        self.watched = 0.0  # of these, in loops that look for signals
        self.budget: Value | None = None  # additions until the next look at the clock
        self.looked: Value | None = None  # when that was
        self.steps: list[str] = []  # descriptions, for reports
        self.threads: list[str] = []  # the same, of what several threads work on, and of what they cannot
        self.region: Region | None = None  # the region being written
        self.releases: list[Value] = []  # records of the memory that is freed at the end
        self.symbols: dict[str, int] = {}
        self.may_raise = False  # whether it calls functions in C that may set a Python exception
        self.begun = False  # whether the emitter of the whole program was made
        self.standalone = False  # whether it is to run where no Python is
        self.sizes: dict[str, Value] = {}  # by name: those of the arguments, when the code is for many, and those found
        self.constants: dict[Var, Value] = {}  # of the program and of all programs inside it
        self.arena = Arena()
        self.workspace = Value("", "ptr")
        self.offsets: dict[str, tuple[Any, Any]] = {}  # address -> what was taken from the arena for it


class Emitter(Moves):
    """Writes the steps of one program into the kernel's function."""

    def __init__(
        self,
        shared: Shared,
        program: Program,
        times: float = 1.0,
        unwritten: Collection[int] = (),
    ) -> None:
        self.shared, self.f, self.program = shared, shared.function, program
        self.times = times  # about how often it runs
        self.in_branch = False  # of a program whose loops, if any, are around
        self.outermost = not shared.begun  # not the body of a loop or a branch: inputs and outputs do not overlap
        shared.begun = True
        self.pointers: dict[Var, Value] = {}
        self.until_done: list[Value] = []  # buffers that are free again after the step being emitted
        self.packed: dict[tuple[Equation, int], Operand] = {}  # operands laid out anew before a loop
        # of stacks of rows of different lengths (see `histories`): where counts and offsets of the rows stand, where a
        # loop around wants them to go, and which part of that they have become
        self.levels: dict[Var, list[tuple[Value, Value]]] = {}
        self.same: dict[Var, Literal] = {}  # stacks of one number, which is not stored
        self.unstored: set[Var] = set()  # results that a loop around takes for such
        self.begins: dict[Var, int] = {}  # the axis from which on their rows are arrays
        self.given: dict[Var, Any] = {}
        self.extents: dict[Var, tuple[Value, Value]] = {}
        self.lent: set[Var] = set()  # results in the memory of an output that they are overwritten by, or a part of
        self.placed: dict[Var, set[Any]] = {}  # boxes of outputs that are there already
        self.plan = Plan(program, _is_strided, unwritten)
        self.ends: dict[int, list[Var]] = {}  # after which step nothing reads a variable any more
        self.last = self._last_reads()
        for var, position in self.last.items():
            self.ends.setdefault(position, []).append(var)

    # Memory

    def _last_reads(self) -> dict[Var, int]:
        """The last step that reads each result. Inputs are not freed: the next iteration reads them again."""
        last: dict[Var, int] = {}
        for position, step in enumerate(self.plan.steps):
            for var in self.plan.reads(step):
                last[var] = position
            for var in step.outputs:
                last.setdefault(var, position)
        for k, atom in enumerate(self.program.outputs):
            var = self.plan.aliases.get(k, atom)
            if isinstance(var, Var):
                last[var] = len(self.plan.steps)
        return {var: position for var, position in last.items() if var not in self.plan.arguments}

    def nbytes(self, kind: Any) -> Any:
        return math.prod(kind.shape) * kind.dtype.itemsize

    def pointer(self, var: Var) -> Value:
        """Where a variable stands in memory; a buffer is allocated when it is first asked for."""
        known = self.pointers.get(var)
        if known is None:
            known = self.pointers[var] = self.allocate(self.nbytes(var.type))
        return known

    def heap(self, nbytes: Value) -> Value:
        """Memory of a size that is known when the kernel runs; the next iteration of a loop around takes it again."""
        f = self.f
        memory, capacity = Growing(self.shared), f.allocate("i64", align=8)
        f.initialize(f.index(0), capacity)
        with f.when(f.icmp("sgt", nbytes, f.load("i64", capacity, 8)), RARELY):
            self.leave_if(f.icmp("sgt", nbytes, self.most_bytes()), NO_MEMORY)
            memory.grow(self, nbytes)
            f.store(nbytes, capacity)
        return memory.address(f)

    def most_bytes(self) -> Value:
        """How large a piece of memory may become."""
        context = self.shared.context
        assert context is not None
        return self.f.load("i64", self.f.element(context, self.f.index(1), "i64"), 8)

    def allocate(self, nbytes: Any) -> Value:
        """Memory for a while: on the stack when it is little, else in the arena (until `free`)."""
        if self.is_small(nbytes):
            return self.f.allocate("i8", max(nbytes, 1), align=64)
        if is_found_later(nbytes):
            return self.heap(self.number(nbytes))
        shared = self.shared
        offset = shared.arena.allocate(nbytes)
        pointer = self.f.element(shared.workspace, self.number(offset), "i8")
        if pointer.text == shared.workspace.text:  # a name of its own, so that it can be freed
            pointer = self.f.element(shared.workspace, Value("0 ", "i64"), "i8")
        shared.offsets[pointer.text] = (offset, nbytes)
        return pointer

    def number(self, n: Any) -> Value:
        """A size as a value of the function."""
        if type(n) is int:
            return self.f.index(n)
        f, total = self.f, None
        for names, coefficient in n.polynomial:  # in sizes of the arguments, and those found on the way
            term = f.index(coefficient)
            for name in names:
                if name not in self.shared.sizes:
                    raise Unsupported("a size is found while the program runs, and not yet where it is asked for")
                term = f.mul(term, self.shared.sizes[name])
            total = term if total is None else f.add(total, term)
        assert total is not None
        return total

    def is_small(self, nbytes: Any) -> bool:
        """Whether something goes on the stack."""
        return type(nbytes) is int and nbytes <= ON_THE_STACK

    def view(self, atom: Atom) -> Operand:
        """An operand where it stands, at its own strides."""
        if isinstance(atom, Literal):
            return self.constant(atom)
        view = self.plan.view(atom)
        if view is None or (view.base not in self.pointers and view.base not in self.plan.kept):
            view = View(atom, 0, strides_of(atom.type.shape), atom.type.shape)
        pointer = self.pointer(view.base)
        pointer = self.offset(pointer, view.base.type.dtype, view.offset)
        return Operand(pointer, view.strides, atom.type)

    def is_read(self, var: Var) -> bool:
        """Whether a result is read at all."""
        return var in self.plan.uses or var in self.program.outputs

    def constant(self, atom: Literal) -> Operand:
        """A number, put into memory."""
        kind = atom.type
        buffer = self.f.allocate("i8", kind.dtype.itemsize)
        vectors.store(
            self.f, kind.dtype, vectors.number(self.f, kind.dtype, atom.value, 1), buffer, self.f.index(0), 1, 1
        )
        return Operand(buffer, (), kind)

    def offset(self, pointer: Value, dtype: np.dtype[Any], elements: Any) -> Value:
        """The address some elements further on."""
        return self.f.element(pointer, self.number(elements * dtype.itemsize), "i8")

    # Steps

    def emit(self, pointers: Mapping[Var, Value], targets: Mapping[int, Value]) -> None:
        """Write all steps, from the memory of inputs into the memory of outputs."""
        self.pointers.update(pointers)
        self.pointers.update((v, self.shared.constants[v]) for v in self.program.constants)
        for k, atom in enumerate(self.program.outputs):
            var = self.plan.aliases.get(k, atom)
            if k in targets and isinstance(var, Var):
                self.pointers[var] = targets[k]
                lend_memory(self, var)
        self.placed = locate_parts(self)
        groups, done = find_groups(self.plan, self.last, self.pointers, apart=self.outermost), 0
        for position, step in enumerate(self.plan.steps):
            if self.outermost:
                self.f.mark()
            if position in groups:
                emit_group(self, groups[position])
                done = position + len(groups[position].steps)
            elif position >= done:
                self._nest(step) if isinstance(step, Fused) else self._single(step)
            for var in self.ends.get(position, ()):
                pointer = self.pointers.get(var)
                if pointer is not None and var not in self.lent:
                    self.free(pointer)

    def free(self, pointer: Value) -> None:
        """Free what `allocate` gave; other memory stays."""
        taken = self.shared.offsets.pop(pointer.text, None)
        if taken is not None:
            self.shared.arena.free(*taken)

    def _single(self, step: Single) -> None:
        eq = step.equation
        lowering = LOWERINGS.get(eq.op) or self.shared.fallback
        fits = lowering.any_size is True or (bool(lowering.any_size) and self.shared.standalone)
        if not fits and any(type(n) is Sym for a in (*eq.inputs, *eq.outputs) for n in a.type.shape):
            raise SizeError(f"{eq.op.title} is compiled for known sizes")
        if not self.shared.in_parts(self, eq):
            lowering.write(self, eq.op, eq)

    def leave(self, status: Value) -> None:
        """End the kernel with a status; the basic block being written ends here."""
        self.f.store(status, self.shared.status)
        self.f.jump(self.shared.leave)

    def leave_if(self, condition: Value, status: int, before: Callable[[], None] | None = None) -> None:
        """End the kernel with a status when a condition holds."""
        f = self.f
        bad, fine = f.new_block("bad"), f.new_block("fine")
        f.branch(condition, bad, fine, RARELY)
        f.begin(bad)
        if before is not None:
            before()
        self.leave(f.index(status))
        f.begin(fine)

    def python(self) -> Value:
        """The Python function that the kernel may call."""
        context = self.shared.context
        assert context is not None
        return self.f.load("ptr", context, 8)

    # Nests

    def _nest(self, step: Fused) -> None:
        emit_nests(self, self.nests(step))

    def nests(self, step: Fused) -> list[Nest]:
        """The loops of a step, one nest for each box that it is cut into, ready to be written."""
        f = self.f
        for root in step.roots:
            if self._is_stored(root):
                self.pointer(root.var)
        graph = step.graph
        assert graph is not None
        elements = math.prod(step.domain)
        self.shared.work += self.times * expected(elements) * (1 + sum(1 for n in graph.nodes if n.kind == "point"))
        shown = "×".join(str(plain(n)) for n in step.domain) or "scalar"
        results, nodes = len(step.roots), len(graph.nodes)
        self.shared.steps.append(f"{shown}: {results} result{'s' * (results != 1)}, {nodes} node{'s' * (nodes != 1)}")
        if elements == 0:
            for root in step.roots:
                if root.kind != "store":
                    self.fill(self.pointer(root.var), root.var.type, neutral(root.kind, root.var.type.dtype))
            return []
        reductions = [r for r in step.roots if r.kind != "store"]
        drawings = cut_graph(graph, step.roots, lambda box: draw_graph(self.plan.source(), step, box))
        done = self.placed.get(step.roots[0].var, ())
        drawings = [drawing for drawing in drawings if drawing.box not in done]
        layouts: list[tuple[Graph, list[Output], list[int], int | None]] = []
        for drawing in drawings:
            outputs = self._outputs(step, drawing, whole=len(drawings) == 1)
            drawing, outputs = collapse_axes(drawing, outputs)
            vector = vector_axis(drawing, outputs)
            layouts.append((drawing, outputs, loop_order(drawing, outputs, vector), vector))
        nests = [
            Nest(
                f, drawing, outputs, order, vector, vector_width(drawing, outputs, vector),
                self.number, self.pointer, self._out_of_bounds,
            )
            for drawing, outputs, order, vector in layouts
        ]  # fmt: skip
        for root in reductions:
            if len(nests) > 1 or any(
                o.root is root and (o.outside or o.registers == len(n.order)) and n.order
                for n in nests
                for o in n.outputs
            ):
                self.fill(self.pointer(root.var), root.var.type, neutral(root.kind, root.var.type.dtype))
        for nest in nests:
            for out in nest.outputs:
                if out.root.kind != "store" and not nest.order:
                    out.root = type(out.root)(out.root.var, out.root.value, out.root.shape)
        return nests

    def _outputs(self, step: Fused, graph: Graph, *, whole: bool) -> list[Output]:
        """The roots that have elements in a box."""
        outputs: list[Output] = []
        for root in step.roots:
            if any(low >= n for (low, _), n in zip(graph.box, root.shape, strict=True)) or not self._is_stored(root):
                continue
            node = graph.node(root.value, identity(len(root.shape)))
            node = graph.convert_node(node, root.var.type)
            kept = [a for a in range(len(root.shape)) if a not in root.axes]
            index = tuple(Index(0, ((a, 1),)) for a in kept)
            position = linear(index, strides_of(root.var.type.shape))
            outputs.append(Output(root, node, position, self.pointer(root.var), whole))
        return outputs

    def _is_stored(self, root: Root) -> bool:
        """Whether a result is read at all from memory; where its own nest alone reads it, that is in registers."""
        return root.kind != "store" or self.last[root.var] > self.plan.step_of[root.var]

    def _out_of_bounds(self, bad: Value, index: Value, size: Any, node: Node) -> None:
        self.refuse_if(bad, index, size, node.op)

    def refuse_if(self, bad: Value, index: Value, size: Any, eq: Equation) -> None:
        """Leave when an index is out of bounds, saying which and where."""
        f = self.f
        self.shared.errors.append(eq)
        number = len(self.shared.errors) - 1
        n = self.number(size)

        def note() -> None:
            worst = index
            if index.width > 1:
                lanes = f.select(bad, f.lane_numbers(index.width), f.constant(index.type, 63))
                first = f.intrinsic("vector.reduce.umin", lanes, returns="i64")
                worst = f.lane(index, first)
            worst = f.select(f.icmp("slt", worst, f.index(0)), f.binary("sub", worst, n), worst)  # as the user wrote it
            region = self.shared.region
            table = f.allocate("i64", 4, align=8) if region is None else region.record
            for slot, value in enumerate((f.index(number), worst, n)):
                f.store(value, f.element(table, f.index(slot + 1), "i64"), 8)
            if region is None:
                f.call_address(self.python(), "i64", f.index(BOUNDS), table)

        self.leave_if(f.any_lane(bad), BOUNDS, None if self.shared.standalone else note)
