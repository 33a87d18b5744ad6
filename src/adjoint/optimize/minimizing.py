"""`minimize`: the smallest value of a function of any tree of numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint import tree
from adjoint.base.loading import deferred
from adjoint.base.source import user_facing
from adjoint.implicit.approximate import Unrolled
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.linear.solvers.monitor import Monitor
from adjoint.optimize.captured import close_over, close_over_all
from adjoint.optimize.certificates.promises import certify_run, read_constants
from adjoint.optimize.choosing import CONSTRAINED, choose_method, is_plain
from adjoint.optimize.composite.objective import Composite
from adjoint.optimize.constrained.constraints import list_rules
from adjoint.optimize.interruption import keep_best
from adjoint.optimize.iteration import Iterate, Limits, run
from adjoint.optimize.limits import check_tolerance, read_count
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.proximal.separable import Indicator, apply_prox
from adjoint.optimize.sets.set import Set
from adjoint.optimize.setting import Setting
from adjoint.optimize.wrong_gradients import explain_failure
from adjoint.program.trace import TRACED, primal

if TYPE_CHECKING:
    from adjoint.optimize.composite.solving import minimize_composite
    from adjoint.optimize.composite.within import method_within
    from adjoint.optimize.constrained.solving import minimize_constrained
    from adjoint.optimize.foreign import refuse_unused, run_scipy
else:  # what most minimizations do without
    minimize_composite = deferred("adjoint.optimize.composite.solving", "minimize_composite")
    method_within = deferred("adjoint.optimize.composite.within", "method_within")
    minimize_constrained = deferred("adjoint.optimize.constrained.solving", "minimize_constrained")
    refuse_unused = deferred("adjoint.optimize.foreign", "refuse_unused")
    run_scipy = deferred("adjoint.optimize.foreign", "run_scipy")

__all__ = ["choose_tolerance", "minimize", "read_limits"]

ITERATIONS = 1000
NEAR = 1e-7  # of a set, against the size of x: intersections are found by iteration


def choose_tolerance(dtype: Any) -> float:
    """√ε: 1.5e-8 in double precision, 3.5e-4 in single."""
    return float(np.finfo(dtype).eps) ** 0.5


def read_limits(
    title: str, max_iterations: int | None, max_evaluations: int | None, history: bool,
    callback: Callable[[Iterate], object] | None, stop: Callable[[Iterate], Any] | None, progress: bool,
    most: int = ITERATIONS,
) -> Limits:  # fmt: skip
    """When to stop, from the options of the user."""
    iterations = most if max_iterations is None else read_count(title, "max_iterations", max_iterations)
    evaluations = None if max_evaluations is None else read_count(title, "max_evaluations", max_evaluations)
    return Limits(iterations, evaluations, history, callback, stop, Monitor.of(None, progress, title, iterations))


def _read_exceptions(title: str, reject: Any) -> tuple[type[BaseException], ...]:
    """The classes of exceptions that tell that a trial point is no good."""
    rejected = tuple(reject) if isinstance(reject, list | tuple) else (reject,)
    if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in rejected):
        raise TypeError(f"{title}: reject is {reject!r}; it is a class of exceptions, or several of them.")
    return rejected


def refuse_given(title: str, **options: Any) -> None:
    """What methods with multipliers would ignore is refused."""
    given = [f"{name}=" for name, value in options.items() if value is not None]
    if given:
        raise ValueError(f"{title}: with constraints {', '.join(given)} does nothing; leave it out. A set of "
                         "optimize.sets in subject_to=, and bounds alone, take all options.")  # fmt: skip


@user_facing
def minimize(
    f: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: Any = "auto",
    bounds: Any = None,
    subject_to: Any = (),
    tol: Any = None,
    max_iterations: int | None = None,
    max_evaluations: int | None = None,
    scale: Any = None,
    grad: Callable[..., Any] | None = None,
    curvature: Callable[..., Any] | None = None,
    reject: type[BaseException] | Sequence[type[BaseException]] = (),
    frozen: Any = (),
    callback: Callable[[Iterate], object] | None = None,
    stop: Callable[[Iterate], Any] | None = None,
    progress: bool = False,
    history: bool = False,
    certify: Any = False,
    warm: Any = None,
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
) -> Optimum:
    """x that makes f(x, *args) smallest, from x0: a number, an array, or any tree of them.

    The answer is differentiable in the arguments and in all that f closes over: `value` by ∇f = 0 (with bounds by its
    projected form), `fun` by the envelope theorem. Where it starts, and tolerances, have no derivative.

    It has converged where every component of the gradient is at most `tol` (√ε if none is given); with bounds that of
    x - P(x - ∇f). `method` is a name ("bfgs", "lbfgs", "lbfgsb", "trust-exact" …), an object, or the name of one of
    SciPy's, which then runs on the raveled vector. `bounds` is a pair (lower, upper), or a dictionary of pairs by key;
    `scale` tells typical sizes of the unknowns; `grad` is for functions that cannot be traced (then the derivative of
    `fun` is not known, and NaN). `curvature(x, u, *args)`
    is a product with a matrix that stands for the Hessian in methods of second order: that of Gauss and Newton, or
    Fisher's (the natural gradient). Points where f is not finite, or raises one of `reject`, shorten the step. `frozen`
    leaves stay as they are: paths, or a tree of truth values. `subject_to` is a constraint (`equality`, `inequality`,
    `between`), a set of `optimize.sets`, or a list of constraints or of sets. `callback` and `stop` are called with an
    `Iterate` after each iteration; `warm` is the `state` of an earlier answer.

    `certify=True` keeps the history and holds what the method promises against every step: descent, the conditions of
    its line search, its bounds and rates; with constraints the conditions at the end, multipliers and curvature
    included. `certificate` of the answer says what held, and where it was first broken; a
    dictionary tells what is known of f: its smallest value `best`, `mu`, `dominated`, and `distance` = ‖x0 - x*‖.

    ```python
    ridge = lambda w, lam: np.sum((w - np.array([1.0, 2.0])) ** 2) + lam * np.sum(w**2)
    best = lambda lam: ad.optimize.minimize(ridge, np.zeros(2), lam)
    found = best(1.0)
    np.round(found.value, 6), found.status  # → ([0.5, 1.0], 'converged')
    np.round(ad.jacobian(lambda lam: best(lam).value)(1.0), 6)  # → [-0.25, -0.5]
    float(np.round(ad.grad(lambda lam: best(lam).fun)(1.0), 6))  # → 1.25
    ```
    """
    title = "minimize"
    rules = list_rules(subject_to)
    if any(isinstance(rule, Set) for rule in rules):
        method = method_within(title, rules, method, bounds=bounds, scale=scale)
    elif rules or getattr(method, "multipliers", False) or (isinstance(method, str) and method in CONSTRAINED):
        if read_constants(title, certify):
            raise ValueError(f"{title}: with constraints certify is True: what is known of the function, "
                             f"{certify!r}, tells nothing here.")  # fmt: skip
        refuse_given(title, max_evaluations=max_evaluations, grad=grad, curvature=curvature, callback=callback,
                     stop=stop, warm=warm, reject=reject or None, progress=progress or None, history=history or None,
                     differentiate=None if differentiate == "equation" else differentiate)  # fmt: skip
        return minimize_constrained(
            title, f, x0, args, rules, method=method, bounds=bounds, tol=tol, max_iterations=max_iterations,
            scale=scale, frozen=frozen, check=check, has_aux=has_aux, certify=bool(certify),
        )  # fmt: skip
    original, given = f, args
    if callable(f) and not isinstance(differentiate, Unrolled):
        (f, grad), args = close_over_all((prepare_call(f), grad), x0, args)
        if curvature is not None:
            inner, own = curvature, len(args)
            product, args = close_over(lambda pair, *a: inner(*pair, *a[: len(given)]), (x0, x0), args)
            curvature = lambda x, u, *a: product((x, u), *a)
            f, grad = (_ignore_more(function, own) for function in (f, grad))
    setting = Setting.of(title, f, x0, bounds, scale, frozen, grad, has_aux, curvature)
    if isinstance(method, Composite):
        method.check(setting)
    constants = read_constants(title, certify)
    keeps = history or constants is not None
    limits = read_limits(title, max_iterations, max_evaluations, keeps, callback, stop, progress)
    limits = limits._replace(certify=constants is not None)
    tol = choose_tolerance(setting.unknowns.dtype) if tol is None else tol
    check_tolerance(title, tol)
    rejected = _read_exceptions(title, reject)
    facts: dict[str, Any] = {"method": "", "note": "", "chosen": None}

    def solve(start: Any, known: Any, *theta: Any, method: Any = method) -> Any:
        problem = setting.problem(known, theta, known[2], rejected)
        chosen = choose_method(title, method, problem)
        facts["method"], facts["chosen"] = chosen if isinstance(chosen, str) else type(chosen).__name__, chosen
        v = problem.project(setting.unknowns.vector(start))
        with np.errstate(all="ignore"):
            v = chosen.start(problem, v) if isinstance(chosen, Composite) else v
            with keep_best(f"{title} by {facts['method']}", setting, problem, known):
                if isinstance(chosen, str):
                    refuse_unused(title, chosen, limits, warm)
                    ending = run_scipy(chosen, problem, v, limits)
                else:
                    own: Any = chosen
                    problem.counts = {key: problem.counts[key] for key in own.needs}
                    ending = run(own, problem, v, limits, warm)
            counts = dict(problem.counts)
            facts["note"] = explain_failure(problem, ending)
        return setting.reported(ending, counts, known)

    if isinstance(differentiate, Unrolled):
        x, reports = solve(setting.x0, (*setting.known, tol), *args)
    elif isinstance(method, Composite):
        x, reports = minimize_composite(method, setting, solve, differentiate, check, (*setting.known, tol), args)
    else:
        equation = equation_for(title, ("symmetric",) if setting.box is None else (), "auto", differentiate, check)
        function = ImplicitFunction(setting.conditions(), solve, setting.x0, equation, True, title, is_plain(method))
        x, reports = function((*setting.known, tol), *args)
        reports["fun"] = setting.attach_value(x, reports["fun"], args)
    if not isinstance(differentiate, Unrolled) and (setting.box is not None or isinstance(method, Composite)):
        reports["grad"] = setting.attach_gradient(x, reports["grad"], args)
    whole = setting.parts.merge(x, setting.fixed)
    aux = original(whole, *given)[1] if has_aux else None
    prices = setting.price_bounds(reports["active"], reports["grad"])
    found = _optimum(setting, whole, reports, tol, aux, facts, prices)
    plain = tree.map(primal, x)
    promises = None
    if constants is not None:
        promises = _hold_promises(title, setting, facts["chosen"], constants, plain, found.history)
    return dataclasses.replace(found, feasible=_is_feasible(method, setting, plain), certificate=promises)


def _hold_promises(title: str, setting: Setting, method: Any, known: Any, x: Any, history: Any) -> Any:
    if history is None or isinstance(method, str):
        raise ValueError(f"{title}: certify= is for our own methods, whose steps can be looked at; this is {method!r}.")
    vector = setting.unknowns.vector
    away = vector(x) - vector(tree.map(primal, setting.x0))
    size = np.sqrt(np.sum(away * away))
    history = tree.map(primal, history)
    return certify_run(type(method).__name__, method, history, known, size, float(np.finfo(setting.unknowns.dtype).eps))


def _is_feasible(method: Any, setting: Setting, x: Any) -> Any:
    """Whether x lies in the set of the method, or within its bounds."""
    if isinstance(method, Composite) and isinstance(getattr(method, "term", None), Set | Indicator):
        flat = setting.unknowns.flat
        away = flat(tree.map(lambda a, b: a - b, x, apply_prox(method.the_term(), x, 1.0)))
        return np.max(np.abs(away)) <= NEAR * (1.0 + np.max(np.abs(flat(x))))
    if setting.box is None:
        return True
    v = setting.unknowns.vector(x)
    return np.all(np.logical_and(primal(setting.box[0]) <= v, v <= primal(setting.box[1])))


def _ignore_more(function: Any, count: int) -> Any:
    """A function of x and so many arguments, which are followed by others."""
    return None if function is None else lambda x, *args: function(x, *args[:count])


def _optimum(
    setting: Setting, x: Any, reports: Any, tol: Any, aux: Any, facts: dict[str, Any], prices: Any
) -> Optimum:  # fmt: skip
    history = reports["history"]
    count = reports["iterations"]
    if history is not None and not isinstance(count, TRACED) and np.ndim(count) == 0:
        history = {name: entries[: int(count) + 1] for name, entries in history.items()}
    return Optimum(
        x, reports["fun"], reports["grad"], reports["code"], count, reports["evaluations"], reports["residual"],
        tol if isinstance(tol, TRACED) else np.float64(tol), prices, reports["active"], history, reports["state"], aux,
        f"minimize by {facts['method']}", facts["note"],
    )  # fmt: skip
