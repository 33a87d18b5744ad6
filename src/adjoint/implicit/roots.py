"""`root` and `fixed_point`: solutions of F(x, θ) = 0 and of x = T(x, θ) as functions of θ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.base.errors import RuleError
from adjoint.base.loading import deferred
from adjoint.base.source import user_facing
from adjoint.implicit import conditions
from adjoint.implicit.approximate import Unrolled, unroll_solver
from adjoint.implicit.diagnosis import Watch
from adjoint.implicit.equation import LinearizedEquation
from adjoint.implicit.function import ImplicitFunction
from adjoint.ops.implicit_solve import Equation

if TYPE_CHECKING:
    from adjoint.implicit.iterations import newton_root, picard
    from adjoint.linear.operators.maps import LinearMap
else:  # where the user gives no solver
    newton_root = deferred("adjoint.implicit.iterations", "newton_root")
    picard = deferred("adjoint.implicit.iterations", "picard")

__all__ = ["Linear", "equation_for", "fixed_point", "make_fixed_point", "need_start", "root"]

Linear = str | Callable[["LinearMap", Any], Any]


def equation_for(title: str, facts: Sequence[str], linear: Linear, differentiate: Any, check: str) -> Equation:
    """How the linear equations of a derivative are solved."""
    exact = LinearizedEquation(linear, (facts,) if isinstance(facts, str) else tuple(facts), Watch(title, check))
    if isinstance(differentiate, str):
        if differentiate != "equation":
            raise ValueError(
                f"{title}: differentiate={differentiate!r}; it is 'equation', or one of implicit.Neumann(k), "
                "implicit.OneStep(), implicit.Unrolled(steps)."
            )
        return exact
    return differentiate.equation(exact)


def need_start(title: str, solver: Any, x0: Any) -> None:
    """A solver, or where the one that stands in starts."""
    if solver is None and x0 is None:
        raise RuleError(f"{title}: give a solver, a function of θ that finds x, or x0, where the one that stands in "
                        "starts.")  # fmt: skip
    if solver is not None and not callable(solver):
        raise TypeError(f"{title}: the solver is a {type(solver).__name__}; it is a function of θ that returns x.")


@user_facing
def root(
    F: Callable[..., Any],
    solver: Callable[..., Any] | None = None,
    *,
    x0: Any = None,
    facts: Sequence[str] = (),
    linear: Linear = "auto",
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> Any:
    """x(*θ) with F(x, *θ) = 0, differentiable in θ and in all that F closes over, whoever found it.

    `solver(*θ)` returns x; with `x0` it is called `solver(x0, *θ)`. It is given plain arrays, also inside compiled and
    batched programs, unless it can be traced. Without one Newton's method starts at x0. With `has_aux` it returns
    (x, aux), and so does x(*θ); aux has no derivative.

    `facts` tell what is known of ∂ₓF ("symmetric", "positive definite") and choose how its equations are solved;
    `linear` is a method ("direct", "sparse", "cg", "gmres", "least squares" …) or a function (A, b) ↦ t, where A is
    ∂ₓF, or its adjoint, as a linear map of real vectors. `check` says what happens where x is no solution or ∂ₓF is
    singular: "warn", "raise" or "ignore".

    ```python
    from scipy.optimize import brentq
    quintic = lambda w, lam: w**5 + w**3 + w - lam
    w = ad.implicit.root(quintic, lambda lam: brentq(quintic, 0.0, 2.0, args=(lam,), xtol=1e-14))
    w(3.0), ad.derivative(w, 3)(3.0)  # → (1.0, 0.024284915…)
    ```
    """
    title = "implicit.root"
    if isinstance(differentiate, Unrolled):
        return unroll_solver(differentiate, None, solver, x0, title)
    need_start(title, solver, x0)
    equation = equation_for(title, facts, linear, differentiate, check)
    found = newton_root(F, Watch(title, check)) if solver is None else solver
    return ImplicitFunction(F, found, x0, equation, has_aux, title)


@user_facing
def fixed_point(
    T: Callable[..., Any],
    solver: Callable[..., Any] | None = None,
    *,
    x0: Any = None,
    facts: Sequence[str] = (),
    linear: Linear = "auto",
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> Any:
    """x(*θ) with x = T(x, *θ); the arguments are those of `root`. Without a solver x ← T(x) is repeated from x0.

    `facts` are those of ∂ₓ(x - T(x)).

    ```python
    x = ad.implicit.fixed_point(lambda x, a: np.cos(a * x), x0=0.5)
    x(1.0), ad.grad(x)(1.0)  # → (0.739085…, -0.297474…)
    ```
    """
    title = "implicit.fixed_point"
    return make_fixed_point(title, T, solver, x0, facts, linear, differentiate, check, has_aux)


def make_fixed_point(
    title: str, T: Callable[..., Any], solver: Callable[..., Any] | None, x0: Any, facts: Sequence[str], linear: Linear,
    differentiate: Any, check: str, has_aux: bool,
) -> Any:  # fmt: skip
    """`fixed_point`, under another name."""
    if isinstance(differentiate, Unrolled):
        return unroll_solver(differentiate, T, solver, x0, title)
    need_start(title, solver, x0)
    equation = equation_for(title, facts, linear, differentiate, check)
    F = conditions.fixed_point(T)
    found = picard(T, Watch(title, check)) if solver is None else solver
    return ImplicitFunction(F, found, x0, equation, has_aux, title)
