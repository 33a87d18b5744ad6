"""Integrals in several dimensions: one after the other with ends that are functions, or adaptively over a box.

Genz and Malik's pair of rules of degrees 7 and 5 (1980) measures a box, and the box with the largest error is cut in
two along the axis in which f bends most. As in one dimension the boxes stand in arrays, and the whole is one loop.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient, vmap
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.implicit.vectors import to_arrays, to_vector
from adjoint.integrate.derivative import detach, record_flat, types_of
from adjoint.integrate.quadrature.adaptive import (
    CONVERGED,
    LOOKING,
    MAX_INTERVALS,
    NO_PROGRESS,
    NOT_FINITE,
    RUNNING,
    Computed,
    Substitution,
    is_unseen,
    make_zeros,
)
from adjoint.integrate.quadrature.integral import Integral, inner, is_known_finite, quad
from adjoint.integrate.quadrature.jumps import STAND_STILL, may_jump, mean_size, warn_of_jumps
from adjoint.integrate.quadrature.reading import (
    read_box,
    read_count,
    read_function,
    read_integrand,
    read_tolerances,
)
from adjoint.integrate.quadrature.statuses import Doubts
from adjoint.linear.solvers.iteration import both, either, loop, with_entry
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
    method: str = "gauss-kronrod", check: str = "warn",
) -> Integral:  # fmt: skip
    """∫ … ∫ f(x₀, x₁, …, *args) dx₀ dx₁ …, where `ranges` has a pair (a, b) for each, or a function of the later ones.

    As SciPy has it: ranges[0] is that of the innermost integral and may depend on x₁, x₂, …. Inner integrals are ten
    times as accurate as outer ones. `check` is as in `quad`.

    ```python
    width = lambda y: np.sqrt(1.0 - y * y)
    disk = ad.integrate.nquad(lambda x, y: 1.0, [lambda y: (-width(y), width(y)), (-1.0, 1.0)])
    float(np.round(disk.value, 6))  # → 3.141593
    ```
    """
    title = "integrate.nquad"
    run = read_function(title, f, args, "f(x0, x1, …, *args)")
    tolerances = read_tolerances(title, rtol, atol)
    if not isinstance(ranges, tuple | list) or not ranges:
        raise ValueError(f"{title}: ranges is {'empty' if not ranges else repr(ranges)}; it has one pair (a, b) for "
                         "each variable.")  # fmt: skip
    last = len(ranges) - 1

    def over(level: int, later: tuple[Any, ...]) -> tuple[Integral, Any]:
        """The integral over the variables up to a level, at given later ones, and that of errors of failed ones."""
        a, b = _read_range(title, level, ranges[level], later)
        factor = 10.0 ** (level - last)
        how = {"args": later, "rtol": factor * tolerances[0], "atol": factor * tolerances[1], "method": method,
               "check": check}  # fmt: skip
        if level == 0:
            return quad(lambda x, *later: run(x, *later, *args), a, b, **how), 0.0

        def integrand(x: Any, *later: Any) -> Any:
            inner, failed = over(level - 1, (x, *later))
            return inner.value, failed + np.where(inner.converged, 0.0, stop_gradient(inner.error))

        found = quad(integrand, a, b, **how)
        return replace(found, value=found.value[0]), stop_gradient(np.abs(found.value[1]))

    found, failed = over(last, ())
    size = np.max(np.stack([np.max(np.abs(leaf)) for leaf in tree.leaves(stop_gradient(found.value))]))
    is_lost = failed > np.maximum(tolerances[1], tolerances[0] * size)
    code = as_code(np.where(np.logical_and(found.code == CONVERGED, is_lost), NO_PROGRESS, found.code))
    return Integral(found.value, found.error + failed, code, found.evaluations, f"{title} by {method}")


def _read_range(title: str, level: int, given: Any, later: tuple[Any, ...]) -> tuple[Any, Any]:
    """The ends of one variable."""
    name = f"ranges[{level}]"
    if callable(given):
        given = prepare(given)(*later)
        name += f" returned {given!r}; it"
    else:
        name += f" is {given!r}; it"
    is_pair = len(given.shape) == 1 and given.shape[0] == 2 if hasattr(given, "shape") else (
        isinstance(given, tuple | list) and len(given) == 2
    )  # fmt: skip
    if not is_pair:
        raise ValueError(f"{title}: {name} is a pair (a, b), or a function of the later variables that returns one.")
    return given[0], given[1]


MOST_DIMENSIONS = 15
LARGE = 4.0  # times the mean volume: boxes in which something may lie between all nodes
LOOKED_AT = 32  # boxes with the largest errors: jumps are there
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
    whole = np.abs(np.prod(high - low))
    like = e + 0.0 * low[0]
    lows = with_entry(make_zeros((most, n), np.float64, like), 0, low)
    highs = with_entry(make_zeros((most, n), np.float64, like), 0, high)
    values = with_entry(make_zeros((most, size), v.dtype, like), 0, v)
    errors = with_entry(make_zeros((most,), np.float64, like), 0, e)
    masses = with_entry(make_zeros((most,), np.float64, like), 0, mass)
    axes = with_entry(make_zeros((most,), np.int64, like), 0, axis)
    volumes = with_entry(make_zeros((most,), np.float64, like), 0, whole)

    def judge(values: Value, errors: Value, masses: Value, volumes: Value, count: Value) -> Value:
        total, error = np.sum(values, axis=0), np.sum(errors)
        small = error <= np.maximum(atol, rtol * np.max(np.abs(total)))
        unseen = both(is_unseen(error, np.sum(masses), rtol, count, most), np.all(low != high))
        large = both(np.max(volumes) * count > LARGE * whole, count < most)
        found = either(unseen, RUNNING, either(large, LOOKING, CONVERGED))
        code = either(small, found, either(count >= most, MAX_INTERVALS, RUNNING))
        return as_code(either(both(np.all(np.isfinite(total)), np.isfinite(error)), code, NOT_FINITE))

    def step(now: Any) -> Any:
        lows, highs, values, errors, masses, volumes, axes, count, code = now
        worst = np.argmax(np.where(np.logical_or(code == LOOKING, np.max(errors) == 0), volumes, errors))
        a, b, cut = lows[worst] + 0.0, highs[worst] + 0.0, axes[worst] + 0
        middle = 0.5 * (a + b)
        chosen = np.arange(n) == cut
        v1, e1, k1, m1 = measure(a, np.where(chosen, middle, b))
        v2, e2, k2, m2 = measure(np.where(chosen, middle, a), b)
        put = lambda array, first, second: with_entry(with_entry(array, worst, first), count, second)
        values, errors, axes = put(values, v1, v2), put(errors, e1, e2), put(axes, k1, k2)
        masses, half = put(masses, m1, m2), 0.5 * volumes[worst]
        volumes = put(volumes, half, half)
        lows, highs = put(lows, a, np.where(chosen, middle, a)), put(highs, np.where(chosen, middle, b), b)
        code = judge(values, errors, masses, volumes, count + 1)
        return lows, highs, values, errors, masses, volumes, axes, count + 1, code

    code = judge(values, errors, masses, volumes, np.int64(1))
    start = (lows, highs, values, errors, masses, volumes, axes, np.int64(1), code)
    lows, highs, values, errors, *_, count, code = loop(lambda now: now[-1] <= RUNNING, step, start)
    worst = np.argsort(-errors)[:LOOKED_AT]
    there = (worst < count)[:, None]
    ends = np.where(there, lows[worst], low), np.where(there, highs[worst], high)
    return Computed(np.sum(values, axis=0), np.sum(errors), code, (2 * count - 1) * len(nodes), *ends)


class _Cube(NamedTuple):
    """How an integral over a box is computed: all that is no number of the program."""

    rtol: float
    atol: float
    most: int
    substitution: Substitution
    doubts: Doubts


class _CubeRule:
    """The derivative of an integral over a box: that of the integrand, and integrals over the faces that move."""

    title = "cubature"

    def __init__(self, program: Program, how: _Cube) -> None:
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
                r + v for r, v in zip(result, self._derivative(tangents, low, high, [*theta, *moved]), strict=True)
            ]
            self._look_for_jumps(xs, active)
        for axis in range(low.shape[0]):
            for end, tangent, sign in ((low, dlow, -1.0), (high, dhigh, 1.0)):
                if tangent is not None:
                    face = self._face(axis, end[axis], low, high, theta)
                    result = [r + sign * tangent[axis] * v for r, v in zip(result, face, strict=True)]
        return result

    def _derivative(self, program: Program, low: Value, high: Value, theta: Sequence[Value]) -> list[Value]:
        """The integral of a derivative."""
        values, found = _integrate(program, self.how, low, high, theta)
        plain = detach([low, high, *theta[: len(self.program.inputs) - 2]])
        itself = lambda: _integrate(self.program, self.how, plain[0], plain[1], plain[2:])[1]
        self.how.doubts.of_a_derivative(values, found, self.how.atol, itself)
        return values

    def _look_for_jumps(self, xs: Sequence[Value], active: Sequence[bool]) -> None:
        """Warn where f jumps at a place that moves: along diagonals of the boxes in which the error is largest."""
        if self.how.doubts.are_ignored or not may_jump(self.program, (False, False, *active)):
            return
        low, high, *theta = detach(list(xs))
        _, found = _integrate(self.program, self.how, low, high, theta)
        if low.shape[0] > 1:  # else it is told of by quad
            a, b = found.left, found.right
            swapped = np.arange(low.shape[0]) % 2 == 1
            start, end = np.concatenate([a, np.where(swapped, b, a)]), np.concatenate([b, np.where(swapped, a, b)])
            there = lambda s: self.how.substitution.forth(s, low, high)[0]
            inside = lambda s: start + (end - start) * s  # not at infinity
            types = self.program.output_types
            values = lambda x: to_vector(interpret(self.program, [np.float64(0.0), x, *theta]), types)
            segments = inside(1e-6), inside(1.0 - 1e-6)
            warn_of_jumps(self.how.doubts, values, there, segments, mean_size(values, there, inside(0.4)), STAND_STILL)

    def _face(self, axis: int, at: Value, low: Value, high: Value, theta: Sequence[Value]) -> list[Value]:
        """The integral over the face where one variable is fixed."""
        n = low.shape[0]
        is_finite: Any = True
        if self.how.substitution.kind != "finite":  # an infinite end does not move
            is_finite = np.isfinite(at)
            first, last = self.how.substitution.ends(*detach([low, high]))
            inside = self.how.substitution.forth(0.5 * (first + last), *detach([low, high]))[0]
            at = np.where(is_finite, at, inside[axis])
        rest = [i for i in range(n) if i != axis]
        position = np.array([rest.index(i) if i != axis else 0 for i in range(n)])
        chosen = np.arange(n) == axis
        program = self.program
        if n == 1:
            found = interpret(program, [np.float64(0.0), np.reshape(at, (1,)), *theta])
            return [np.where(is_finite, v, 0.0) for v in found]

        def on_face(unused: Value, x: Value, at: Value, *given: Value) -> list[Value]:
            return interpret(program, [unused, np.where(chosen, at, x[position]), *given])

        zero = np.float64(0.0)
        made, captured = record_flat(on_face, types_of([zero, low[rest], at, *theta]))
        found, _ = _integrate(made, self.how, low[rest], high[rest], [at, *theta, *captured])
        return [np.where(is_finite, v, 0.0) for v in found]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        low, high, *theta = xs
        result: list[Value] = [None] * len(xs)
        needed, program, n = list(wanted[2:]), self.program, len(theta)
        if any(needed):

            def back(unused: Value, x: Value, *given: Value) -> list[Value]:
                found = pulled(program, [unused, x, *given[:n]], [False, False, *needed], given[n:])
                kept = [(ct, v) for ct, v, w in zip(found[2:], given[:n], needed, strict=True) if w]
                return [(0.0 * x[0] + (0.0 * v if ct is None else ct)).astype(v.dtype) for ct, v in kept]

            made, captured = record_flat(back, types_of([np.float64(0.0), low, *theta, *cts]))
            parts = iter(self._derivative(made, low, high, [*theta, *cts, *captured]))
            result[2:] = [next(parts) if w else None for w in needed]
            self._look_for_jumps(xs, needed)
        for number, (end, sign) in enumerate(((low, -1.0), (high, 1.0))):
            if wanted[number]:
                faces = [self._face(axis, end[axis], low, high, theta) for axis in range(low.shape[0])]
                result[number] = np.stack([sign * inner(face, cts) for face in faces])
        return result

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def _integrate(
    program: Program, how: _Cube, low: Value, high: Value, theta: Sequence[Value]
) -> tuple[list[Value], Computed]:
    rtol, atol, most, substitution, doubts = how
    types = program.output_types
    a, b, *rest = detach([low, high, *theta])
    size = sum(t.size * (2 if t.dtype.kind == "c" else 1) for t in types)

    def f(points: Value) -> Value:
        x, weights = substitution.forth(points, a, b)
        values = vmap(lambda x: to_vector(interpret(program, [np.float64(0.0), x, *rest]), types))(x)
        return values if substitution.kind == "finite" else values * np.prod(weights, axis=1)[:, None]

    with np.errstate(all="ignore"):
        if low.shape[0] == 1:
            line = lambda x: tuple(interpret(program, [np.float64(0.0), np.reshape(x, (1,)), *rest]))
            one = quad(line, a[0], b[0], rtol=rtol, atol=atol, check=doubts.check)
            found = Computed(to_vector(list(one.value), types), one.error, one.code, one.evaluations, a, b)
        else:
            found = _cube(f, *substitution.ends(a, b), rtol, atol, most, size)
    values = to_arrays(found.value, types)
    attached = list(Attach(_CubeRule(program, how), len(values))(*detach(values), low, high, *theta))
    return attached, found._replace(error=detach([found.error])[0])


@user_facing
def cubature(
    f: Callable[..., Any], low: Any, high: Any, *, args: Sequence[Any] = (), rtol: float = 1e-7, atol: float = 1e-10,
    max_boxes: int = 4000, check: str = "warn",
) -> Integral:  # fmt: skip
    """∫ f(x, *args) dx over the box low ≤ x ≤ high, where x is a vector: adaptive, for 1 to about 8 dimensions.

    Corners may be infinite, in a compiled program too. The derivative in `args`, in what f closes over and in the
    corners is exact, to any order. `check` is as in `quad`.

    ```python
    bell = lambda width: ad.integrate.cubature(lambda x: np.exp(-np.sum(x**2) / width), [0.0, 0.0], [1.0, 1.0]).value
    float(np.round(bell(1.0), 6)), float(np.round(ad.grad(bell)(1.0), 6))  # → (0.557746, 0.283005)
    ```
    """
    title = "integrate.cubature"
    ends = read_box(title, low, high, may_be_infinite=True)
    n = ends[0].shape[0]
    if n > MOST_DIMENSIONS:
        raise ValueError(f"{title}: there are {n} dimensions, and a box has more than 2ⁿ nodes: {MOST_DIMENSIONS} at "
                         "most. Use integrate.qmc or integrate.monte_carlo.")  # fmt: skip
    tolerances, most = read_tolerances(title, rtol, atol), read_count(title, "max_boxes", max_boxes)
    made = read_integrand(title, f, args, np.zeros(n))
    kind = "finite" if all(is_known_finite(v) for v in ends) else "any"
    values, found = _integrate(
        made.program, _Cube(*tolerances, most, Substitution(kind), Doubts(title, check)), *ends, made.theta
    )
    value = tree.unflatten(made.structure, [v if v.shape else v[()] for v in values])
    return Integral(value, found.error, found.code, found.evaluations, f"{title} by Genz and Malik's rule")
