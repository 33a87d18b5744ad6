"""Checking derivatives: forward and reverse mode against differences and against each other, to any order.

With J = ∂f(x), a random direction v and a random cotangent u, of one size with x and f(x),

    J v  = differences of f along v            element by element (forward mode)
    ⟨Jᵀu, v⟩ = ⟨u, differences of f along v⟩    (reverse mode)
    ⟨u, J v⟩ = ⟨Jᵀu, v⟩                         to rounding, where both modes are checked

and then the same for the functions x ↦ J(x) v and x ↦ J(x)ᵀu, one order lower. A direction costs a handful of calls of
f, however many numbers x holds. ⟨·, ·⟩ is the real part of the inner product: complex numbers are pairs of real ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from adjoint.api.gradients import jvp, vjp
from adjoint.base.errors import AdjointError
from adjoint.base.source import user_facing
from adjoint.testing.flat import Differences, Flat, Leaves, flat_function
from adjoint.testing.linearity import describe_position
from adjoint.testing.vectors import at_values, describe_leaf, epsilon, inner, random_direction

Mode = Literal["forward", "reverse"]


class MismatchError(AdjointError, AssertionError):
    """Two methods to compute one derivative disagree.

    ```python
    wrong = ad.custom_rule(lambda x: x**2, vjp=lambda x: (x**2, lambda ct: (ct * x,)))
    ad.check_grads(wrong, (1.0,), order=1)  # → MismatchError: order 1
    ```
    """


@at_values
@user_facing
def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[Mode] = ("forward", "reverse"),
    *,
    rtol: float | None = None,
    atol: float = 0.0,
    step: float | None = None,
    seed: int = 0,
) -> None:
    """Raise MismatchError unless the derivatives of f at args, up to an order, agree with differences of f.

    Arguments and results are trees; what is not a float is held fixed. `rtol` is relative to each element (1.5e-7 in
    double precision by default) and comes on top of the uncertainty of the differences themselves. The directions are
    random, the same for the same `seed`. f must be smooth around args, within about 0.03 for numbers of size one.

    ```python
    ad.check_grads(lambda x: np.sin(x) * x, (0.3,))  # → None
    ```
    """
    for mode in modes:
        if mode not in ("forward", "reverse"):
            raise ValueError(f"check_grads: modes are 'forward' and 'reverse', not {mode!r}.")
    if order < 1 or not modes:
        raise ValueError(f"check_grads: needs an order of at least 1 and one mode, got order={order}, modes={modes}.")
    flat = flat_function(f, args, "check_grads")
    tolerance = 10 * epsilon(flat.point) ** 0.5 if rtol is None else rtol
    check_level(Check(flat, tuple(dict.fromkeys(modes)), tolerance, atol, step, ()), order, np.random.default_rng(seed))


@at_values
def dot_test(f: Callable[..., Any], args: Sequence[Any], *, rtol: float | None = None, seed: int = 0) -> float:
    """Check that vjp is the adjoint of jvp: ⟨u, J v⟩ = ⟨Jᵀu, v⟩ for random u, v. Returns the relative gap.

    ```python
    ad.testing.dot_test(lambda x: np.sin(x), (np.ones(3),)) < 1e-12  # → True
    ```
    """
    flat = flat_function(f, args, "dot_test")
    rng = np.random.default_rng(seed)
    y = flat.at(flat.point)
    v, u = random_direction(flat.point, rng), random_direction(y, rng)
    forward, backward = jvp(flat.call, flat.point, v)[1], vjp(flat.call, *flat.point)[1](u)
    return compare_adjoint("dot_test", (u, forward), (backward, v), y, rtol)


@final
@dataclass(frozen=True)
class Check:
    """One function to check, how, and by which modes it was derived from the user's."""

    flat: Flat
    modes: tuple[Mode, ...]
    rtol: float
    atol: float
    step: float | None
    derived_by: tuple[Mode, ...]

    def title(self, mode: str) -> str:
        order = len(self.derived_by) + 1
        path = f" (of the derivative by {', then '.join(self.derived_by)} mode)" if self.derived_by else ""
        return f"check_grads: {mode} mode, order {order}{path}"

    def tolerance(self, a: Any, b: Any) -> Any:
        return self.atol + self.rtol * np.maximum(np.abs(a), np.abs(b))


