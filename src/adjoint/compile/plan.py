"""Which results are kept in memory, and which are computed together in one nest of loops.

A result is kept when something must read it from memory (an output, a matrix product, a loop), and when computing it
again where it is read would cost more than reading it. Kept results and reductions over the same domain join one nest
as long as none needs another one finished.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from typing import Any

from adjoint.base.records import record
from adjoint.compile.gathering import gathered
from adjoint.compile.graph import Graph, Source, cost_of, is_lazy, lazy_rule
from adjoint.compile.results import Root
from adjoint.compile.views import VIEWS, View, identity, strides_of
from adjoint.ops.arrays.index import ScatterSet
from adjoint.ops.arrays.reduce import Extremum, FlatReduction, Product, Sum
from adjoint.ops.arrays.scatter_add import ScatterAdd
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable

DEEPEST = 60  # operations expanded into one expression: beyond, the result is kept
WORTH_KEEPING = 10  # additions: computing again what costs more is dearer than memory
WORTH_SHARING = 6  # additions: what costs more is not computed again for every element it is broadcast to
LARGEST_NEST = 24  # results of one nest
READ_EARLY = 4  # times smaller than an array that is written over: what is read from it before


@record(frozen=False)
class Fused:
    """Results computed in one nest of loops."""

    roots: list[Root]
    domain: tuple[Any, ...]
    graph: Graph | None = None

    @property
    def title(self) -> str:
        return "fused"

    @property
    def outputs(self) -> list[Var]:
        return [r.var for r in self.roots]


@record(frozen=False)
class Single:
    """An equation with a lowering of its own."""

    equation: Equation
    reads: list[Var] = field(default_factory=list[Var])

    @property
    def title(self) -> str:
        return self.equation.op.title

    @property
    def outputs(self) -> tuple[Var, ...]:
        return self.equation.outputs


REDUCTIONS: RuleTable[Callable[[Any], str]] = RuleTable("reductions in nests", of="evaluate")
REDUCTIONS.update({Sum: lambda op: "sum", Product: lambda op: "prod"})
REDUCTIONS.update(dict.fromkeys((Extremum, FlatReduction), lambda op: op.kind))


def reduction(eq: Equation) -> str | None:
    """The kind of a reduction that a nest can do."""
    rule = REDUCTIONS.get(eq.op)
    if rule is None:
        return None
    kind = rule(eq.op)
    if kind not in ("sum", "prod", "max", "min", "any", "all"):
        return None
    kind_in = eq.inputs[0].type.dtype
    return None if kind_in.kind == "c" and kind in ("max", "min", "any", "all") else kind


class Plan:
    """The steps of one program."""

    def __init__(self, program: Program, strided: Callable[[Any], bool], unwritten: Collection[int] = ()) -> None:
        self.program = program
        self.unwritten = unwritten  # outputs that stand where they are wanted already
        self.strided = strided  # whether an operation reads its operands at any stride
        self.arguments = {*program.inputs, *program.constants}
        self.definitions: dict[Var, Equation] = {}
        self.producer: dict[Var, Equation] = {}
        self.uses: dict[Var, list[Equation]] = {}
        self.kept: set[Var] = set()
        self._operands: dict[tuple[Var, bool], None] = {}  # what is read from memory, and whether at any stride
        for eq in program.equations:
            for v in eq.outputs:
                self.producer[v] = eq
            if len(eq.outputs) == 1 and is_lazy(eq):
                self.definitions[eq.outputs[0]] = eq
            for a in eq.inputs:
                if isinstance(a, Var):
                    self.uses.setdefault(a, []).append(eq)
        self.aliases: dict[int, Var] = {}  # outputs that are copies: position -> a fresh variable
        self._keep_what_must_be()
        self._group()
        self._share()
        self.steps: list[Fused | Single]

    # What must be in memory

    def keep(self, atom: Atom) -> None:
        if isinstance(atom, Var) and atom not in self.arguments:
            self.kept.add(atom)

    def _keep_what_must_be(self) -> None:
        depth: dict[Var, int] = {}
        written_over = self._written_over()
        for eq in self.program.equations:
            lazy = eq.outputs and eq.outputs[0] in self.definitions
            if not lazy:
                for v in eq.outputs:
                    self.kept.add(v)
                if reduction(eq) is None:
                    for a in eq.inputs:
                        self._keep_operand(a, self.strided(eq.op))
                continue
            op, out = eq.op, eq.outputs[0]
            if written_over and self._is_read_early(eq, written_over):
                self.kept.add(out)
            if lazy_rule(op).reads_memory(eq) and lazy_rule(op).strided:
                self._keep_operand(eq.inputs[0], strided=True)
            elif lazy_rule(op).reads_memory(eq):
                self.keep(eq.inputs[0])
            deep = 1 + sum(0 if a in self.kept else depth.get(a, 0) for a in eq.inputs if isinstance(a, Var))
            if deep > DEEPEST and op not in VIEWS:
                self.kept.add(out)
                deep = 0
            depth[out] = deep
        seen: set[Var] = set()
        for k, atom in enumerate(self.program.outputs):
            if k in self.unwritten:
                continue
            if isinstance(atom, Literal) or atom in self.arguments or atom in seen:
                self.aliases[k] = Var(atom.type)
            else:
                seen.add(atom)
                self.keep(atom)
        self._settle_operands()

    def _written_over(self) -> set[Atom]:
        """Arrays that may be written over."""
        return {eq.inputs[0] for eq in self.program.equations if isinstance(eq.op, ScatterSet | ScatterAdd)}

    def _is_read_early(self, eq: Equation, written_over: set[Atom]) -> bool:
        """Whether few elements are read from an array that may be written over: they are read before that."""
        x = eq.inputs[0] if eq.inputs else None
        view = self.view(x) if isinstance(x, Var) else None
        if view is None or view.base not in written_over:
            return False
        return READ_EARLY * math.prod(eq.outputs[0].type.shape) <= math.prod(view.base.type.shape)

    def _keep_operand(self, atom: Atom, strided: bool) -> None:
        if not isinstance(atom, Var) or atom in self.arguments:
            return
        self._operands[atom, strided] = None
        view = self.view(atom)
        if view is not None and (strided or view.contiguous):
            self.keep(view.base)
        else:
            self.keep(atom)

    def _settle_operands(self) -> None:
        """Look at operands again: what has been kept since may stand between them and the memory they were seen in."""
        count = -1
        while count != len(self.kept):
            count = len(self.kept)
            for atom, strided in list(self._operands):
                self._keep_operand(atom, strided)

    def view(self, var: Var) -> View | None:
        """A variable as elements in the memory of another (or itself); None when elements would have to move."""
        chain: list[tuple[Any, Var]] = []
        while var not in self.arguments and var not in self.kept:
            eq = self.definitions.get(var)
            if eq is None or eq.op not in VIEWS or not isinstance(eq.inputs[0], Var):
                break
            chain.append((eq.op, var))
            var = eq.inputs[0]
        offset: Any = 0
        shape: tuple[Any, ...] = var.type.shape
        strides = strides_of(shape)
        for op, out in reversed(chain):
            new = out.type.shape
            moved = VIEWS[op].restride(op, strides, shape, new)
            if moved is None:
                return None
            offset, strides, shape = offset + moved[0], moved[1], new
        return View(var, offset, strides, shape)

    # Nests

    def _roots(self, eq: Equation) -> list[Root]:
        """The results of an equation that a nest computes."""
        kind = reduction(eq)
        if kind is not None:
            x = eq.inputs[0]
            return [Root(eq.outputs[0], x, x.type.shape, kind, tuple(eq.op.axes))]  # type: ignore[attr-defined]
        out = eq.outputs[0] if eq.outputs else None
        if out in self.definitions and out in self.kept:
            return [Root(out, out, out.type.shape)]
        return []

    def _group(self) -> None:
        self.steps = []
        self.step_of: dict[Var, int] = {}
        self._needs: dict[Var, dict[Var, bool]] = {}
        nests: dict[int, list[int]] = {}  # number of axes -> positions of nests
        for eq in self.program.equations:
            roots = self._roots(eq)
            if not roots and eq.outputs and eq.outputs[0] in self.definitions:
                continue
            if not roots:
                reads = [self.view(a).base if self.view(a) else a for a in eq.inputs if isinstance(a, Var)]  # type: ignore[union-attr]
                for v in eq.outputs:
                    self.step_of[v] = len(self.steps)
                self.steps.append(Single(eq, reads))
            for root in roots:
                self._add_root(root, nests)
        for k, var in self.aliases.items():
            self._add_root(Root(var, self.program.outputs[k], var.type.shape), nests)

    def _add_root(self, root: Root, nests: dict[int, list[int]]) -> None:
        needs = self._reads(root.value, root.value is root.var)
        first = 0
        for var, same in needs.items():
            at = self.step_of[var]
            step = self.steps[at]
            joins = same and isinstance(step, Fused) and any(r.var is var and r.kind == "store" for r in step.roots)
            first = max(first, at if joins else at + 1)
        same_rank = nests.setdefault(len(root.shape), [])
        for at in reversed(same_rank[-8:]):
            if at < first:
                break
            nest = self.steps[at]
            assert isinstance(nest, Fused)
            joined = _join_domains(nest.domain, root.shape)
            if joined is not None and len(nest.roots) < LARGEST_NEST:
                nest.domain = joined
                nest.roots.append(root)
                self.step_of[root.var] = at
                return
        self.step_of[root.var] = len(self.steps)
        same_rank.append(len(self.steps))
        self.steps.append(Fused([root], root.shape))

    def _reads(self, atom: Atom, itself: bool) -> dict[Var, bool]:
        """The results that must be there before an element can be computed; True: only the element itself."""
        if isinstance(atom, Literal) or atom in self.arguments:
            return {}
        if atom in self.kept and not itself:
            return {atom: True}
        known = self._needs.get(atom)
        if known is not None:
            return known
        eq = self.definitions.get(atom)
        needs: dict[Var, bool] = {}
        if eq is not None:
            elementwise = lazy_rule(eq.op).elementwise
            for a in eq.inputs:
                same = elementwise and a.type.shape == atom.type.shape
                for var, itself_only in self._reads(a, False).items():
                    needs[var] = needs.get(var, True) and itself_only and same
        else:
            needs[atom] = True
        self._needs[atom] = needs
        return needs

    # Sharing

    def source(self) -> Source:
        memory = self.arguments | self.kept
        return Source(self.definitions, memory, self.view)

    def _share(self) -> None:
        """Keep what would be computed several times and costs more than memory; then group again."""
        for _ in range(4):
            self._draw()
            visits: dict[Var, int] = {}
            for step in self.steps:
                if isinstance(step, Fused) and step.graph is not None:
                    for var, n in step.graph.visits.items():
                        visits[var] = visits.get(var, 0) + n
            dear: dict[Var, int] = {}
            for var, n in visits.items():
                if n > 1 and var not in self.kept and self.definitions[var].op not in VIEWS and var.type.shape:
                    cost = self._cost(var)
                    if cost >= WORTH_KEEPING:
                        dear[var] = n
            graphs = [step.graph for step in self.steps if isinstance(step, Fused) and step.graph is not None]
            memory = self.arguments | self.kept
            spread = self._spread_out() | gathered([g.visits for g in graphs], self.definitions, memory)
            top = [
                var
                for var, n in dear.items()
                if not all(eq.outputs[0] in dear and dear[eq.outputs[0]] >= n for eq in self.uses.get(var, []))
            ]
            if not top and not spread:
                return
            self.kept.update(top)
            self.kept.update(spread)
            self._settle_operands()
            self._group()
        self._draw()

    def _spread_out(self) -> set[Var]:
        """Results that a larger nest would compute again for every element that they are broadcast to."""
        broadcast: set[Var] = set()
        for step in self.steps:
            if not isinstance(step, Fused) or step.graph is None or math.prod(step.domain) == 0:
                continue
            for var in step.graph.visits:
                if var in self.kept or not var.type.shape or self.definitions[var].op in VIEWS:
                    continue
                if 2 * math.prod(var.type.shape) <= math.prod(step.domain) and self._cost(var) >= WORTH_SHARING:
                    broadcast.add(var)
        # those alone that are broadcast themselves, not what they are computed from
        return {
            v for v in broadcast if not all(eq.outputs and eq.outputs[0] in broadcast for eq in self.uses.get(v, []))
        }

    def _cost(self, var: Var, depth: int = 0) -> int:
        eq = self.definitions.get(var)
        if eq is None or depth > 6:
            return 0
        own = 0 if eq.op in VIEWS else cost_of(eq.op)
        if own >= WORTH_KEEPING:
            return own
        return own + sum(
            self._cost(a, depth + 1)
            for a in eq.inputs
            if isinstance(a, Var) and a not in self.kept and a not in self.arguments
        )

    def _draw(self) -> None:
        source = self.source()
        for step in self.steps:
            if isinstance(step, Fused):
                step.graph = draw_graph(source, step, tuple((0, n) for n in step.domain))

    def reads(self, step: Fused | Single) -> list[Var]:
        """Variables whose memory a step reads."""
        if isinstance(step, Single):
            return step.reads
        assert step.graph is not None
        return [n.var for n in step.graph.nodes if n.kind in ("load", "gather")]


def draw_graph(source: Source, step: Fused, box: Any) -> Graph:
    """The graph of a nest over a box: of the results that have elements there."""
    here = {r.var for r in step.roots if r.kind == "store"}
    graph = Graph(source, box, here)
    for root in step.roots:
        if any(low >= n for (low, _), n in zip(box, root.shape, strict=True)):
            continue
        for axis, (n, m) in enumerate(zip(root.shape, step.domain, strict=True)):
            if n is not m and n != m and box[axis][0] < n < box[axis][1]:
                graph.edges.add((axis, n))
        node = graph.node(root.value, identity(len(root.shape)))
        graph.convert_node(node, root.var.type) if root.kind != "store" else node
    return graph


def _join_domains(domain: tuple[Any, ...], shape: Sequence[Any]) -> tuple[Any, ...] | None:
    """The domain of a nest that also covers a shape: equal, or a little longer along one axis."""
    if domain == tuple(shape):
        return domain
    different = [k for k, (n, m) in enumerate(zip(domain, shape, strict=True)) if n != m]
    if len(different) != 1 or math.prod(domain) == 0 or math.prod(shape) == 0:
        return None
    (k,) = different
    n, m = domain[k], shape[k]
    if abs(n - m) > 4 or min(n, m) < 8:
        return None
    return (*domain[:k], max(n, m), *domain[k + 1 :])
