"""Random programs: every transformation agrees with plain NumPy, with differences, with loops and with the others."""

import os

import hypothesis
import numpy as np
import pytest
from hypothesis import given

import adjoint as ad
from adjoint.base.errors import TraceError
from adjoint.program.record import record_program
from adjoint.program.types import type_of
from tests.support.strategies import COMPLEX_STEPS, STEPS, a_mutation, programs

# ADJOINT_EXAMPLES=2000 looks further, each time somewhere else.
MANY = int(os.environ.get("ADJOINT_EXAMPLES", "0"))
searching = hypothesis.settings(
    max_examples=MANY or 60,
    derandomize=not MANY,
    deadline=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    report_multiple_bugs=False,
)


def close(found, expected, rtol=1e-9, atol=1e-9) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)


def direction(program, seed=0):
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.normal(size=np.shape(x)))[()] for x in program.inputs]


def moved(program, v, t):
    return [x + t * d for x, d in zip(program.inputs, v, strict=True)]


def inner(us, vs) -> float:
    return sum(float(np.sum(u * v)) for u, v in zip(us, vs, strict=True))


@searching
@given(programs())
def test_values_are_numpys(program) -> None:
    """The whole pool, under every trace, is what NumPy computes: values, shapes and dtypes."""
    x = program.inputs
    plain = [np.asarray(y) for y in program.pool(*x)]
    zeros = [np.zeros_like(a) for a in x]
    seen = {
        "reverse": ad.vjp(program.pool, *x)[0],
        "forward": ad.jvp(program.pool, x, zeros)[0],
        "taylor": ad.jet(program.pool, x, [[z] for z in zeros])[0],
        "batch": [y[0] for y in ad.vmap(program.pool)(*[np.stack([a, a]) for a in x])],
    }
    for way, pool in seen.items():
        assert [np.shape(y) for y in pool] == [y.shape for y in plain], way
        assert [y.dtype for y in pool] == [y.dtype for y in plain], way
        for a, b in zip(pool, plain, strict=True):
            close(a, b, rtol=1e-12, atol=1e-12)


@searching
@given(programs())
def test_forward_and_reverse_are_adjoint(program) -> None:
    x, v = tuple(program.inputs), tuple(direction(program))
    value, slope = ad.jvp(program, x, v)
    gradients = ad.grad(program, argnums=tuple(range(len(x))))(*x)
    close(value, program(*x))
    close(slope, inner(gradients, v))
    close(ad.linearize(program, *x)[1](*v), slope)
    close(inner(ad.vjp(program, *x)[1](1.0), v), slope)
    # outputs of every shape at once
    pool, push = ad.linearize(program.pool, *x)
    cts = [np.cos(np.arange(float(y.size))).reshape(np.shape(y)) for y in map(np.asarray, pool)]
    close(inner(cts, push(*v)), inner(ad.vjp(program.pool, *x)[1](cts), v))


@searching
@given(programs())
def test_derivatives_against_differences(program) -> None:
    """Compared where the function is smooth along the line, which the differences themselves tell."""
    v = direction(program, 1)
    f = lambda t: program(*moved(program, v, t))
    h = 1e-4
    stencil = lambda h: (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h)
    left, right = (f(0.0) - f(-h)) / h, (f(h) - f(0.0)) / h
    smooth = abs(stencil(h) - stencil(h / 4)) < 1e-6 and abs(left - right) < 0.3
    hypothesis.event(f"smooth: {smooth}")
    if smooth:
        slope = ad.jvp(program, tuple(program.inputs), tuple(v))[1]
        close(slope, stencil(h), rtol=1e-5, atol=1e-5)