def check_level(check: Check, order: int, rng: np.random.Generator) -> None:
    """All comparisons of one function, and then of its derivatives, one order lower."""
    flat, point = check.flat, check.flat.point
    y = flat.at(point)
    v, u = random_direction(point, rng), random_direction(y, rng)
    differences = Differences(flat, y, v, check.step)
    forward: Leaves = ()
    if "forward" in check.modes:
        value, forward = jvp(flat.call, point, v)
        check_value(check, "forward", value, y)
        check_types(check.title("forward"), "tangent", forward, y, flat.outputs)
        compare_forward(check, forward, differences)
    if "reverse" in check.modes:
        value, pullback = vjp(flat.call, *point)
        backward = pullback(u)
        check_value(check, "reverse", value, y)
        check_types(check.title("reverse"), "cotangent", backward, point, flat.inputs)
        compare_reverse(check, backward, u, differences)
        if forward:
            compare_adjoint(check.title("reverse"), (u, forward), (backward, v), y, None)
    if order > 1:
        for mode in check.modes:
            check_level(derive_check(check, mode, u, v), order - 1, rng)


def derive_check(check: Check, mode: Mode, u: Leaves, v: Leaves) -> Check:
    """The check of x ↦ J(x) v, or of x ↦ J(x)ᵀu."""
    call = check.flat.call
    if mode == "forward":
        lower = replace(check.flat, call=lambda *x: jvp(call, x, v)[1])
    else:
        lower = replace(check.flat, call=lambda *x: vjp(call, *x)[1](u), outputs=check.flat.inputs)
    return replace(check, flat=lower, derived_by=(*check.derived_by, mode))


def only_leaf(v: Leaves, leaf_number: int) -> Leaves:
    return tuple(leaf if i == leaf_number else np.zeros_like(leaf)[()] for i, leaf in enumerate(v))


def compare_forward(check: Check, forward: Leaves, differences: Differences) -> None:
    """J v against differences, element by element."""
    if (mismatch := forward_gap(check, forward, differences)) is None:
        return
    where = ""
    for i, path in enumerate(check.flat.inputs):  # which argument is it?
        single = differences.along(only_leaf(differences.v, i))
        own = jvp(check.flat.call, check.flat.point, single.v)[1]
        if (narrower := forward_gap(check, own, single)) is not None:
            mismatch, where = narrower, f" along {path}"
            break
    element, ours, theirs, doubt = mismatch
    raise MismatchError(
        f"{check.title('forward')}: derivative of {element}{where}: jvp gives {ours:.10g}, "
        f"differences give {theirs:.10g} (± {doubt:.1g}). {hint(ours, theirs, doubt)}"
    )


def forward_gap(check: Check, forward: Leaves, differences: Differences) -> tuple[str, Any, Any, float] | None:
    """None where all agree; else the path of the worst element, both numbers, and the doubt about the second."""
    mismatch: tuple[str, Any, Any, float] | None = None
    for values, doubts in differences.attempts():
        mismatch = None
        for path, ours, theirs, doubt in zip(check.flat.outputs, forward, values, doubts, strict=True):
            gap = np.abs(np.asarray(ours) - np.asarray(theirs))
            excess = np.asarray(gap - check.tolerance(ours, theirs) - doubt)
            if excess.size and not np.all(excess <= 0):
                at = np.unravel_index(int(np.argmax(np.where(np.isnan(excess), np.inf, excess))), excess.shape)
                mismatch = (
                    describe_position(path, at),
                    np.asarray(ours)[at],
                    np.asarray(theirs)[at],
                    float(np.asarray(doubt)[at]),
                )
                break
        if mismatch is None:
            return None
    return mismatch


def compare_reverse(check: Check, backward: Leaves, u: Leaves, differences: Differences) -> None:
    """⟨Jᵀu, v⟩ against ⟨u, differences along v⟩."""
    if (mismatch := reverse_gap(check, backward, u, differences)) is None:
        return
    where = "along a random direction"
    for i, path in enumerate(check.flat.inputs):
        single = differences.along(only_leaf(differences.v, i))
        if (narrower := reverse_gap(check, backward, u, single)) is not None:
            mismatch, where = narrower, f"along {path}"
            for at in np.ndindex(np.shape(backward[i])) if np.size(backward[i]) <= 64 else ():
                unit = np.zeros_like(np.asarray(differences.v[i]))
                unit[at] = 1.0
                alone = tuple(unit[()] if j == i else np.zeros_like(w)[()] for j, w in enumerate(differences.v))
                if (narrower := reverse_gap(check, backward, u, differences.along(alone))) is not None:
                    mismatch, where = narrower, f"at {describe_position(path, at)}"
                    break
            break
    ours, theirs, doubt = mismatch
    raise MismatchError(
        f"{check.title('reverse')}: cotangent {where}: vjp gives {ours:.10g}, differences give {theirs:.10g} "
        f"(± {doubt:.1g}). {hint(ours, theirs, doubt)}"
    )


