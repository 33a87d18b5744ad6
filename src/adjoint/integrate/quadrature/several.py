"""Integrals in several dimensions: one after the other with ends that are functions, or adaptively over a box.

Genz and Malik's pair of rules of degrees 7 and 5 (1980) measures a box, and the box with the largest error is cut in
two along the axis in which f bends most. As in one dimension the boxes stand in arrays, and the whole is one loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import vmap
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.integrate.derivative import detach, record_flat, types_of
from adjoint.integrate.quadrature.adaptive import (
    CONVERGED,
    MAX_INTERVALS,
    NOT_FINITE,
    RUNNING,
    Computed,
    is_unseen,
    make_zeros,
)
from adjoint.integrate.quadrature.integral import Integral, inner, quad
from adjoint.integrate.system import Arguments, read_state, trace_function
from adjoint.linear.solvers.iteration import TRACED, both, either, loop, with_entry
from adjoint.ops.custom import Attach
from adjoint.optimize.iteration import as_code
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value
from adjoint.transform.custom import BatchedRule
from adjoint.transform.subprograms import jvp_program, pulled

__all__ = ["cubature", "nquad"]


@user_facing
def nquad(
    f: Callable[..., Any], ranges: Sequence[Any], *, args: Sequence[Any] = (), rtol: float = 1e-9, atol: float = 1e-11,
    method: str = "gauss-kronrod",
) -> Integral:  # fmt: skip
    """∫ … ∫ f(x₀, x₁, …, *args) dx₀ dx₁ …, where `ranges` has a pair (a, b) for each, or a function of the later ones.

    As SciPy has it: ranges[0] is that of the innermost integral and may depend on x₁, x₂, …. Inner integrals are ten
    times as accurate as outer ones.

    ```python
    width = lambda y: np.sqrt(1.0 - y * y)
    disk = ad.integrate.nquad(lambda x, y: 1.0, [lambda y: (-width(y), width(y)), (-1.0, 1.0)])
    float(np.round(disk.value, 6))  # → 3.141593
    ```
    """
    if not ranges:
        raise ValueError("integrate.nquad: ranges is empty; it has one pair (a, b) for each variable.")

    def over(level: int, later: tuple[Any, ...]) -> Any:
        """The integral over the variables below a level, at given later ones."""
        given: Any = ranges[level]
        ends: Any = given(*later) if callable(given) else given
        a, b = ends
        body = prepare(f) if level == 0 else None

        def integrand(x: Any, *later: Any) -> Any:
            return body(x, *later, *args) if body is not None else over(level - 1, (x, *later)).value

        factor = 10.0 ** (level - len(ranges) + 1)
        return quad(integrand, a, b, args=later, rtol=factor * rtol, atol=factor * atol, method=method)

    found = over(len(ranges) - 1, ())
    return Integral(found.value, found.error, found.code, found.evaluations, f"integrate.nquad by {method}")


# Genz and Malik's nodes: λ₂² = 9/70, λ₃² = λ₄² = 9/10, λ₅² = 9/19.
_L2, _L4, _L5 = (9 / 70) ** 0.5, (9 / 10) ** 0.5, (9 / 19) ** 0.5


def _genz_malik(n: int) -> tuple[Any, Any, Any]:
    """Nodes on [-1, 1]ⁿ, weights of degree 7 and of degree 5; the first 4 n + 1 nodes are those of the axes."""
    eye = np.eye(n)
    nodes = [np.zeros((1, n)), *[s * l * eye for l in (_L2, _L4) for s in (1.0, -1.0)]]
    pairs = [s * _L4 * eye[i] + t * _L4 * eye[j] for i, j in itertools.combinations(range(n), 2)
             for s in (1, -1) for t in (1, -1)]  # fmt: skip
    corners = _L5 * np.array(list(itertools.product([1.0, -1.0], repeat=n)))
    nodes = np.concatenate([*nodes, np.reshape(pairs, (-1, n)), corners])
    seven = [
        (12824 - 9120 * n + 400 * n * n) / 19683,
        980 / 6561,
        (1820 - 400 * n) / 19683,
        200 / 19683,
        6859 / 19683 / 2**n,
    ]
    five = [(729 - 950 * n + 50 * n * n) / 729, 245 / 486, (265 - 100 * n) / 1458, 25 / 729, 0.0]
    counts = [1, 2 * n, 2 * n, len(pairs), 2**n]
    return nodes, np.repeat(seven, counts), np.repeat(five, counts)


def _cube(f: Callable[[Value], Value], low: Any, high: Any, rtol: float, atol: float, most: int, size: int) -> Computed:
    n = low.shape[0]
    nodes, seven, five = _genz_malik(n)
    ratio = (_L2 / _L4) ** 2

    def measure(a: Value, b: Value) -> tuple[Value, Value, Value, Value]:
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        values = f(middle + half * nodes)
        volume = np.prod(2.0 * half)
        fine, coarse = volume * (seven @ values), volume * (five @ values)
        # fourth differences along the axes
        center = values[0]
        near = values[1 : n + 1] + values[n + 1 : 2 * n + 1] - 2 * center
        far = values[2 * n + 1 : 3 * n + 1] + values[3 * n + 1 : 4 * n + 1] - 2 * center
        bent = np.sum(np.abs(near - ratio * far), axis=1)
        # among equal bends the widest axis is cut
        widths = np.abs(half) / np.where(volume == 0, 1.0, np.max(np.abs(half)))
        axis = np.argmax(np.where(np.max(bent) > 0, bent + 1e-12 * np.max(bent) * widths, widths))
        mass = np.abs(volume) * np.max(np.abs(seven) @ np.abs(values))
        return fine, np.max(np.abs(fine - coarse)), axis, mass

    v, e, axis, mass = measure(low, high)
    like = e + 0.0 * low[0]
    lows = with_entry(make_zeros((most, n), np.float64, like), 0, low)
    highs = with_entry(make_zeros((most, n), np.float64, like), 0, high)
    values = with_entry(make_zeros((most, size), v.dtype, like), 0, v)
    errors = with_entry(make_zeros((most,), np.float64, like), 0, e)
    masses = with_entry(make_zeros((most,), np.float64, like), 0, mass)
    axes = with_entry(make_zeros((most,), np.int64, like), 0, axis)

    def judge(values: Value, errors: Value, masses: Value, count: Value) -> Value:
        total, error = np.sum(values, axis=0), np.sum(errors)
        small = error <= np.maximum(atol, rtol * np.max(np.abs(total)))
        unseen = both(is_unseen(error, np.sum(masses), rtol, count, most), np.all(low != high))
        code = either(small, either(unseen, RUNNING, CONVERGED), either(count >= most, MAX_INTERVALS, RUNNING))
        return as_code(either(both(np.all(np.isfinite(total)), np.isfinite(error)), code, NOT_FINITE))

    def step(now: Any) -> Any:
        lows, highs, values, errors, masses, axes, count, _ = now
        volumes = np.abs(np.prod(highs - lows, axis=1))
        worst = np.argmax(np.where(np.max(errors) == 0, volumes, errors))
        a, b, cut = lows[worst] + 0.0, highs[worst] + 0.0, axes[worst] + 0
        middle = 0.5 * (a + b)
        chosen = np.arange(n) == cut
        v1, e1, k1, m1 = measure(a, np.where(chosen, middle, b))
        v2, e2, k2, m2 = measure(np.where(chosen, middle, a), b)
        put = lambda array, first, second: with_entry(with_entry(array, worst, first), count, second)
        values, errors, axes = put(values, v1, v2), put(errors, e1, e2), put(axes, k1, k2)
        masses = put(masses, m1, m2)
        lows, highs = put(lows, a, np.where(chosen, middle, a)), put(highs, np.where(chosen, middle, b), b)
        return lows, highs, values, errors, masses, axes, count + 1, judge(values, errors, masses, count + 1)

    start = (lows, highs, values, errors, masses, axes, np.int64(1), judge(values, errors, masses, np.int64(1)))
    _, _, values, errors, _, _, count, code = loop(lambda now: now[7] == RUNNING, step, start)
    return Computed(np.sum(values, axis=0), np.sum(errors), code, (2 * count - 1) * len(nodes), low, high)


class _CubeRule:
    """The derivative of an integral over a box: that of the integrand, and integrals over the faces that move."""

    title = "cubature"

    def __init__(self, program: Program, how: tuple[float, float, int]) -> None:
        self.program, self.how = program, how

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CubeRule) and (self.program, self.how) == (other.program, other.how)

    def __hash__(self) -> int:
        return hash(self.how)

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        low, high, *theta = xs
        dlow, dhigh, *dtheta = dxs
        types = self.program.output_types
        result = [np.zeros(t.shape, t.dtype) for t in types]
        active = [d is not None for d in dtheta]
        if any(active):
            count = len(types)
            derived, _ = jvp_program(self.program, (False, False, *active), (True,) * count)
            tangents = Program(derived.inputs, derived.equations, derived.outputs[count:], derived.constants)
            moved = [d for d in dtheta if d is not None]
            result = [
                r + v
                for r, v in zip(result, _integrate(tangents, self.how, low, high, [*theta, *moved])[0], strict=True)
            ]
        for axis in range(low.shape[0]):
            for end, tangent, sign in ((low, dlow, -1.0), (high, dhigh, 1.0)):
                if tangent is not None:
                    face = self._face(axis, end[axis], low, high, theta)
                    result = [r + sign * tangent[axis] * v for r, v in zip(result, face, strict=True)]
        return result

    def _face(self, axis: int, at: Value, low: Value, high: Value, theta: Sequence[Value]) -> list[Value]:
        """The integral over the face where one variable is fixed."""
        n = low.shape[0]
        rest = [i for i in range(n) if i != axis]
        position = np.array([rest.index(i) if i != axis else 0 for i in range(n)])
        chosen = np.arange(n) == axis
        program = self.program
        if n == 1:
            return interpret(program, [np.float64(0.0), np.reshape(at, (1,)), *theta])

        def on_face(unused: Value, x: Value, at: Value, *given: Value) -> list[Value]:
            return interpret(program, [unused, np.where(chosen, at, x[position]), *given])

        zero = np.float64(0.0)
        made, captured = record_flat(on_face, types_of([zero, low[rest], at, *theta]))
        return _integrate(made, self.how, low[rest], high[rest], [at, *theta, *captured])[0]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        low, high, *theta = xs
        result: list[Value] = [None] * len(xs)
        needed, program, n = list(wanted[2:]), self.program, len(theta)
        if any(needed):

            def back(unused: Value, x: Value, *given: Value) -> list[Value]:
                found = pulled(program, [unused, x, *given[:n]], [False, False, *needed], given[n:])
                kept = [(ct, v) for ct, v, w in zip(found[2:], given[:n], needed, strict=True) if w]
                return [0.0 * x[0] + (np.zeros(v.shape, v.dtype) if ct is None else ct) for ct, v in kept]

            made, captured = record_flat(back, types_of([np.float64(0.0), low, *theta, *cts]))
            parts = iter(_integrate(made, self.how, low, high, [*theta, *cts, *captured])[0])
            result[2:] = [next(parts) if w else None for w in needed]
        for number, (end, sign) in enumerate(((low, -1.0), (high, 1.0))):
            if wanted[number]:
                faces = [self._face(axis, end[axis], low, high, theta) for axis in range(low.shape[0])]
                result[number] = np.stack([sign * inner(face, cts) for face in faces])
        return result

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def _integrate(
    program: Program, how: tuple[float, float, int], low: Value, high: Value, theta: Sequence[Value]
) -> tuple[list[Value], Computed]:
    rtol, atol, most = how
    types = program.output_types
    a, b, *rest = detach([low, high, *theta])
    size = sum(t.size * (2 if t.dtype.kind == "c" else 1) for t in types)

    def f(points: Value) -> Value:
        return vmap(lambda x: to_vector(interpret(program, [np.float64(0.0), x, *rest]), types))(points)

    with np.errstate(all="ignore"):
        if low.shape[0] == 1:
            line = lambda x: tuple(interpret(program, [np.float64(0.0), np.reshape(x, (1,)), *rest]))
            one = quad(line, a[0], b[0], rtol=rtol, atol=atol)
            found = Computed(to_vector(list(one.value), types), one.error, one.code, one.evaluations, a, b)
        else:
            found = _cube(f, a, b, rtol, atol, most, size)
    values = to_arrays(found.value, types)
    attached = list(Attach(_CubeRule(program, how), len(values))(*detach(values), low, high, *theta))
    return attached, found._replace(error=detach([found.error])[0])


@user_facing
def cubature(
    f: Callable[..., Any], low: Any, high: Any, *, args: Sequence[Any] = (), rtol: float = 1e-7, atol: float = 1e-10,
    max_boxes: int = 4000,
) -> Integral:  # fmt: skip
    """∫ f(x, *args) dx over the box low ≤ x ≤ high, where x is a vector: adaptive, for 1 to about 8 dimensions.

    The derivative in `args`, in what f closes over and in the corners is exact, to any order.

    ```python
    bell = lambda width: ad.integrate.cubature(lambda x: np.exp(-np.sum(x**2) / width), [0.0, 0.0], [1.0, 1.0]).value
    float(np.round(bell(1.0), 6)), float(np.round(ad.grad(bell)(1.0), 6))  # → (0.557746, 0.283005)
    ```
    """
    title = "integrate.cubature"
    ends = [v if isinstance(v, TRACED) else np.asarray(v, float) for v in (low, high)]
    if any(len(v.shape) != 1 for v in ends) or ends[0].shape != ends[1].shape or not ends[0].shape[0]:
        raise ShapeError(
            f"{title}: low has shape {ends[0].shape} and high {ends[1].shape}; they are vectors of one length."
        )
    if any(not isinstance(v, TRACED) and not np.all(np.isfinite(v)) for v in ends):
        raise ValueError(f"{title}: the box is not finite; substitute variables, or use nquad.")
    _, layout = read_state(title, "x", np.zeros(ends[0].shape))
    run = prepare(f)
    made = trace_function(title, "f", lambda _, x, *given: run(x, *given), layout, Arguments(args))
    how = (float(rtol), float(atol), int(max_boxes))
    values, found = _integrate(made.program, how, ends[0], ends[1], made.theta)
    value = tree.unflatten(made.structure, [v if v.shape else v[()] for v in values])
    return Integral(value, found.error, found.code, found.evaluations, f"{title} by Genz and Malik's rule")