@searching
@given(programs(most_steps=5))
def test_vmap_is_a_loop(program) -> None:
    x = program.inputs
    lanes = [[a * (1.0 + 0.1 * k) for a in x] for k in range(3)]
    stacked = [np.stack(column) for column in zip(*lanes, strict=True)]
    for k, row in enumerate(lanes):
        for found, expected in zip(ad.vmap(program.pool)(*stacked), program.pool(*row), strict=True):
            close(found[k], expected)
    check_one_mapped_argument(program, stacked)
    argnums = tuple(range(len(x)))
    gradient = ad.grad(program, argnums=argnums)
    by_lane = [gradient(*row) for row in lanes]
    for found, *expected in zip(ad.vmap(gradient)(*stacked), *by_lane, strict=True):
        close(found, np.stack(expected))
    total = lambda *xs: np.sum(ad.vmap(program)(*xs))
    for found, *expected in zip(ad.grad(total, argnums=argnums)(*stacked), *by_lane, strict=True):
        close(found, np.stack(expected))


def check_one_mapped_argument(program, stacked) -> None:
    """The others stay plain arrays, and writing traced values into those is refused, with the remedy."""
    rest = program.inputs[1:]
    try:
        found = ad.vmap(program.pool, in_axes=(0, *[None] * len(rest)))(stacked[0], *rest)
    except TraceError as refusal:
        if "adjoint.numpy" not in str(refusal):
            raise
        return
    for a, b in zip(found, program.pool(stacked[0][1], *rest), strict=True):
        close(a[1], b)


@searching
@given(programs(most_steps=5))
def test_second_order(program) -> None:
    """Taylor mode, forward over reverse, reverse over reverse and reverse over forward give one number for vᵀ H v."""
    x, v = tuple(program.inputs), tuple(direction(program, 2))
    argnums = tuple(range(len(x)))
    gradient = ad.grad(program, argnums=argnums)
    second = inner(ad.jvp(gradient, x, v)[1], v)
    series = ad.jet(program, x, [[d, np.zeros_like(d)] for d in v])[1]
    close(series[1], second, rtol=1e-7, atol=1e-7)
    along = lambda *xs: ad.jvp(program, xs, v)[1]
    close(series[0], along(*x), rtol=1e-8, atol=1e-8)
    close(inner(ad.grad(along, argnums=argnums)(*x), v), second, rtol=1e-7, atol=1e-7)
    contracted = lambda *xs: sum(np.sum(g * d) for g, d in zip(gradient(*xs), v, strict=True))
    close(inner(ad.grad(contracted, argnums=argnums)(*x), v), second, rtol=1e-7, atol=1e-7)


@searching
@given(programs())
def test_recorded_from_types_alone(program) -> None:
    """Tracer from types, evaluated to NumPy's values, with the types that it announced; so is its gradient."""
    x = program.inputs
    types = [type_of(a) for a in x]
    argnums = tuple(range(len(x)))
    for f in (program.pool, lambda *xs: ad.grad(program, argnums=argnums)(*xs)):
        recorded, captured = record_program(lambda *xs, f=f: list(f(*xs)), types)
        assert not captured
        found, expected = recorded(*x), f(*x)
        for kind, a, b in zip(recorded.output_types, found, expected, strict=True):
            assert (tuple(kind.shape), kind.dtype) == (np.shape(a), np.asarray(a).dtype)
            close(a, b)
        again, _ = record_program(lambda *xs, r=recorded: list(r(*xs)), types)
        assert again == recorded
        assert str(again) == str(recorded)


@searching
@given(programs())
def test_single_precision_stays_what_numpy_makes_of_it(program) -> None:
    """dtypes of the whole pool, of tangents and of gradients; Python numbers and constants promote as in NumPy."""
    x = [np.asarray(a, np.float32)[()] for a in program.inputs]
    plain = [np.asarray(y) for y in program.pool(*x)]
    dtypes = [y.dtype for y in plain]
    pool, pullback = ad.vjp(program.pool, *x)
    assert [y.dtype for y in pool] == dtypes
    for a, b in zip(pool, plain, strict=True):
        close(a, b, rtol=1e-5, atol=1e-5)
    assert [g.dtype for g in pullback([np.ones(y.shape, y.dtype)[()] for y in plain])] == [a.dtype for a in x]
    ones = [np.ones_like(a) for a in x]
    for found in (
        *ad.jvp(program.pool, x, ones),
        *ad.jet(program.pool, x, [[o, o] for o in ones])[1],
        ad.linearize(program.pool, *x)[1](*ones),
    ):
        assert [y.dtype for y in found] == dtypes
    assert [y.dtype for y in ad.vmap(program.pool)(*[np.stack([a, a]) for a in x])] == dtypes
    recorded, _ = record_program(lambda *xs: list(program.pool(*xs)), [type_of(a) for a in x])
    assert [t.dtype for t in recorded.output_types] == dtypes


