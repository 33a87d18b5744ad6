"""Sums in the carry of a loop: outer products gathered into one product behind it, and sums that are added merged.

A carry s ← s + uₜ vₜᵀ that nothing else reads costs a pass over all of s in every iteration. The factors are stacked
instead (often they are stacked already), and behind the loop

    s = s₀ + Σₜ uₜ vₜᵀ = s₀ + Uᵀ V,    U = [u₁ … u_T]ᵀ, V = [v₁ … v_T]ᵀ

is one product of matrices. So with Σₜ Aₜ Bₜ, as long as what Aₜ and Bₜ share is short. Two sums a ← a + fₜ and
b ← b + gₜ of which only a + b is read are one sum, s ← s + (fₜ + gₜ). Both change the order of additions, hence the
last digits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.records import record
from adjoint.ops.arrays.contract import Einsum, MatMul
from adjoint.ops.arrays.rearrange import Reshape, Transpose
from adjoint.ops.elementwise.arithmetic import add, multiply, subtract
from adjoint.ops.elementwise.pointwise import ProductUfunc
from adjoint.program.op import Op
from adjoint.program.program import Atom, Equation, Literal, Program, Var
from adjoint.program.rule_table import RuleTable
from adjoint.program.types import ArrayType
from adjoint.simplify.costs import elements
from adjoint.simplify.loops.parts import Carry, Loop, open_loop

SIGNS: tuple[Op, Op] = (add, subtract)
SMALLEST_SUM = 64  # elements of a sum that is worth a product of its own
FEWEST_ITERATIONS = 8
LONGEST_SHARED = 16  # of the axis that is summed over in every iteration; longer products are quick in the loop
MOST_STACKED = 1 << 25  # elements of the stacks that are made for it


def move_sums_out(program: Program) -> Program:
    """The program with products that its loops add up behind the loops, and with fewer sums in their carries."""
    merged = _Sums(program).run()
    equations: list[Equation] = []
    for eq in merged.equations:
        loop = open_loop(eq)
        behind = _products_behind(loop) if loop is not None and _is_long(loop) else []
        equations += [loop.close(), *behind] if loop is not None and behind else [eq]
    if len(equations) == len(merged.equations):
        return merged
    return Program(merged.inputs, tuple(equations), merged.outputs, merged.constants)


def _is_long(loop: Loop) -> bool:
    return loop.test is None and loop.length is not None and loop.length >= FEWEST_ITERATIONS


class _Body:
    """The body of a loop: who makes a variable, and how often it is read."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.makers = {v: eq for eq in loop.equations for v in eq.outputs}
        self.reads: dict[Atom, int] = {}
        for a in (
            *[a for eq in loop.equations for a in eq.inputs],
            *[c.next for c in loop.carries],
            *[a for a, _ in loop.ys],
        ):
            self.reads[a] = self.reads.get(a, 0) + 1

    def maker(self, atom: Atom) -> Equation | None:
        """The equation that makes an atom."""
        return self.makers.get(atom) if isinstance(atom, Var) else None

    def added(self, carry: Carry) -> tuple[Op, Atom] | None:
        """(±, fₜ), if the carry is a sum s ← s ± fₜ that nothing else reads."""
        eq = self.maker(carry.next)
        if eq is None or eq.op not in SIGNS or self.reads[carry.next] != 1 or self.reads.get(carry.inside) != 1:
            return None
        a, b = eq.inputs
        other = b if a is carry.inside else a if b is carry.inside and eq.op is add else None
        return (eq.op, other) if other is not None and other.type.shape == carry.inside.type.shape else None

    def terms(self, atom: Atom) -> list[Atom]:
        """The terms of a sum whose partial sums nothing else reads."""
        eq = self.maker(atom)
        if eq is None or eq.op is not add or self.reads[atom] != 1:
            return [atom]
        if any(a.type.shape != atom.type.shape or a.type.dtype != atom.type.dtype for a in eq.inputs):
            return [atom]
        return [t for a in eq.inputs for t in self.terms(a)]