def reverse_gap(
    check: Check, backward: Leaves, u: Leaves, differences: Differences
) -> tuple[float, float, float] | None:
    """None where both inner products agree; else both, and the doubt about the second."""
    mismatch: tuple[float, float, float] | None = None
    for values, doubts in differences.attempts():
        ours, theirs = inner(backward, differences.v), inner(u, values)
        size = absolute_inner(backward, differences.v) + absolute_inner(u, values)
        doubt = absolute_inner(u, doubts)
        if abs(ours - theirs) <= check.atol + check.rtol * size + doubt:
            return None
        mismatch = ours, theirs, doubt
    return mismatch


def compare_adjoint(
    name: str, left: tuple[Leaves, Leaves], right: tuple[Leaves, Leaves], y: Leaves, rtol: float | None
) -> float:
    """⟨u, J v⟩ against ⟨Jᵀu, v⟩, which differ by rounding alone: of their own terms, and of those of ⟨u, y⟩."""
    ours, theirs = inner(*right), inner(*left)
    size = absolute_inner(*left) + absolute_inner(*right)
    spacing = epsilon((left, right))
    allowed = 10 * spacing ** (2 / 3) if rtol is None else rtol
    gap = abs(ours - theirs)
    if not gap <= allowed * size + 1e3 * spacing * absolute_inner(left[0], y):
        raise MismatchError(
            f"{name}: vjp is not the adjoint of jvp: ⟨u, J v⟩ = {theirs:.10g} but ⟨Jᵀu, v⟩ = {ours:.10g}. "
            f"{hint(ours, theirs, 0.0)}"
        )
    return gap / size if size else 0.0


def absolute_inner(u: Leaves, v: Leaves) -> float:
    return sum(float(np.sum(np.abs(a) * np.abs(b))) for a, b in zip(u, v, strict=True))


def check_value(check: Check, mode: Mode, values: Leaves, expected: Leaves) -> None:
    """The value that comes with a derivative is the value of f."""
    check_types(check.title(mode), "differentiated value", values, expected, check.flat.outputs)
    for ours, theirs, path in zip(values, expected, check.flat.outputs, strict=True):
        if not np.allclose(ours, theirs, rtol=check.rtol, atol=check.atol, equal_nan=True):
            raise MismatchError(
                f"{check.title(mode)}: {path} is {np.asarray(ours)!s} where it is differentiated, but f alone gives "
                f"{np.asarray(theirs)!s}; f depends on something that changes from call to call, or a rule is wrong."
            )


def check_types(title: str, name: str, values: Leaves, expected: Leaves, paths: tuple[str, ...]) -> None:
    """A tangent, or a cotangent, has the shape and the dtype of its primal."""
    for ours, theirs, path in zip(values, expected, paths, strict=True):
        a, b = np.asarray(ours), np.asarray(theirs)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise MismatchError(
                f"{title}: the {name} of {path} is {describe_leaf(a)}, but {path} itself is {describe_leaf(b)}; "
                "both must have one shape and one dtype."
            )


def hint(ours: Any, theirs: Any, doubt: float) -> str:
    """What such a pair of numbers usually means."""
    if not np.isfinite(theirs):
        return "The differences are not finite: f is not defined all around args; choose other args, or a small step."
    if not np.isfinite(ours):
        return "The derivative is not finite: a branch not taken, or a root or quotient at zero, may leak into it."
    if doubt > 0.01 * abs(theirs):
        return "The differences do not settle: f has a kink or noise near args; choose other args, or another step."
    if ours == 0:
        return "The derivative was dropped: something that depends on args was taken as constant, or a rule gives zero."
    ratio = theirs / ours
    for factor in (-1.0, 2.0, 0.5, -2.0, -0.5):
        if abs(ratio - factor) < 1e-4:
            return f"They differ by the factor {factor:g}: look for a sign, a square or a term counted twice."
    if np.iscomplexobj(ours) and abs(np.conj(ours) - theirs) <= 1e-4 * abs(theirs):
        return "They are conjugates: a rule forgot conj, or has one too many."
    return "Look at the rules of the operations f is made of, or choose other args if f has a kink there."