@searching
@given(programs(steps=COMPLEX_STEPS, complex_inputs=True, most_steps=5))
def test_complex_programs(program) -> None:
    """Values, dtypes, forward against differences, reverse as the adjoint for Re⟨u, v⟩, lanes, announced types."""
    rng = np.random.default_rng(4)
    like = lambda x: np.asarray(
        rng.normal(size=np.shape(x)) + (1j * rng.normal(size=np.shape(x)) if np.iscomplexobj(x) else 0.0)
    )[()]
    x = tuple(program.inputs)
    v = tuple(like(a) for a in x)
    plain = [np.asarray(y) for y in program.pool(*x)]
    pool, slopes = ad.jvp(program.pool, x, v)
    assert [y.dtype for y in pool] == [y.dtype for y in slopes] == [y.dtype for y in plain]
    at = lambda t: program.pool(*[a + t * d for a, d in zip(x, v, strict=True)])
    h = 1e-4
    for a, b, d, *points in zip(pool, plain, slopes, *[at(k * h) for k in (-2, -1, 1, 2)], strict=True):
        close(a, b)
        left, right = b - points[1], points[2] - b
        if np.all(np.abs(left - right) < 1e-2):  # no jump between the points
            close(d, (points[0] - 8 * points[1] + 8 * points[2] - points[3]) / (12 * h), rtol=1e-5, atol=1e-5)
    cts = [like(y) for y in plain]
    real_inner = lambda us, ws: sum(float(np.real(np.sum(np.conj(u) * w))) for u, w in zip(us, ws, strict=True))
    _, pullback = ad.vjp(program.pool, *x)
    gradients = pullback(cts)
    assert [g.dtype for g in gradients] == [a.dtype for a in x]
    close(real_inner(cts, slopes), real_inner(gradients, v), rtol=1e-8, atol=1e-8)
    lanes = ad.vmap(lambda *xs: ad.vjp(program.pool, *xs)[1](cts))(*[np.stack([a, a]) for a in x])
    for found, expected in zip(lanes, gradients, strict=True):
        close(found[1], expected)
    recorded, _ = record_program(lambda *xs: list(program.pool(*xs)), [type_of(a) for a in x])
    assert [(tuple(t.shape), t.dtype) for t in recorded.output_types] == [(y.shape, y.dtype) for y in plain]


@searching
@given(programs(steps=[*STEPS, a_mutation, a_mutation, a_mutation]))
def test_arrays_written_to_while_others_are_views_of_them(program) -> None:
    """Aliasing as in NumPy: after writing, every view has NumPy's values; or the write is refused in words."""
    x = tuple(program.inputs)
    plain = program.pool(*x)
    v = tuple(direction(program, 3))
    try:
        found, slopes = ad.jvp(program.pool, x, v)
        pool, pullback = ad.vjp(program.pool, *x)
    except TraceError as refusal:
        if "copy" not in str(refusal):
            raise
        return
    for a, b, c in zip(found, pool, plain, strict=True):
        close(a, c)
        close(b, c)
    cts = [np.cos(np.arange(float(np.size(y)))).reshape(np.shape(y)) for y in plain]
    close(inner(cts, slopes), inner(pullback(cts), v))


def test_the_search_is_the_same_each_time() -> None:
    assert MANY or searching.derandomize


@pytest.mark.parametrize("seed", range(5))
def test_programs_are_not_trivial(seed) -> None:
    """The strategy makes programs with slopes: a generator that drew constants would prove nothing."""
    slopes = []

    @hypothesis.settings(searching, max_examples=20, derandomize=True)
    @hypothesis.seed(seed)
    @given(programs())
    def collect(program):
        slopes.append(ad.jvp(program, tuple(program.inputs), tuple(direction(program, seed)))[1])

    collect()
    assert np.mean(np.abs(slopes) > 1e-3) > 0.9