@record(frozen=False)
class _Factor:
    """One factor of Σₜ Aₜ Bₜ: a variable of the body whose rows, stacked and reshaped, are (T·k, n)."""

    base: Var
    turned: bool  # base is (n, k): each of its stacked matrices has to be turned over


@record(frozen=False)
class _Product:
    """A term c uₜ vₜᵀ, or c Aₜ Bₜ with a short axis k between them; flipped: the term is its transpose."""

    left: _Factor
    right: _Factor
    rows: int
    shared: int
    columns: int
    flipped: bool
    scales: tuple[Literal, ...]  # numbers whose product is c


def _products_behind(loop: Loop) -> list[Equation]:
    """Take products out of the sums of a loop; the equations that add them up behind it."""
    body = _Body(loop)
    behind: list[Equation] = []
    for carry in list(loop.carries):
        added = body.added(carry)
        if added is None or elements(carry.inside.type) < SMALLEST_SUM or carry.inside.type.dtype.kind not in "fc":
            continue
        sign, total = added
        terms = body.terms(total)
        products = {t: p for t in terms if (p := _product(body, t)) is not None and _pays(loop, p)}
        if not products:
            continue
        rest = [t for t in terms if t not in products]
        base, result = carry.start, carry.result
        loop.equations = [eq for eq in loop.equations if carry.next not in eq.outputs]
        if rest:
            _write_sum(loop, carry, sign, rest)
            base = carry.result = Var(result.type)
        else:
            loop.carries.remove(carry)
        for position, product in enumerate(products.values()):
            last = position == len(products) - 1
            base = _write_product(loop, product, sign, base, result if last else Var(result.type), behind)
        loop.changed = True
    return behind


def _write_sum(loop: Loop, carry: Carry, sign: Op, terms: list[Atom]) -> None:
    total: Atom = carry.inside
    for term in terms:
        new = Var(carry.inside.type)
        loop.equations.append(dataclasses.replace(loop.equation, op=sign, inputs=(total, term), outputs=(new,)))
        total = new
    carry.next = total


def _product(body: _Body, atom: Atom) -> _Product | None:
    """The two factors of a term, if it is a product of two matrices that vary."""
    flipped = False
    dtype = atom.type.dtype
    scales: list[Literal] = []
    while (eq := body.maker(atom)) is not None:
        numbers = [a for a in eq.inputs if isinstance(a, Literal)] if eq.op is multiply else []
        if len(numbers) == 1 and body.reads[atom] == 1:
            scales += numbers
            (atom,) = [a for a in eq.inputs if isinstance(a, Var)]
            continue
        view = VIEWS.get(eq.op)
        flip = view(eq.op, eq.inputs[0].type, atom.type) if view is not None else None
        if flip is None:
            break
        flipped ^= flip
        atom = eq.inputs[0]
    if eq is None or len(eq.inputs) != 2 or atom.type.dtype != dtype:  # it is added up in the precision of the sum
        return None
    a, b = eq.inputs
    if isinstance(a, Literal) or isinstance(b, Literal) or a.type.dtype != b.type.dtype:
        return None
    product_sizes = PRODUCTS.get(eq.op)
    sizes = product_sizes(eq.op, a.type, b.type, atom.type) if product_sizes is not None else None
    if sizes is None:
        return None
    rows, shared, columns = sizes
    left, right = _factor(body, a, rows, shared, is_left=True), _factor(body, b, columns, shared, is_left=False)
    return _Product(left, right, rows, shared, columns, flipped, tuple(scales))


# (primitive, types of the source and of the view) → whether the view is the transpose of its source, up to axes of
# size one; None: neither that nor the source itself
VIEWS: RuleTable[Callable[[Any, ArrayType, ArrayType], bool | None]] = RuleTable("views of a product")
# (primitive, types of the factors and of the product) → (rows, shared, columns) of u vᵀ or A B; None: no such product
PRODUCTS: RuleTable[Callable[[Any, ArrayType, ArrayType, ArrayType], tuple[int, int, int] | None]] = RuleTable(
    "products in sums"
)


