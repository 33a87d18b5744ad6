"""What every primitive promises under the traces: its rules are recorded, differentiated, stacked and expanded."""

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.program.record import record_program
from adjoint.program.types import type_of
from tests.ops.contract import (
    ORDER,
    TOLERANCE,
    args_in_float,
    close,
    compared_orders,
    cotangent,
    differentiable_result,
    generator,
    inner,
    lane,
    like,
    parts_of,
    pulled,
    pushed,
    series_by_interpolation,
    tangents,
    tolerance,
)
from tests.ops.samples import Example


def function_of(example: Example) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The primitive as a function of its active arguments, and these."""
    active = example.active

    def f(*xs: Any) -> Any:
        full = list(example.args)
        for i, x in zip(active, xs, strict=True):
            full[i] = x
        z = example.op(*full)
        return tuple(p for p in z if p.dtype.kind in "fc") if example.op.several else z

    return f, tuple(example.args[i] for i in active)


def flat(z: Any) -> tuple[Any, ...]:
    return z if isinstance(z, tuple) else (z,)


def check_taylor(example: Example) -> None:
    """Coefficients to order four along a curve, against interpolation; also when only some arguments move."""
    orders = compared_orders(example)
    if not example.active or not differentiable_result(example):
        return
    op, rng = example.op, generator(example)
    f, primals = function_of(example)
    scale = [1.0, 0.5, 0.3, 0.2]
    every = [[like(x, rng, s) for s in scale] for x in primals]
    choices = [
        every,
        *([[[0 * t for t in terms] if i == j else terms for j, terms in enumerate(every)] for i in range(len(every))]),
    ]
    for series in choices if len(every) > 1 else [every]:
        factorials = (1, 2, 6, 24)
        y, ys = ad.jet(f, primals, [[t * n for t, n in zip(terms, factorials, strict=True)] for terms in series])
        moving = dict(zip(example.active, series, strict=True))
        by_points = series_by_interpolation(example, [moving.get(i, []) for i in range(len(example.args))])
        wanted = [
            s for s, p in zip(by_points, parts_of(op, op.evaluate(*example.args)), strict=True) if p.dtype.kind in "fc"
        ]
        for j, (value, expected) in enumerate(zip(flat(y), wanted, strict=True)):
            for k in range(1, ORDER + 1):
                term = flat(ys[k - 1])[j]
                assert (np.shape(term), term.dtype) == (np.shape(value), value.dtype), (
                    f"{op}, order {k}: {type_of(term)}"
                )
                if k <= orders:
                    tol = 1e-3 if orders == 1 else TOLERANCE[k]
                    close(
                        term / factorials[k - 1],
                        expected[k],
                        max(tol, 30 * tolerance(term, *primals)),
                        f"Taylor of {op}, order {k}",
                    )


def check_tape(example: Example) -> None:
    """What the tape plays forwards and backwards is what the rules say, and `linear` is honest."""
    if not example.active or not differentiable_result(example):
        return
    op, args, rng = example.op, example.args, generator(example)
    f, primals = function_of(example)
    z = op.evaluate(*args)
    dxs = tangents(example, rng)
    dz = [d for d, p in zip(pushed(op, args, z, dxs), parts_of(op, z), strict=True) if p.dtype.kind in "fc"]
    ct = cotangent(op, z, rng)
    given = tuple(c for c in ct if c is not None) if op.several else ct
    cts = pulled(op, ct, args, z, [d is not None for d in dxs], [type_of(a) for a in args])
    active = [dxs[i] for i in example.active]
    tol = tolerance(*args_in_float(example), *parts_of(op, z))
    found = flat(ad.linearize(f, *primals)[1](*active)), flat(ad.jvp(f, primals, active)[1])
    for way in found:
        for d, e in zip(way, dz, strict=True):
            close(d, np.zeros_like(d) if e is None else e, tol, f"{op} on the tape, forwards")
    # with a constant among its operands a linear primitive is affine, and has no transpose
    transposable = op.linear and len(example.active) == example.operands
    transposes = [ad.vjp(f, *primals)[1](given)] + ([ad.linear_transpose(f, *primals)(given)] if transposable else [])
    for back in transposes:
        for c, i in zip(back, example.active, strict=True):
            assert (np.shape(c), c.dtype) == (np.shape(args[i]), args[i].dtype)
            close(c, np.zeros_like(c) if cts[i] is None else cts[i], tol, f"{op} on the tape, backwards")
    if op.linear and not op.several:
        doubled = [
            2 * x if i < example.operands and hasattr(x, "dtype") and i in example.active else x
            for i, x in enumerate(args)
        ]
        if len(example.active) == example.operands:
            close(op.evaluate(*doubled), 2 * op.evaluate(*args), tol, f"{op} is called linear")


def check_second_order(example: Example) -> None:
    """The rules are differentiated: all four nestings of forward and reverse give what differences give."""
    if not example.active or not differentiable_result(example) or compared_orders(example) < 2 or example.op.several:
        return
    op, rng = example.op, generator(example)
    f, primals = function_of(example)
    v = tuple(d for d in tangents(example, rng) if d is not None)
    ct = cotangent(op, op.evaluate(*example.args), rng)
    curve = dict(zip(example.active, v, strict=True))
    (series,) = series_by_interpolation(example, [[curve[i]] if i in curve else [] for i in range(len(example.args))])
    second = 2 * series[2]
    contracted = inner(ct, second.astype(complex) if np.iscomplexobj(ct) else second)
    tol = max(TOLERANCE[2], 30 * tolerance(*args_in_float(example)))
    along = lambda *xs: ad.jvp(f, xs, v)[1]
    back = lambda *xs: ad.vjp(f, *xs)[1](ct)
    dot = lambda cts: sum(inner(c, d) for c, d in zip(cts, v, strict=True))
    close(ad.jvp(along, primals, v)[1], second, tol, f"forward over forward of {op}")
    close(dot(ad.vjp(along, *primals)[1](ct)), contracted, tol * max(1, ct.size), f"reverse over forward of {op}")
    close(dot(ad.jvp(back, primals, v)[1]), contracted, tol * max(1, ct.size), f"forward over reverse of {op}")
    close(dot(ad.vjp(back, *primals)[1](v)), contracted, tol * max(1, ct.size), f"reverse over reverse of {op}")


def check_mapped_rules(example: Example, size: int = 2) -> None:
    """vmap of push and of pull, over points, tangents and cotangents: what a loop gives."""
    if not example.active or not differentiable_result(example) or example.op.several:
        return
    op, rng = example.op, generator(example)
    f, primals = function_of(example)
    points = [tuple(lane(x, k) for x in primals) for k in range(size)]
    moves = [tuple(like(x, rng) for x in primals) for _ in range(size)]
    cts = [cotangent(op, op.evaluate(*example.args), rng) for _ in range(size)]
    stack = lambda rows: tuple(np.stack(column) for column in zip(*rows, strict=True))
    forward = lambda xs, vs: ad.jvp(f, xs, vs)[1]
    backward = lambda xs, ct: ad.vjp(f, *xs)[1](ct)
    tol = tolerance(*args_in_float(example), cts[0])
    close(
        ad.vmap(forward)(stack(points), stack(moves)),
        np.stack([forward(*p) for p in zip(points, moves, strict=True)]),
        tol,
        f"vmap of push of {op}",
    )
    only = ad.vmap(forward, in_axes=(None, 0))(primals, stack(moves))
    close(only, np.stack([forward(primals, m) for m in moves]), tol, f"vmap of push of {op}, at one point")
    found = ad.vmap(backward)(stack(points), np.stack(cts))
    expected = stack([backward(*p) for p in zip(points, cts, strict=True)])
    for c, e in zip(found, expected, strict=True):
        close(c, e, tol, f"vmap of pull of {op}")


def check_symbolic(example: Example) -> None:
    """push and pull recorded from types alone, then evaluated: what they give directly."""
    if not example.active or not differentiable_result(example) or example.op.several:
        return
    op, rng = example.op, generator(example)
    f, primals = function_of(example)
    v = tuple(d for d in tangents(example, rng) if d is not None)
    ct = cotangent(op, op.evaluate(*example.args), rng)
    n = len(primals)
    forward = lambda *xs: [ad.jvp(f, xs[:n], xs[n:])[1]]
    backward = lambda *xs: list(ad.vjp(f, *xs[:n])[1](xs[n]))
    for rule, values in ((forward, (*primals, *v)), (backward, (*primals, ct))):
        program, captured = record_program(rule, [type_of(x) for x in values])
        assert not captured
        with np.errstate(all="ignore"):
            found, expected = program(*values), rule(*values)
        for kind, a, b in zip(program.output_types, found, expected, strict=True):
            assert (tuple(kind.shape), kind.dtype) == (np.shape(a), np.asarray(a).dtype), (
                f"{op}: {kind} for {type_of(a)}"
            )
            close(a, b, tolerance(b), f"the recorded rules of {op}")
