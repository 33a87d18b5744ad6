"""`argmin`: minimizers as functions of what the objective depends on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.base.errors import RuleError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.implicit import conditions
from adjoint.implicit.approximate import Unrolled, unroll_solver
from adjoint.implicit.constraints import Constraints, Projected, Proximal
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.equation import LinearizedEquation
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.iterations import newton_descent
from adjoint.implicit.kkt import ConstrainedMinimizer, KKTEquation, make_constrained
from adjoint.implicit.roots import Linear, equation_for, make_fixed_point, need_start

__all__ = ["argmin"]

SYMMETRIC = ("symmetric",)


@user_facing
def argmin(
    f: Callable[..., Any],
    solver: Callable[..., Any] | None = None,
    *,
    subject_to: Constraints | Projected | Proximal | None = None,
    smoothing: float = 0.0,
    x0: Any = None,
    facts: Sequence[str] = SYMMETRIC,
    linear: Linear = "auto",
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> Any:
    """x(*θ) that makes f(x, *θ) smallest; the conditions that it is differentiated by follow from f and `subject_to`.

    Without constraints they are ∇ₓf = 0. The Hessian is symmetric, and where f is strictly convex it is positive
    definite: say so in `facts`, and many unknowns are solved for by conjugate gradients. Without a solver Newton's
    method starts at x0.

    `subject_to=Constraints(…)` takes the conditions of Karush, Kuhn and Tucker: the solver returns x alone, and the
    multipliers are found beside it (`x.multipliers(*θ)`). `smoothing=τ` differentiates the conditions s μ = τ of an
    interior point instead, which are smooth where the active set changes. `Projected` and `Proximal` take fixed points
    of their steps, which are repeated from x0 where no solver is given. The other arguments are those of `root`.

    ```python
    ridge = lambda w, lam: np.sum((w - np.array([1.0, 2.0])) ** 2) + lam * np.sum(w**2)
    w = ad.implicit.argmin(ridge, x0=np.zeros(2))
    w(1.0), ad.jacobian(w)(1.0)  # → ([0.5, 1.0], [-0.25, -0.5])
    ```
    """
    title, f = "implicit.argmin", prepare(f)
    if smoothing and not isinstance(subject_to, Constraints):
        raise RuleError(
            f"{title}: smoothing={smoothing} relaxes inequalities; give subject_to=implicit.Constraints(…)."
        )
    if isinstance(subject_to, Constraints):
        return _make_minimizer(title, f, solver, subject_to, smoothing, x0, linear, differentiate, check, has_aux)
    if isinstance(subject_to, Projected | Proximal):
        step = (
            conditions.make_projected_step(f, subject_to.projection, subject_to.step)
            if isinstance(subject_to, Projected)
            else conditions.make_proximal_step(f, subject_to.prox, subject_to.step)
        )
        own = () if facts is SYMMETRIC else facts
        return make_fixed_point(title, step, solver, x0, own, linear, differentiate, check, has_aux)
    if subject_to is not None:
        raise TypeError(f"{title}: subject_to is a {type(subject_to).__name__}; it is implicit.Constraints(…), "
                        "implicit.Projected(projection) or implicit.Proximal(prox).")  # fmt: skip
    if isinstance(differentiate, Unrolled):
        return unroll_solver(differentiate, None, solver, x0, title)
    need_start(title, solver, x0)
    equation = equation_for(title, facts, linear, differentiate, check)
    found = newton_descent(f, Watch(title, check)) if solver is None else solver
    return ImplicitFunction(conditions.stationary(f), found, x0, equation, has_aux, title)


def _make_minimizer(
    title: str, f: Callable[..., Any], solver: Callable[..., Any] | None, constraints: Constraints, smoothing: float,
    x0: Any, linear: Linear, differentiate: Any, check: str, has_aux: bool,
) -> ConstrainedMinimizer:  # fmt: skip
    if solver is None:
        raise RuleError(f"{title}: constraints need a solver, e.g. scipy.optimize.minimize(…, method='SLSQP').x: "
                        "nothing stands in here.")  # fmt: skip
    if has_aux or differentiate != "equation":
        raise RuleError(f"{title}: with constraints neither has_aux nor differentiate= is taken.")
    equation = KKTEquation(LinearizedEquation(linear, (), Watch(title, check, has_kinks=False, has_constraints=True)))
    return make_constrained(f, solver, constraints, x0, equation, title, smoothing)
