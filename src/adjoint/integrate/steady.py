"""`steady_state`: where f(t, y) = 0, by steps in pseudo-time that grow until they are Newton's.

    (I / δ - J) d = f(y),   y ← y + d,   δ ← δ ‖f‖ / ‖f₊‖     (Mulder and van Leer 1985; Kelley and Keyes 1998)

Small δ follow the solution of y′ = f, large ones are Newton's method. The derivative is that of f(y, θ) = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint import tree
from adjoint.api.control_flow import cond, while_loop
from adjoint.base.source import user_facing
from adjoint.integrate.calling import call_recorded
from adjoint.integrate.choosing import choose_method
from adjoint.integrate.derivative import detach
from adjoint.integrate.jacobians import choose_form
from adjoint.integrate.newton import norm, solution_of
from adjoint.integrate.reading import read_number, read_tolerance
from adjoint.integrate.refusals import refuse_unsolved
from adjoint.integrate.system import Arguments, System, check_right_side, read_state, trace_function
from adjoint.linear.solvers.answer import Answer
from adjoint.program.trace import Tracer
from adjoint.program.types import Value

__all__ = ["SteadyState", "steady_state"]

STATUSES = ("converged", "max steps", "not finite", "not isolated")
ADVICE = {
    1: "Start nearer to the steady state, or give a larger max_steps: the solution may oscillate, or have no bound.",
    2: "NaN or infinity came out of f: look at its domain, or start elsewhere.",
    3: "∂f/∂y is singular there: f keeps a quantity, as a total mass, so that steady states are not isolated. Put the "
    "equation of what is kept into f, instead of one of the others.",
}


@final
@dataclass(frozen=True, eq=False)
class SteadyState(Answer):
    """Where an equation stands still: a tree, so it goes through jit, vmap and grad.

    ```python
    found = ad.integrate.steady_state(lambda t, y: 2.0 - y**2, 1.0)
    found.status, float(np.round(found.value, 6))  # → ('converged', 1.414214)
    ```
    """

    STATUSES = STATUSES
    FAILURE = "no steady state was found"
    MANY = "equations"
    value: Any  # y
    residual: Value  # the norm of f, in units of the tolerances
    iterations: Value
    code: Value
    target: Value = 1.0
    method: str = field(default="integrate.steady_state", metadata={"static": True})

    @property
    def advice(self) -> str:
        """What to do, in words; empty when all is well."""
        if isinstance(self.code, Tracer):
            return ""
        return " ".join(ADVICE[int(c)] for c in np.unique(np.asarray(self.code)) if int(c) in ADVICE)


@user_facing
def steady_state(
    f: Callable[..., Any], y0: Any, *, args: Sequence[Any] = (), t: Any = 0.0, rtol: Any = 1e-9, atol: Any = 1e-12,
    first_step: Any = None, max_steps: int = 500, jacobian: Any = "auto",
) -> SteadyState:  # fmt: skip
    """y with f(t, y, *args) = 0, where the solution of y′ = f comes to rest: pseudo-time first, Newton's method then.

    It goes on until Newton's step is below atol + rtol |y|. args and what f closes over are differentiated by the
    equation f = 0, at any order; the start is not. `jacobian` is that of `solve`.

    ```python
    # a reaction that settles: a ⇌ b with a total of 1
    f = lambda t, y, k: np.stack([-k[0] * y[0] + k[1] * y[1], 1.0 - y[0] - y[1]])
    rest = lambda k: ad.integrate.steady_state(f, np.ones(2), args=(k,))
    k = np.array([2.0, 1.0])
    np.round(rest(k).value, 6)  # → [0.333333, 0.666667]
    np.round(ad.grad(lambda k: rest(k).value[0])(k), 6)  # → [-0.111111, 0.222222]
    ```
    """
    title = "integrate.steady_state"
    leaves, layout = read_state(title, "y0", y0)
    traced = trace_function(title, "f", f, layout, Arguments(args))
    check_right_side(title, traced, layout)
    form = choose_form(title, jacobian, choose_method("kvaerno3"), System(traced.program, layout, [], traced.theta), [])
    numbers = [
        read_number(title, "t", t), read_tolerance(title, "rtol", rtol, layout),
        read_tolerance(title, "atol", atol, layout),
        read_number(title, "first_step", 0.0 if first_step is None else first_step), np.int64(max_steps),
    ]  # fmt: skip
    n = len(leaves)

    def whole(time: Value, rtol: Value, atol: Value, begin: Value, most: Value, *rest: Value) -> Any:
        theta = list(rest[n:])
        system = System(traced.program, layout, [], theta).changed(theta, form=form)
        y = layout.vector(tree.unflatten(layout.structure, rest[:n]))
        tolerances = rtol.astype(layout.dtype), atol.astype(layout.dtype)
        return _settled(system, time, y, *tolerances, begin, most)

    y, residual, count, code = call_recorded(
        (title, traced.program, layout, form), whole, [*numbers, *leaves, *traced.theta]
    )
    (y,) = refuse_unsolved(title, [y], code, STATUSES, (1, 2, 3))
    return SteadyState(layout.tree(y), residual, count, code)


def _settled(f: System, t: Value, y: Value, rtol: Value, atol: Value, begin: Value, most: Value) -> Any:
    plain, (t, y, rtol, atol, begin) = f.plain(), detach([t, y, rtol, atol, begin])
    form, one = f.form, y.dtype.type
    scale = lambda y: atol + rtol * np.abs(y)
    f0 = plain(t, y)
    speed = norm(f0, np.abs(y) + one(1e-3) * (np.max(np.abs(y)) + one(1.0)))
    first = np.where(begin > 0, begin, 0.1 / np.maximum(speed, 1e-10))

    def step(now: Any) -> Any:
        y, value, delta, _, count, _ = now
        J = form.jacobian(plain, t, y)
        c = delta.astype(y.dtype)
        d = c * form.solve(plain, form.factors(plain, c, J), value)
        size = norm(d, scale(y + d))
        after = plain(t, y + d)
        old, new = (np.sqrt(np.sum(v * v) * np.float64(1.0)) for v in (value, after))
        good = np.logical_and(np.isfinite(new), new <= 10.0 * old)
        ratio = np.clip(old / np.where(new > 0, new, 1.0), 0.5, 10.0)
        grown = np.where(new > 0, delta * np.maximum(ratio, 1.5), delta * 10.0)
        following = np.where(good, grown, 0.1 * delta)
        kept, kept_value = np.where(good, y + d, y), np.where(good, after, value)
        # a step is Newton's where δ is large against the time that f takes: then it tells the distance
        newton = norm(d, scale(kept)) <= 1.0
        far = delta * np.maximum(np.maximum(speed, form.radius(J)), 1e-10) > 1e6
        done = np.logical_and(np.logical_and(good, newton), np.logical_or(far, new == 0))
        following = np.where(np.logical_and(newton, good), following * 1e3, following)
        following = np.minimum(following, 1e13 / np.maximum(form.radius(J), 1e-10))
        return kept, kept_value, following, done, count + 1, size

    goes_on = lambda now: np.logical_and(
        np.logical_and(np.logical_not(now[3]), now[4] < most), np.isfinite(np.sum(now[1]))
    )
    state = (y, f0, first, np.bool_(False), np.int64(0), np.float64(np.inf))
    y, value, _, done, count, size = while_loop(goes_on, step, state)
    is_singular: Any = np.bool_(False)
    if form.name == "dense":
        sizes = np.linalg.svd(form.jacobian(plain, t, y), compute_uv=False)
        is_singular = np.logical_not(sizes[-1] > 1e-13 * sizes[0])
    trouble = np.where(is_singular, 3, np.where(done, 0, 1))
    code = np.where(np.isfinite(np.sum(value)), trouble, 2).astype(np.int64)

    def F(f: Any, y: Value) -> Value:
        return f(t, y)

    return (
        cond(code == 0, lambda: solution_of(f, F, [], y), lambda: np.full(y.shape, np.nan, y.dtype)),
        size,
        count,
        code,
    )
