"""Products of a constant matrix with one vector in every iteration, done for all iterations at once.

W xₜ, where xₜ is scanned or computed from what is scanned, is known before the loop starts: X Wᵀ is one product of
matrices, and the loop scans its rows. Likewise a product that goes into a stack and nothing else, yₜ = V hₜ, is H Vᵀ
behind the loop, where h is stacked in place of y. The equations between (elementwise ones, views) move along, stacked
by their batching rules. A product of matrices reads W once for many vectors; it pays where W is not small, and as long
as the stacks do not grow much.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.record import record_program
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType, Value
from adjoint.simplify.costs import cost, elements
from adjoint.simplify.loops.accumulate import stack_rows
from adjoint.simplify.loops.branches import inline
from adjoint.simplify.loops.parts import Loop, Renaming, acts, open_loop, resolve, substitute

SETTLED = "_without_products"  # on an equation: there is nothing to do, as long as it is this equation
SMALLEST_MATRIX = 256  # elements of the constant factor
MOST_ROWS = 8  # of the other factor; a product with many rows is quick in the loop
FEWEST_ITERATIONS = 8
MOST_STACKED = 1 << 24  # elements of a stack that is made for it
GROWTH = 4  # a stack may be that much larger than those it is made of
SHORT = 16  # elements of a row that leave registers empty
LONG = 8.0  # cost, for each element stacked, that is worth a pass over memory
DEAREST = 64.0  # cost of an element of the equations that move along


def batch_products(program: Program) -> Program:
    """The program with products of constant matrices before and behind its loops."""
    equations: list[Equation] = []
    constants = dict(program.constants)
    renaming: Renaming = {}
    changed = False
    for eq in program.equations:
        (eq,) = substitute([eq], renaming)
        loop = open_loop(eq) if SETTLED not in eq.__dict__ else None
        if loop is None or loop.test is not None or loop.length is None or loop.length < FEWEST_ITERATIONS:
            equations.append(eq)
            continue
        mover = _Mover(loop, constants)
        before = mover.before()
        behind = mover.behind(renaming)
        changed |= loop.changed
        closed = loop.close()
        closed.__dict__[SETTLED] = True
        equations += [*before, closed, *behind]
    if not changed:
        return program
    outputs = tuple([resolve(a, renaming) for a in program.outputs])
    return Program(program.inputs, tuple(equations), outputs, constants)


class _Mover:
    """Moves equations of one loop out of it, stacked."""

    def __init__(self, loop: Loop, constants: dict[Var, Value]) -> None:
        self.loop, self.constants = loop, constants

    def _levels(self) -> dict[Var, int]:
        """0 for what never changes, 1 for what depends on the arrays scanned alone, 2 for the rest."""
        loop = self.loop
        level: dict[Var, int] = {v: 0 for v, _ in loop.constants} | dict.fromkeys(loop.values, 0)
        level |= {v: 1 for v, _ in loop.scanned} | {c.inside: 2 for c in loop.carries}
        for eq in loop.equations:
            own = max((level[a] for a in eq.inputs if isinstance(a, Var)), default=0)
            if not _has_rule(eq):
                own = 2
            level.update(dict.fromkeys(eq.outputs, own))
        return level

    def _is_product(self, eq: Equation, level: dict[Var, int]) -> bool:
        """Whether an equation is a product of a constant matrix that is not small with few rows."""
        has_few_rows = FEW_ROWS.get(eq.op)
        if has_few_rows is None or len(eq.inputs) != 2:
            return False
        a, b = eq.inputs
        if isinstance(a, Literal) or isinstance(b, Literal) or min(level[a], level[b]) != 0 or a.type.ndim == 0:
            return False
        matrix, rest = (a, b) if level[a] == 0 else (b, a)
        if level[rest] == 0 or matrix.type.ndim != 2 or elements(matrix.type) < SMALLEST_MATRIX:
            return False
        return has_few_rows(rest.type, rest is a)

    def before(self) -> list[Equation]:
        """Products with what is scanned: before the loop."""
        loop = self.loop
        if not loop.scanned or not any(eq.op in FEW_ROWS for eq in loop.equations):
            return []
        level = self._levels()
        makers = {v: eq for eq in loop.equations for v in eq.outputs}
        roots = [eq for eq in loop.equations if eq.outputs and level[eq.outputs[0]] == 1]
        roots = [eq for eq in roots if self._is_product(eq, level) and self._pays_before(eq, makers, level)]
        if not roots:
            return []
        chosen = _ancestors(roots, makers)
        equations, products = self._whole(
            [eq for eq in loop.equations if eq in chosen], [eq.outputs[0] for eq in roots]
        )
        renaming: Renaming = {}
        for eq, outside in zip(roots, products, strict=True):
            inside = Var(eq.outputs[0].type)
            assert isinstance(outside, Var), "a product is no number"
            loop.scanned.append((inside, outside))
            renaming[eq.outputs[0]] = inside
        done = set(roots)
        loop.equations = [eq for eq in loop.equations if eq not in done]
        loop.substitute(renaming)
        return equations

    def _pays_before(self, root: Equation, makers: dict[Var, Equation], level: dict[Var, int]) -> bool:
        loop = self.loop
        chosen = _ancestors([root], makers)
        moving = [eq for eq in chosen if level[eq.outputs[0]] == 1]
        arrays = {v for v, _ in loop.scanned}
        arrays_read = {a for eq in moving for a in eq.inputs if isinstance(a, Var) and a in arrays}
        size = elements(root.outputs[0].type)
        if (
            not arrays_read
            or size > GROWTH * sum(elements(v.type) for v in arrays_read)
            or (loop.length or 0) * size > MOST_STACKED
        ):
            return False
        return all(_is_cheap(eq) for eq in moving if eq is not root)

    def behind(self, renaming: Renaming) -> list[Equation]:
        """Products that only stacks need: behind the loop, with what they are made of stacked instead."""
        loop = self.loop
        tail = self._tail()
        if not tail:
            return []
        level = self._levels()
        moving = [eq for eq in loop.equations if eq in tail]
        if not self._is_free(moving, level):
            roots = [eq for eq in moving if self._is_product(eq, level)]
            moving = _descendants(roots, loop.equations)
            if not roots or not self._pays_behind(moving, level):
                return []
        moved = _outputs(moving)
        results = {v: a for a, v in loop.ys if isinstance(a, Var) and a in moved}
        loop.ys = [(a, v) for a, v in loop.ys if a not in moved]
        makers = {v: eq for eq in loop.equations for v in eq.outputs if level[v] == 0}
        views = _ancestors([makers[a] for eq in moving for a in eq.inputs if a in makers], makers)
        done = set(moving)
        equations, stacks = self._whole(
            [eq for eq in loop.equations if eq in views or eq in done], list(results.values())
        )
        loop.equations = [eq for eq in loop.equations if eq not in done]
        loop.changed = True
        renaming.update(zip(results, stacks, strict=True))
        return equations

    def _tail(self) -> set[Equation]:
        """The equations that only stacks need."""
        loop = self.loop
        tail: set[Equation] = set()
        if not loop.ys:
            return tail
        needed: set[Atom] = {c.next for c in loop.carries}
        stacks = {a for a, _ in loop.ys}
        for eq in reversed(loop.equations):
            if any(v in needed for v in eq.outputs) or not _has_rule(eq):
                needed.update(eq.inputs)
            elif eq.outputs[0] in stacks:
                tail.add(eq)
                stacks.update(eq.inputs)
        return tail

    def _stacks(self, moving: list[Equation], level: dict[Var, int]) -> tuple[int, int]:
        """The elements that would be stacked in one iteration in place of others, and those others."""
        loop, moved = self.loop, _outputs(moving)
        at_hand = {v for v, _ in loop.scanned} | {a for a, _ in loop.ys}
        read = {a for eq in moving for a in eq.inputs if isinstance(a, Var) and a not in moved and level[a] > 0}
        new = sum(elements(v.type) for v in read if v not in at_hand)
        return new, sum(elements(a.type) for a in moved if a in at_hand)

    def _pays_behind(self, moving: list[Equation], level: dict[Var, int]) -> bool:
        new, freed = self._stacks(moving, level)
        if not freed or new > GROWTH * freed or (self.loop.length or 0) * new > MOST_STACKED:
            return False
        return all(_is_cheap(eq) or self._is_product(eq, level) for eq in moving)

    def _is_free(self, moving: list[Equation], level: dict[Var, int]) -> bool:
        """Whether all that only stacks need can be done behind the loop from stacks that are there.

        Short rows of functions that take long may be stacked for it: all iterations together fill the registers.
        """
        new, freed = self._stacks(moving, level)
        if not freed or new > freed or not all(_is_cheap(eq) for eq in moving):
            return False
        if new == 0:
            return True
        short = max(elements(eq.outputs[0].type) for eq in moving) <= SHORT
        return short and sum(map(cost, moving)) >= LONG * new

    def _whole(self, moving: Sequence[Equation], results: Sequence[Var]) -> tuple[list[Equation], list[Atom]]:
        """Equations of the body for all iterations at once: (equations outside, what the results are called there)."""
        loop = self.loop
        iterations = loop.length or 0
        constants, moved = dict(loop.constants), _outputs(moving)
        leaves = list(dict.fromkeys(a for eq in moving for a in eq.inputs if isinstance(a, Var) and a not in moved))
        mapped = {v: v not in constants and v not in loop.values for v in leaves}
        arguments: list[Atom] = []
        for v in leaves:
            if mapped[v]:
                arguments.append(stack_rows(loop, v))
            elif v in constants:
                arguments.append(constants[v])
            else:
                constant = Var(v.type)
                self.constants[constant] = loop.values[v]
                arguments.append(constant)

        def whole(*values_read: Value) -> list[Value]:
            values: dict[Var, Value] = dict(zip(leaves, values_read, strict=True))
            is_stacked = dict(mapped)
            for eq in moving:
                xs = [values[a] if isinstance(a, Var) else a.value for a in eq.inputs]
                batched = [isinstance(a, Var) and is_stacked[a] for a in eq.inputs]
                is_stacked[eq.outputs[0]] = any(batched)
                values[eq.outputs[0]] = STACKED[eq.op](eq.op, xs, batched, iterations) if any(batched) else eq.op(*xs)
            return [
                values[v] if is_stacked[v] else np.broadcast_to(values[v], (iterations, *v.type.shape)) for v in results
            ]

        kinds = [ArrayType((iterations, *v.type.shape), v.type.dtype) if mapped[v] else v.type for v in leaves]
        with np.errstate(divide="ignore" if any(eq.quiet for eq in moving) else None):
            program, _ = record_program(whole, kinds)
        equations: list[Equation] = []
        outputs = inline(program, arguments, equations, self.constants)
        at = moving[0]
        located = [dataclasses.replace(eq, location=at.location, scope=at.scope, pulled=at.pulled) for eq in equations]
        return located, outputs


# (type of the factor that varies, whether it is the first) → whether it has few rows
FEW_ROWS: RuleTable[Callable[[ArrayType, bool], bool]] = RuleTable("products with few rows")
# (primitive, arguments, which of them are stacked, iterations) → the result for all iterations at once
STACKED: RuleTable[Callable[[Any, list[Value], list[bool], int], Value]] = RuleTable("all iterations at once")


@FEW_ROWS.rule(Einsum)
def is_vector(rest: ArrayType, is_first: bool) -> bool:
    return rest.ndim == 1


@FEW_ROWS.rule(MatMul)
def is_narrow(rest: ArrayType, is_first: bool) -> bool:
    if rest.ndim != 2:
        return rest.ndim == 1
    return rest.shape[0] <= MOST_ROWS if is_first else rest.shape[1] == 1


@STACKED.rule(Op)
def stack_by_batching(op: Op, xs: list[Value], mapped: list[bool], iterations: int) -> Value:
    return op.batch(xs, mapped, iterations)


@STACKED.rule(MatMul)
def stack_matmul(op: MatMul, xs: list[Value], mapped: list[bool], iterations: int) -> Value:
    """A product with a constant matrix is one product, not one for each iteration."""
    if mapped == [True, False] and xs[0].ndim == 3 and xs[1].ndim == 2:
        (_, rows, columns), width = xs[0].shape, xs[1].shape[1]
        rows_of_all = np.reshape(xs[0], (iterations * rows, columns))
        return np.reshape(np.matmul(rows_of_all, xs[1]), (iterations, rows, width))
    if mapped == [False, True] and xs[0].ndim == 2 and xs[1].shape[2:] == (1,):
        product = np.matmul(np.reshape(xs[1], (iterations, xs[1].shape[1])), np.swapaxes(xs[0], 0, 1))
        return np.reshape(product, (*product.shape, 1))
    return op.batch(xs, mapped, iterations)


def _has_rule(eq: Equation) -> bool:
    """Whether an equation can be done for all iterations at once."""
    return len(eq.outputs) == 1 and not eq.op.several and not acts(eq.op) and not eq.op.is_control


def _is_cheap(eq: Equation) -> bool:
    return cost(eq) <= DEAREST * elements(eq.outputs[0].type)


def _outputs(equations: Iterable[Equation]) -> set[Atom]:
    return {v for eq in equations for v in eq.outputs}


def _descendants(roots: Sequence[Equation], equations: Sequence[Equation]) -> list[Equation]:
    """Some equations, and those that need them, in order."""
    chosen, outputs = set(roots), _outputs(roots)
    for eq in equations:
        if eq in chosen or any(a in outputs for a in eq.inputs):
            chosen.add(eq)
            outputs.update(eq.outputs)
    return [eq for eq in equations if eq in chosen]


def _ancestors(roots: Sequence[Equation], makers: dict[Var, Equation]) -> set[Equation]:
    """The equations that some equations need, and these."""
    ancestors: set[Equation] = set()
    waiting = list(roots)
    while waiting:
        eq = waiting.pop()
        if eq not in ancestors:
            ancestors.add(eq)
            waiting += [makers[a] for a in eq.inputs if isinstance(a, Var) and a in makers]
    return ancestors