@VIEWS.rule(Reshape)
def is_reshape_flipped(op: Reshape, source: ArrayType, view: ArrayType) -> bool | None:
    return False if [n for n in source.shape if n != 1] == [n for n in view.shape if n != 1] else None


@VIEWS.rule(Transpose)
def is_transpose_flipped(op: Transpose, source: ArrayType, view: ArrayType) -> bool | None:
    return op.axes == (1, 0) if source.ndim == 2 else None


@PRODUCTS.rule(MatMul)
def matmul_sizes(op: MatMul, a: ArrayType, b: ArrayType, product: ArrayType) -> tuple[int, int, int] | None:
    return (a.shape[0], a.shape[1], b.shape[1]) if a.ndim == b.ndim == 2 else None


@PRODUCTS.rule(ProductUfunc)
def broadcast_sizes(op: ProductUfunc, a: ArrayType, b: ArrayType, product: ArrayType) -> tuple[int, int, int] | None:
    """u vᵀ as a product that broadcasts a column and a row."""
    shape = product.shape
    if op is not multiply or len(shape) != 2 or shape[1] == 1:
        return None
    is_outer = a.shape == (shape[0], 1) and b.shape in ((1, shape[1]), (shape[1],))
    return (elements(a), 1, elements(b)) if is_outer else None


@PRODUCTS.rule(Einsum)
def einsum_sizes(op: Einsum, a: ArrayType, b: ArrayType, product: ArrayType) -> tuple[int, int, int] | None:
    inputs, output = op.spec.split("->")
    is_outer = inputs == f"{output[:1]},{output[1:]}" and len(output) == 2
    return (elements(a), 1, elements(b)) if is_outer else None


def _factor(body: _Body, atom: Var, length: int, shared: int, *, is_left: bool) -> _Factor:
    """A factor through the views that make it: a column, a row and a vector are stacked alike."""
    while True:
        eq = body.makers.get(atom)
        if eq is None or not isinstance(eq.inputs[0] if eq.inputs else None, Var):
            break
        source = eq.inputs[0]
        assert isinstance(source, Var)
        if shared == 1 and eq.op in VIEWS and elements(source.type) == length:
            atom = source
        elif shared > 1 and eq.op == Transpose((1, 0)):
            atom, is_left = source, not is_left
        else:
            break
    return _Factor(atom, turned=is_left and shared > 1)


def _pays(loop: Loop, product: _Product) -> bool:
    """Whether reading the factors again behind the loop costs less than adding the product in every iteration."""
    at_hand = {v for v, _ in loop.scanned} | {a for a, _ in loop.ys}
    new = sum(elements(f.base.type) for f in (product.left, product.right) if f.base not in at_hand)
    iterations = loop.length or 0
    if product.shared > LONGEST_SHARED or iterations * new > MOST_STACKED:
        return False
    constant = {v for v, _ in loop.constants} | set(loop.values)
    if product.left.base in constant or product.right.base in constant:
        return False
    return 2 * new <= product.rows * product.columns


def _write_product(loop: Loop, product: _Product, sign: Op, base: Atom, result: Var, behind: list[Equation]) -> Var:
    """result = base ± Uᵀ V behind the loop."""

    def write(op: Op, *inputs: Atom, out: Var | None = None) -> Var:
        v = out if out is not None else Var(op.result_type(*[a.type for a in inputs]))
        behind.append(dataclasses.replace(loop.equation, op=op, inputs=inputs, outputs=(v,)))
        return v

    def rows(factor: _Factor, width: int) -> Var:
        stack = stack_rows(loop, factor.base)
        if factor.turned:
            stack = write(Transpose((0, 2, 1)), stack)
        shape = ((loop.length or 0) * product.shared, width)
        return stack if stack.type.shape == shape else write(Reshape(shape), stack)

    left, right = rows(product.left, product.rows), rows(product.right, product.columns)
    if product.flipped:
        left, right = right, left
    total = write(MatMul(), write(Transpose((1, 0)), left), right)
    for scale in product.scales:
        total = write(multiply, total, scale)
    if total.type.shape != result.type.shape:
        total = write(Reshape(tuple(result.type.shape)), total)
    return write(sign, base, total, out=result)


