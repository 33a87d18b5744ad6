"""Checks of one function under every transformation, against plain NumPy, finite differences and loops."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError
from adjoint.program.record import record_program
from adjoint.program.types import type_of
from adjoint.testing.differences import finite_difference


class Case(NamedTuple):
    """A function written in plain NumPy, and where to look at it. `lanes` is False where its shape depends on
    values.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[Any, ...]
    lanes: bool = True
    symbolic: bool = True  # False where Python asks for a value


def array(*shape: int, seed: int = 0, low: float = 0.2, high: float = 1.7) -> np.ndarray:
    """Numbers far enough apart that nothing kinks within a difference step."""
    size = int(np.prod(shape))
    rng = np.random.default_rng(seed + size)
    return (low + (high - low) * rng.permutation(size + 1)[:size] / max(size, 1) + 0.01 * rng.random(size)).reshape(
        shape
    )


def signed(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers of both signs, none near zero."""
    x = array(*shape, seed=seed)
    return x * np.where(np.arange(x.size).reshape(shape) % 2, -1.0, 1.0)


def complex_array(*shape: int, seed: int = 0) -> np.ndarray:
    return signed(*shape, seed=seed) + 1j * array(*shape, seed=seed + 1)


def floats(result: Any) -> list[Any]:
    """The float outputs of a result, as a list."""
    parts = list(result) if isinstance(result, tuple | list) else [result]
    return [p for p in parts if p.dtype.kind in "fc"]


def moves(x: Any) -> bool:
    return np.asarray(x).dtype.kind in "fc"


def directions(inputs: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)

    def one(x: Any) -> Any:
        v = rng.standard_normal(np.shape(x))
        return np.asarray(v + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else v)[()]

    return tuple(one(x) for x in inputs)


def inner(us: Any, vs: Any) -> float:
    return float(sum(np.real(np.vdot(u, v)) for u, v in zip(us, vs, strict=True)))


def close(found: Any, wanted: Any, tolerance: float, what: str) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.shape == wanted.shape, f"{what}: shape {found.shape}, not {wanted.shape}"
    scale = 1.0 + np.max(np.abs(wanted), initial=0.0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * scale, err_msg=what)


def check_value(case: Case) -> None:
    """Traced values are NumPy's values, in shape and dtype."""
    wanted = floats(case.function(*[np.array(x) for x in case.inputs]))
    f = lambda *xs: floats(case.function(*xs))
    for name, found in (
        ("jvp", ad.jvp(f, case.inputs, directions(case.inputs, 1))[0]),
        ("vjp", ad.vjp(f, *case.inputs)[0]),
    ):
        assert len(found) == len(wanted)
        for part, expected in zip(found, wanted, strict=True):
            assert part.dtype == expected.dtype, f"{name}: dtype {part.dtype}, not {expected.dtype}"
            close(part, expected, 1e-13, f"{name} value")


def check_first_order(case: Case) -> None:
    """jvp against differences, vjp against jvp."""
    f = lambda *xs: floats(case.function(*xs))
    vs = directions(case.inputs, 2)
    y, slopes = ad.jvp(f, case.inputs, vs)
    wanted = finite_difference(lambda xs: f(*xs), case.inputs, vs, accuracy=4)
    for slope, expected in zip(slopes, wanted, strict=True):
        close(slope, expected, 1e-7, "jvp against differences")
    cts = [np.asarray(u).astype(p.dtype)[()] for u, p in zip(directions(tuple(y), 3), y, strict=True)]
    pulled = ad.vjp(f, *case.inputs)[1](cts)
    np.testing.assert_allclose(inner(pulled, vs), inner(cts, slopes), rtol=1e-9, atol=1e-9, err_msg="vjp against jvp")


def check_second_order(case: Case) -> None:
    """The Hessian along a direction, forward over reverse and reverse over reverse, against differences of the
    gradient.
    """
    wide = [np.cos(np.arange(np.size(p))).reshape(np.shape(p)) for p in floats(case.function(*case.inputs))]

    def scalar(*xs: Any) -> Any:
        parts = floats(case.function(*xs))
        return sum(
            np.sum(w * (np.abs(p) ** 2 if p.dtype.kind == "c" else p**2)) for w, p in zip(wide, parts, strict=True)
        )

    vs = directions(case.inputs, 4)
    gradient = ad.grad(scalar, tuple(range(len(case.inputs))))
    wanted = finite_difference(lambda xs: gradient(*xs), case.inputs, vs, accuracy=4)
    forward = ad.jvp(gradient, case.inputs, vs)[1]
    backward = ad.vjp(gradient, *case.inputs)[1](vs)
    for found, again, expected in zip(forward, backward, wanted, strict=True):
        close(found, expected, 1e-6, "second order, forward over reverse")
        close(again, expected, 1e-6, "second order, reverse over reverse")


def check_lanes(case: Case) -> None:
    """vmap against a loop."""
    if not case.lanes:
        return
    rng = np.random.default_rng(5)
    stacks = [
        np.stack([np.asarray(x) + (1e-3 * rng.standard_normal(np.shape(x)) if moves(x) else 0) for _ in range(3)])
        for x in case.inputs
    ]
    f = lambda *xs: floats(case.function(*xs))
    found = ad.vmap(f)(*stacks)
    loop = [f(*[np.array(s[k])[()] for s in stacks]) for k in range(3)]
    for j, part in enumerate(found):
        close(part, np.stack([one[j] for one in loop]), 1e-12, "vmap against a loop")


def check_taylor(case: Case) -> None:
    """jet to third order against nested jvp."""
    f = lambda *xs: floats(case.function(*xs))
    vs = directions(case.inputs, 6)

    def along(t: Any) -> Any:
        return f(*[x + t * v for x, v in zip(case.inputs, vs, strict=True)])

    derivative = along
    wanted = []
    for _ in range(3):
        derivative = lambda t, g=derivative: ad.jvp(g, (t,), (1.0,))[1]
        wanted.append(derivative(0.0))
    zeros = [np.zeros_like(v) for v in vs]
    _, found = ad.jet(f, case.inputs, [[v, z, z] for v, z in zip(vs, zeros, strict=True)])
    for k in range(3):
        for part, expected in zip(found[k], wanted[k], strict=True):
            close(part, expected, 1e-8, f"jet of order {k + 1} against nested jvp")


def check_recorded(case: Case) -> None:
    """A program recorded from types alone, run on the values; or an error that names what to use instead."""
    f = lambda *xs: floats(case.function(*xs))
    values = [np.asarray(x)[()] for x in case.inputs]
    if not case.symbolic:
        with pytest.raises(ControlFlowError, match=r"np\.where|np\.sort|ad\.cond"):
            record_program(f, [type_of(v) for v in values])
    if not (case.lanes and case.symbolic):
        return
    program, captured = record_program(f, [type_of(v) for v in values])
    assert not captured
    with np.errstate(all="ignore"):  # where= computes everywhere, and then chooses
        results = program(*values)
    for found, wanted in zip(results, f(*[np.array(v) for v in values]), strict=True):
        assert found.dtype == wanted.dtype
        close(found, wanted, 1e-13, "recorded program")


def check_compiled(case: Case) -> None:
    """Value and gradient of the compiled function against those of the eager one."""
    values = [np.asarray(x)[()] for x in case.inputs]
    f = lambda *xs: floats(case.function(*xs))

    def both(*xs: Any) -> Any:
        def scalar(*ys: Any) -> Any:
            parts = f(*ys)
            return sum(
                np.sum(np.cos(np.arange(p.size)).reshape(p.shape) * (np.abs(p) ** 2 if p.dtype.kind == "c" else p**2))
                for p in parts
            )

        return f(*xs), ad.grad(scalar, tuple(range(len(xs))))(*xs)

    with np.errstate(all="ignore"):
        (found, slopes), (_, wanted_slopes) = ad.jit(both)(*values), both(*values)
        wanted = f(*[np.array(v) for v in values])
    for part, expected in zip(found, wanted, strict=True):
        assert part.dtype == expected.dtype
        close(part, expected, 1e-12, "compiled value")
    for part, expected in zip(slopes, wanted_slopes, strict=True):
        close(part, expected, 1e-9, "compiled gradient")


CHECKS = [check_recorded, check_value, check_first_order, check_second_order, check_lanes, check_taylor]


def every_check(cases: list[Case], checks: list[Callable[[Case], None]] = CHECKS) -> pytest.MarkDecorator:
    """Each case with each check: first derivatives always, of the others a third by turns; the rest are sweeps."""
    pairs = [
        pytest.param(case, check, id=f"{case.name}-{check.__name__}", marks=() if runs else pytest.mark.sweep)
        for i, case in enumerate(cases)
        for j, check in enumerate(checks)
        for runs in [check is check_first_order or (i + j) % 3 == 0]
    ]
    return pytest.mark.parametrize("case, check", pairs)
