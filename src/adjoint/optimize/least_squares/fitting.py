"""`least_squares` and `curve_fit`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import ShapeError
from adjoint.base.source import user_facing
from adjoint.base.suggestions import did_you_mean
from adjoint.implicit.approximate import Unrolled
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.roots import equation_for
from adjoint.implicit.vectors import to_vector
from adjoint.optimize.captured import close_over_all
from adjoint.optimize.derivatives import attach_derivative
from adjoint.optimize.interruption import keep_best
from adjoint.optimize.iteration import Iterate, run
from adjoint.optimize.least_squares.fit import Fit, Pattern
from adjoint.optimize.least_squares.foreign import run_scipy
from adjoint.optimize.least_squares.gauss_newton import GaussNewton
from adjoint.optimize.least_squares.losses import derive_loss, read_loss, rescale
from adjoint.optimize.least_squares.marquardt import LevenbergMarquardt
from adjoint.optimize.least_squares.problem import Products, Residuals
from adjoint.optimize.least_squares.sparse_marquardt import SparseMarquardt
from adjoint.optimize.limits import check_tolerance, is_method
from adjoint.optimize.minimizing import read_limits
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.oracles import prepare_call
from adjoint.optimize.setting import Setting, without_aux
from adjoint.program.trace import TRACED
from adjoint.program.types import Value, type_of

__all__ = ["curve_fit", "least_squares"]

METHODS: dict[str, Callable[..., Any]] = {
    "lm": LevenbergMarquardt,
    "gauss-newton": GaussNewton,
    "sparse": lambda scaled: SparseMarquardt(linear="cholesky", scaled=scaled),
    "schur": lambda scaled: SparseMarquardt(linear="schur", scaled=scaled),
    "lsmr": lambda scaled: SparseMarquardt(linear="lsmr", scaled=scaled),
}
SCIPY = ("trf", "dogbox")
MATRIX = 300  # unknowns up to which Jacobians are dense
ITERATIONS = 5000  # long curved valleys take many short steps


@user_facing
def least_squares(
    residual: Callable[..., Any],
    x0: Any,
    *args: Any,
    method: Any = "auto",
    sparsity: Any = "auto",
    bounds: Any = None,
    loss: Any = "linear",
    loss_scale: float = 1.0,
    scale: Any = "jacobian",
    tol: Any = None,
    max_iterations: int | None = None,
    max_evaluations: int | None = None,
    jacobian: Callable[..., Any] | None = None,
    frozen: Any = (),
    callback: Callable[[Iterate], object] | None = None,
    stop: Callable[[Iterate], Any] | None = None,
    progress: bool = False,
    history: bool = False,
    differentiate: Any = "equation",
    check: str = "warn",
    has_aux: bool = False,
    absolute: bool = False,
) -> Fit:
    """x that makes ½ ‖residual(x, *args)‖² smallest, or ½ c² Σ ρ((rᵢ/c)²) with a robust loss ρ and c = `loss_scale`.

    It has converged where no column of the Jacobian has a larger cosine with the residuals than `tol`, or a whole
    Gauss-Newton step changes nothing any more. `loss` is "linear", "huber", "soft_l1", "cauchy", "arctan" or a function
    z ↦ ρ(z); `method` is "lm", "gauss-newton", "sparse", "schur", "lsmr", an object, or SciPy's "trf" or "dogbox" with
    our Jacobian; "auto" is "lm", and for many unknowns Levenberg and Marquardt's method with sparse Jacobians, whose
    pattern is found or given as `sparsity` (None: they are dense). `scale` is "jacobian", or typical sizes of the
    unknowns. The other arguments are those of `minimize`. The answer tells errors:
    `covariance()`, `standard_errors`, `propagate(g)`, `influence()`; derivatives are those of the conditions Jᵀ r = 0.

    ```python
    rosenbrock = lambda x: np.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])
    found = ad.optimize.least_squares(rosenbrock, np.array([-1.2, 1.0]))
    np.round(found.value, 6), found.status  # → ([1.0, 1.0], 'converged')
    ```
    """
    title = "least_squares"
    rho, original, given_args = read_loss(title, loss), prepare_call(residual), args
    residual = without_aux(title, original, "residuals") if has_aux else original
    if not isinstance(differentiate, Unrolled):
        (residual, jacobian), args = close_over_all((residual, jacobian), x0, args)
    own = None if isinstance(scale, str) else scale
    if isinstance(scale, str) and scale != "jacobian":
        raise ValueError(f"{title}: scale={scale!r}; it is 'jacobian', or typical sizes of the unknowns.")

    def cost(x: Any, *theta: Any) -> Any:
        return _sum_losses(residual(x, *theta), rho, loss_scale)

    setting = Setting.of(title, cost, x0, bounds, own, frozen, None, False)
    limits = read_limits(title, max_iterations, max_evaluations, history, callback, stop, progress, ITERATIONS)
    dtype = setting.unknowns.dtype
    check_tolerance(title, tol)
    tol = (1e-10 if np.finfo(dtype).eps < 1e-10 else 1e-5) if tol is None else tol
    chosen = _choose(title, method, own is None, setting.unknowns.size, sparsity)
    name = chosen if isinstance(chosen, str) else type(chosen).__name__
    functions = setting.parts.of_function(residual)
    shapes: list[Any] = []
    given: Any = None if jacobian is None else setting.parts.of_function(jacobian)

    def solve(start: Any, known: Any, *theta: Any) -> Any:
        fixed, box, tol = known
        lower, upper = (None, None) if box is None else box
        derivative = None if given is None else lambda x: given(x, fixed, *theta)
        problem = Residuals(title, lambda x: functions(x, fixed, *theta), setting.unknowns, tol, lower, upper, rho,
                            loss_scale, derivative)  # fmt: skip
        v = problem.project(setting.unknowns.vector(start))
        with np.errstate(all="ignore"), keep_best(f"{title} by {name}", setting, problem, known):
            if isinstance(chosen, str):
                ending = run_scipy(chosen, problem, v, limits, loss)
            else:
                ending = run(chosen, problem, v, limits)
        x, reports = setting.reported(ending, dict(problem.counts), known)
        size = 1.0 if setting.unknowns.scale is None else setting.unknowns.scale
        reports["state"] = None
        r = reports["residuals"] = ending.state.residuals
        reports["curvatures"] = None if rho is None else derive_loss(rho, r, loss_scale)
        weight = None if rho is None else rescale(rho, r, loss_scale)[2]
        reports["jacobian"] = reported_jacobian(ending.state.jacobian, size, shapes, weight)
        return x, reports

    if isinstance(differentiate, Unrolled):
        x, reports = solve(setting.x0, (*setting.known, tol), *args)
    else:
        equation = equation_for(title, ("symmetric",) if setting.box is None else (), "auto", differentiate, check)
        is_plain = isinstance(chosen, str) or getattr(chosen, "plain", False)
        function = ImplicitFunction(setting.conditions(), solve, setting.x0, equation, True, title, is_plain)
        x, reports = function((*setting.known, tol), *args)
        reports["fun"] = setting.attach_value(x, reports["fun"], args)
        if setting.box is not None:
            reports["grad"] = setting.attach_gradient(x, reports["grad"], args)
        vector = lambda x, fixed, *theta: _as_vector(functions(x, fixed, *theta))
        reports["residuals"] = attach_derivative(vector, reports["residuals"], (x, setting.fixed, *args))
    whole = setting.parts.merge(x, setting.fixed)
    entries = reports["history"]
    count = reports["iterations"]
    if entries is not None and not isinstance(count, TRACED) and np.ndim(count) == 0:
        entries = {name: each[: int(count) + 1] for name, each in entries.items()}
    optimum = Optimum(
        whole, reports["fun"], reports["grad"], reports["code"], count, reports["evaluations"], reports["residual"],
        tol if isinstance(tol, TRACED) else np.float64(tol), None, reports["active"], entries, None,
        original(whole, *given_args)[1] if has_aux else None, f"least_squares by {name}",
    )  # fmt: skip
    return _fit(setting, optimum, x, reports, args, absolute, shapes[-1] if shapes else None)


def reported_jacobian(J: Any, size: Any, shapes: list[Any], weight: Any = None) -> Any:
    """∂r by its numbers: all of them, those of a sparse matrix (whose pattern goes to `shapes`), or none.

    `weight` are the factors by which a loss had rescaled its rows.
    """
    if isinstance(J, Products):
        return np.zeros((0, 0))
    if not hasattr(J, "indptr"):
        return J / size if weight is None else J / (size * weight[:, None])
    if weight is not None:
        J = J.copy()
        J.data = J.data / np.repeat(weight, np.diff(J.indptr))
    scaled = J if np.ndim(size) == 0 else (J * (1.0 / size)).tocsr()
    shapes.append(Pattern(scaled.indices, scaled.indptr, scaled.shape))
    return scaled.data


def _fit(
    setting: Setting, optimum: Optimum, x: Any, reports: Any, args: Any, absolute: bool, pattern: Pattern | None
) -> Fit:
    n = setting.unknowns.size
    free: Any = np.ones(n, bool)
    is_unknown = setting.parts.free
    if reports["active"] is not None:
        free = np.concatenate([np.reshape(a, (-1,)) for a in tree.leaves(reports["active"])]) == 0
    plain = not any(isinstance(leaf, TRACED) for leaf in tree.leaves((optimum, reports, args)))
    objective: Any = None
    if plain:

        def evaluate(v: Value) -> Any:
            size = setting.unknowns.scale
            return setting.function(setting.unknowns.tree(v if size is None else v / size), setting.fixed, *args)

        objective = evaluate
    return Fit(optimum, reports["residuals"], reports["jacobian"], free, absolute, objective, pattern=pattern,
               curvatures=reports["curvatures"],
               is_unknown=None if is_unknown is None else tuple(is_unknown))  # fmt: skip


def _as_vector(residual: Any) -> Any:
    leaves = [leaf if isinstance(leaf, TRACED) else np.asarray(leaf) for leaf in tree.leaves(residual)]
    return to_vector(leaves, [type_of(leaf) for leaf in leaves])


def _sum_losses(residual: Any, rho: Any, size: float) -> Any:
    leaves = tree.leaves(residual)
    if rho is None:
        return 0.5 * sum(np.sum(np.real(np.conj(r) * r)) for r in leaves)
    return 0.5 * size * size * sum(np.sum(rho(np.real(np.conj(r) * r) / size**2)) for r in leaves)


def _choose(title: str, method: Any, scaled: bool, size: int, sparsity: Any) -> Any:
    if method == "auto":
        few = size <= MATRIX or sparsity is None
        pattern = None if isinstance(sparsity, str) else sparsity
        return LevenbergMarquardt(scaled=scaled) if few else SparseMarquardt(pattern=pattern, scaled=scaled)
    if isinstance(method, str):
        name = method.lower()
        if name in SCIPY:
            return name
        if name not in METHODS:
            known = [*METHODS, *SCIPY]
            near = did_you_mean(method, known)
            raise ValueError(f"{title}: {method!r} is no method. {near or 'They are: ' + ', '.join(known) + '.'}")
        return METHODS[name](scaled=scaled)
    if not is_method(title, method) or "jacobian" not in method.needs:
        raise TypeError(
            f"{title}: method is a {type(method).__name__}; it is one of {', '.join(METHODS)}, or an object that asks "
            "for residuals and Jacobians, e.g. LevenbergMarquardt()."
        )
    return method


def _refuse_gaps(name: str, data: Any) -> None:
    """Data that are not numbers make every residual NaN, wherever the search starts: they are named."""
    for leaf, path in zip(tree.leaves(data), tree.structure(data).paths(), strict=True):
        if isinstance(leaf, TRACED) or np.asarray(leaf).dtype.kind not in "fc":
            continue
        missing = np.argwhere(np.isnan(leaf))
        if len(missing):
            at = list(map(int, missing[0])) if np.ndim(leaf) else ""
            raise ValueError(
                f"curve_fit: {name}{path}{at} is NaN, one of {len(missing)}. Leave such data out: "
                "keep = np.isfinite(y), then x[keep] and y[keep]."
            )


@user_facing
def curve_fit(
    model: Callable[..., Any],
    x: Any,
    y: Any,
    p0: Any,
    *,
    sigma: Any = None,
    absolute_sigma: bool = False,
    **options: Any,
) -> Fit:
    """Parameters p for which model(x, p) is nearest to y, by least squares, each datum in units of its `sigma`.

    With `absolute_sigma` the errors of parameters take sigma at its word; otherwise the size of the residuals tells the
    size of sigma. The other options are those of `least_squares`. The fit is differentiable in x, y and sigma.

    ```python
    t = np.linspace(0.0, 4.0, 9)
    y = 2.5 * np.exp(-1.3 * t) + 0.01 * np.cos(9 * t)
    fit = ad.optimize.curve_fit(lambda t, p: p["a"] * np.exp(-p["k"] * t), t, y, {"a": 1.0, "k": 1.0})
    np.round([fit.value["a"], fit.value["k"]], 1)  # → [2.5, 1.3]
    ```
    """
    _refuse_several_parameters(model)
    model = prepare_call(model)
    for name, data in (("x", x), ("y", y), ("sigma", sigma)):
        _refuse_gaps(name, data)
    _refuse_other_shapes(np.shape(sigma), np.shape(y))
    if sigma is not None and not isinstance(sigma, TRACED) and not np.all(np.asarray(sigma) > 0):
        raise ValueError("curve_fit: sigma holds standard deviations, which are positive.")

    def residual(p: Any, x: Any, y: Any, sigma: Any) -> Any:
        values = model(x, p)
        if np.shape(values) != np.shape(y) and np.shape(values) != ():
            raise ShapeError(f"curve_fit: the model gives shape {np.shape(values)}, and y has {np.shape(y)}.")
        return (values - y) if sigma is None else (values - y) / sigma

    y = y if isinstance(y, TRACED) else np.asarray(y)
    fit = least_squares(residual, p0, x, y, sigma, absolute=absolute_sigma, **options)
    scale: Any = -1.0 if sigma is None else -1.0 / sigma
    object.__setattr__(fit, "data_scale", np.reshape(scale, (-1,)) if np.ndim(scale) else scale + 0.0 * fit.residual)
    return fit


def _refuse_other_shapes(sigma: tuple[int, ...], y: tuple[int, ...]) -> None:
    """More errors than data would make residuals of all pairs."""
    pairs = zip(sigma[::-1], y[::-1], strict=False)
    if len(sigma) > len(y) or any(a not in {1, b} for a, b in pairs):
        raise ShapeError(
            f"curve_fit: sigma has shape {sigma}, and y has {y}: it is one standard deviation, or one for each datum. "
            "With a covariance matrix C = L Lᵀ fit solve_triangular(L, model - y, lower=True) by least_squares(…, "
            "absolute=True)."
        )


def _refuse_several_parameters(model: Callable[..., Any]) -> None:
    try:
        signature = inspect.signature(model)
    except (TypeError, ValueError):  # functions written in C may tell nothing
        return
    try:
        signature.bind(None, None)
    except TypeError:
        raise TypeError(
            f"curve_fit: the model is called as model(x, p), with all parameters in p; it is model{signature}. Write "
            "lambda x, p: model(x, *p), or use adjoint.scipy.optimize.curve_fit, which takes model(x, a, b, …)."
        ) from None
