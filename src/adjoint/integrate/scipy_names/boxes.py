"""`tanhsinh`, `cubature` and `qmc_quad` under SciPy's names: integrands that take many points at once."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.integrate as theirs
from scipy.optimize import OptimizeResult

from adjoint import tree
from adjoint.api.gradients import stop_gradient, vmap
from adjoint.base.errors import UnsupportedError
from adjoint.base.source import user_facing
from adjoint.conversion.driver import prepare
from adjoint.integrate.quadrature.integral import Integral, quad
from adjoint.integrate.quadrature.reading import read_integrand
from adjoint.integrate.quadrature.several import cubature as integral
from adjoint.integrate.scipy_names.choice import has_traced, try_theirs
from adjoint.scipy.arguments import array, floating

__all__ = ["cubature", "qmc_quad", "tanhsinh"]


def _refuse(title: str, **given: Any) -> None:
    """What SciPy has, and a derivative does not."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise UnsupportedError(f"{title}: {name}={value!r} has no derivative here; leave it out.")


@user_facing
@functools.wraps(theirs.tanhsinh)
def tanhsinh(
    f: Any,
    a: Any,
    b: Any,
    *,
    args: Any = (),
    log: bool = False,
    maxlevel: Any = None,
    minlevel: Any = 2,
    atol: Any = None,
    rtol: Any = None,
    preserve_shape: bool = False,
    callback: Any = None,
) -> Any:
    title, args = "scipy.integrate.tanhsinh", args if isinstance(args, tuple) else (args,)
    plain = lambda: theirs.tanhsinh(
        f, a, b, args=args, log=log, maxlevel=maxlevel, minlevel=minlevel, atol=atol, rtol=rtol,
        preserve_shape=preserve_shape, callback=callback,
    )  # fmt: skip
    zeros = tree.map(lambda v: np.zeros(np.shape(v)), args)
    found = try_theirs((a, b, args), plain, lambda: read_integrand(title, f, zeros).theta)
    if found is not None:
        return found[0]
    _refuse(title, log=log, preserve_shape=preserve_shape, callback=callback)
    ends = [floating(array(v)) for v in (a, b, *args)]
    shape = np.broadcast_shapes(*[v.shape for v in ends])
    run = prepare(f)
    values = lambda x, *given: floating(run(x, *given))
    relative, absolute = 1e-12 if rtol is None else rtol, 0.0 if atol is None else atol
    one = lambda a, b, *given: quad(values, a, b, args=given, method="tanh-sinh", rtol=relative, atol=absolute)
    many = lambda *flat: vmap(one)(*[np.reshape(np.broadcast_to(v, shape), (-1,)) for v in flat])
    result = many(*ends) if shape else one(*ends)
    fit = lambda v: np.reshape(v, shape) if shape else v
    return OptimizeResult(success=fit(result.converged), status=fit(result.code), integral=fit(result.value),
                          error=fit(result.error), nfev=fit(result.evaluations))  # fmt: skip


@user_facing
@functools.wraps(theirs.cubature)
def cubature(
    f: Any,
    a: Any,
    b: Any,
    *,
    rule: Any = "gk21",
    rtol: Any = 1e-8,
    atol: Any = 0,
    max_subdivisions: Any = 10000,
    args: Any = (),
    workers: Any = 1,
    points: Any = None,
) -> Any:
    title, args = "scipy.integrate.cubature", args if isinstance(args, tuple) else (args,)
    plain = lambda: theirs.cubature(
        f, a, b, rule=rule, rtol=rtol, atol=atol, max_subdivisions=max_subdivisions, args=args, workers=workers,
        points=points,
    )  # fmt: skip
    run = prepare(f)
    values = lambda x, *given: floating(run(x[None, :], *given))[0]
    read = lambda: read_integrand(title, values, args, np.zeros(np.shape(a))).theta
    found = try_theirs((a, b, args, points), plain, read)
    if found is not None:
        return found[0]
    _refuse(title, points=points)
    result: Integral = integral(values, floating(array(a)), floating(array(b)), args=args, rtol=rtol, atol=atol)
    status = "not known yet" if has_traced(result.code) else "converged" if result.converged else "not_converged"
    return OptimizeResult(estimate=result.value, error=result.error, status=status, rtol=rtol, atol=atol)


@user_facing
@functools.wraps(theirs.qmc_quad)
def qmc_quad(
    func: Any, a: Any, b: Any, *, n_estimates: int = 8, n_points: int = 1024, qrng: Any = None, log: bool = False
) -> Any:
    title = "scipy.integrate.qmc_quad"
    options = {"n_estimates": n_estimates, "n_points": n_points, "qrng": qrng}
    run = prepare(func)
    count = floating(array(a)).size
    read = lambda: read_integrand(title, lambda x: np.sum(floating(run(x[:, None]))), (), np.zeros(count)).theta
    found = try_theirs((a, b), lambda: theirs.qmc_quad(func, a, b, **options, log=log), read)
    if found is not None:
        return found[0]
    _refuse(title, log=log)
    ends = [np.reshape(floating(array(v)), (-1,)) for v in (a, b)]
    low, high = np.minimum(*ends), np.maximum(*ends)
    unit: list[Any] = []  # SciPy's own points

    def look(x: Any) -> Any:
        unit.append(np.array(x))
        return np.zeros(np.shape(x)[1:])

    theirs.qmc_quad(look, np.zeros(count), np.ones(count), **options)
    size = np.prod(high - low) * np.prod(np.where(ends[0] <= ends[1], 1.0, -1.0))
    points = [u for u in unit if u.ndim == 2 and u.shape[1] == n_points][-n_estimates:]
    each = [size * np.mean(run(low[:, None] + (high - low)[:, None] * u)) for u in points]
    stacked = np.stack(each)
    mean = np.mean(stacked)
    error = np.sqrt(np.sum((stacked - mean) ** 2) / (n_estimates * (n_estimates - 1)))
    return OptimizeResult(integral=mean, standard_error=stop_gradient(error))