def stack_rows(loop: Loop, v: Var) -> Var:
    """The rows of a variable of the body, outside; they are stacked if they were not at hand."""
    for inside, outside in loop.scanned:
        if inside is v and isinstance(outside, Var):
            return outside
    for inside, outside in loop.ys:
        if inside is v:
            return outside
    stack = Var(ArrayType((loop.length, *v.type.shape), v.type.dtype))
    loop.ys.append((v, stack))
    loop.changed = True
    return stack


class _Sums:
    """Sums in the carries of loops of which a program reads nothing but their sum."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.loops = {i: loop for i, eq in enumerate(program.equations) if (loop := open_loop(eq)) is not None}
        self.reads: dict[Atom, int] = {}
        for a in (*[a for eq in program.equations for a in eq.inputs], *program.outputs):
            self.reads[a] = self.reads.get(a, 0) + 1

    def run(self) -> Program:
        p = self.program
        owner = {c.result: (i, c) for i, loop in self.loops.items() if loop.test is None for c in loop.carries}
        if not owner:
            return p
        bodies: dict[int, _Body] = {}
        dropped: set[int] = set()
        before: dict[int, list[Equation]] = {}
        for position, eq in enumerate(p.equations):
            if eq.op is not add or not all(a in owner and self.reads[a] == 1 for a in eq.inputs):
                continue
            (i, a), (j, b) = (owner[v] for v in eq.inputs if isinstance(v, Var))
            if i != j or a is b or a.inside.type != b.inside.type:
                continue
            loop = self.loops[i]
            body = bodies[i] = bodies.get(i) or _Body(loop)
            f, g = body.added(a), body.added(b)
            if f is None or g is None:
                continue
            if f[0] is subtract:
                f, g = g, f
            total, following = Var(a.inside.type), Var(a.inside.type)
            both = add if f[0] is g[0] else subtract  # f + g and -f - g, or f - g
            loop.equations += [
                dataclasses.replace(loop.equation, op=both, inputs=(f[1], g[1]), outputs=(total,)),
                dataclasses.replace(loop.equation, op=f[0], inputs=(a.inside, total), outputs=(following,)),
            ]
            dead = {a.next, b.next}
            loop.equations = [e for e in loop.equations if not dead.intersection(e.outputs)]
            loop.carries.remove(b)
            body.makers |= {total: loop.equations[-2], following: loop.equations[-1]}
            body.reads |= {total: 1, following: 1}
            a.start = self._add_starts(a.start, b.start, loop, before.setdefault(i, []))
            a.next, a.result = following, eq.outputs[0]
            owner[a.result] = (i, a)
            loop.changed = True
            dropped.add(position)
        if not dropped:
            return p
        equations: list[Equation] = []
        for i, eq in enumerate(p.equations):
            if i not in dropped:
                equations += [*before.get(i, ()), self.loops[i].close() if i in self.loops else eq]
        return Program(p.inputs, tuple(equations), p.outputs, p.constants)

    def _add_starts(self, a: Atom, b: Atom, loop: Loop, before: list[Equation]) -> Atom:
        """The sum of two starts; zeros, which they are as a rule, are left out."""
        if self._is_zero(b):
            return a
        if self._is_zero(a):
            return b
        total = Var(ArrayType(a.type.shape, a.type.dtype))
        before.append(dataclasses.replace(loop.equation, op=add, inputs=(a, b), outputs=(total,)))
        return total

    def _is_zero(self, atom: Atom) -> bool:
        value = atom.value if isinstance(atom, Literal) else self.program.constants.get(atom)
        return value is not None and not np.any(value)
