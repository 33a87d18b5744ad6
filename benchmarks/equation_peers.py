"""The peers of differential_equations.py, each as a `Solver` of one equation: as their users call them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.equation_problems import CasadiNames, right_side
from benchmarks.equation_timing import Solver

MOST_STEPS = 16_384


def weigh(y: Any, library: Any) -> Any:
    """y₁ + 2 y₂ + …, what gradients are of; a plain sum is constant where mass is conserved."""
    if library.__name__ == "casadi":
        return library.dot(np.arange(1.0, y.shape[0] + 1), y)
    return library.sum(y * library.arange(1, y.shape[-1] + 1))


def _jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def diffrax_solver(name: str, method: str, span: Any, y0: Any, w: Any, size: Any = 1.0, many: bool = False) -> Solver:
    """diffrax as its manual has it, with its default adjoint, all of it compiled."""
    import diffrax

    jax = _jax()
    jnp = jax.numpy
    f, start, scale = right_side(name, jnp), jnp.asarray(y0), jnp.asarray(size)

    def solve(w: Any, tol: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(f), getattr(diffrax, method)(), span[0], span[1], None, start, args=w, max_steps=MOST_STEPS,
            stepsize_controller=diffrax.PIDController(rtol=tol, atol=tol * scale, pcoeff=0.3, icoeff=0.4),
        )  # fmt: skip
        return found.ys[0]

    lift = (lambda g: jax.vmap(g, in_axes=(0, None))) if many else (lambda g: g)
    value, gradient = jax.jit(lift(solve)), jax.jit(lift(jax.grad(lambda w, tol: weigh(solve(w, tol), jnp))))
    return Solver(lambda tol: np.asarray(value(w, tol)), lambda tol: np.asarray(gradient(w, tol)))


def torch_solver(name: str, method: str, span: Any, y0: Any, w: Any) -> Solver:
    """torchdiffeq, with the gradient through its steps, on one thread."""
    import torch
    from torchdiffeq import odeint

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    f, start, times = right_side(name, torch), torch.tensor(y0), torch.tensor(span)

    def solve(w: Any, tol: float) -> Any:
        return odeint(lambda t, y: f(t, y, w), start, times, rtol=tol, atol=tol, method=method)[-1]

    def value(tol: float) -> Any:
        with torch.no_grad():
            return solve(torch.tensor(w), tol).numpy()

    def gradient(tol: float) -> Any:
        leaf = torch.tensor(w, requires_grad=True)
        weigh(solve(leaf, tol), torch).sum().backward()
        return leaf.grad.numpy()

    return Solver(value, gradient)


def torchode_solver(span: Any, y0: Any, w: Any) -> Solver:
    """Many Lotka-Volterra equations by torchode, which gives each its own steps; not compiled."""
    import torch
    import torchode

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    count = len(w)
    start = torch.tensor(np.broadcast_to(y0, (count, len(y0))).copy())
    ends = [torch.full((count,), float(t)) for t in span]

    def solve(w: Any, tol: float) -> Any:
        def f(t: Any, y: Any, w: Any) -> Any:
            return torch.stack([w[:, 0] * y[:, 0] - w[:, 1] * y[:, 0] * y[:, 1],
                                -w[:, 2] * y[:, 1] + w[:, 3] * y[:, 0] * y[:, 1]], 1)  # fmt: skip

        term = torchode.ODETerm(f, with_args=True)
        method = torchode.Dopri5(term=term)
        control = torchode.IntegralController(atol=tol, rtol=tol, term=term)
        solver = torchode.AutoDiffAdjoint(method, control)
        problem = torchode.InitialValueProblem(y0=start, t_start=ends[0], t_end=ends[1], t_eval=ends[1][:, None])
        return solver.solve(problem, args=w).ys[:, -1]

    def value(tol: float) -> Any:
        with torch.no_grad():
            return solve(torch.tensor(w), tol).numpy()

    def gradient(tol: float) -> Any:
        leaf = torch.tensor(w, requires_grad=True)
        weigh(solve(leaf, tol), torch).sum().backward()
        return leaf.grad.numpy()

    return Solver(value, gradient)


def scipy_solver(name: str, method: str, span: Any, y0: Any, w: Any, size: Any = 1.0, pattern: Any = None) -> Solver:
    """SciPy's `solve_ivp` with f in NumPy."""
    from scipy.integrate import solve_ivp

    f, extra = right_side(name, np), {} if pattern is None else {"jac_sparsity": pattern}

    def value(tol: float) -> Any:
        found = solve_ivp(f, span, y0, method=method, rtol=tol, atol=tol * size, args=(w,), **extra)
        if not found.success:
            raise RuntimeError(found.message)
        return found.y[:, -1]

    return Solver(value)


def cvode_solver(name: str, span: Any, y0: Any, w: Any, size: Any = 1.0, pattern: Any = None) -> Solver:
    """CVODE by scikit-sundae, with f in NumPy: dense, or SuperLU with a pattern."""
    from scipy.sparse import csc_matrix
    from sksundae.cvode import CVODE

    f, extra = right_side(name, np), {}
    if pattern is not None:
        given = csc_matrix(pattern)
        given.indices, given.indptr = given.indices.astype(np.int32), given.indptr.astype(np.int32)
        extra = {"linsolver": "sparse", "sparsity": given}

    def right(t: float, y: Any, yp: Any) -> None:
        yp[:] = f(t, y, w)

    def value(tol: float) -> Any:
        solver = CVODE(right, method="BDF", rtol=tol, atol=tol * size, max_num_steps=100_000, **extra)
        return solver.solve(np.array(span), y0).y[-1]

    return Solver(value)


def casadi_solver(name: str, span: Any, y0: Any, w: Any, size: float = 1.0) -> Solver:
    """CasADi's CVODES: f and its Jacobian in CasADi's own machine, sparse, adjoint sensitivities."""
    import casadi

    y, p = casadi.SX.sym("y", len(y0)), casadi.SX.sym("p", len(w))
    equation = {"x": y, "p": p, "ode": right_side(name, CasadiNames())(0.0, y, p)}

    @cache
    def made(tol: float) -> tuple[Any, Any]:
        options = {"reltol": tol, "abstol": tol * float(np.min(size)), "max_num_steps": 100_000}
        F = casadi.integrator("F", "cvodes", equation, span[0], span[1], options)
        q = casadi.MX.sym("p", len(w))
        slope = casadi.gradient(weigh(F(x0=y0, p=q)["xf"], casadi), q)
        return F, casadi.Function("g", [q], [slope])

    return Solver(lambda tol: np.asarray(made(tol)[0](x0=y0, p=w)["xf"])[:, 0],
                  lambda tol: np.asarray(made(tol)[1](w))[:, 0])  # fmt: skip


def quadax_solver(p: Any) -> Solver:
    """∫ exp(-a x) sin(b x) over (0, ∞) by quadax's adaptive Gauss-Kronrod rule."""
    from quadax import quadgk

    jax = _jax()
    jnp = jax.numpy

    def one(p: Any, tol: Any) -> Any:
        f = lambda x, a, b: jnp.exp(-a * x) * jnp.sin(b * x)
        return quadgk(f, jnp.array([0.0, jnp.inf]), args=(p[0], p[1]), epsabs=tol, epsrel=tol)[0]

    lift = (lambda g: jax.vmap(g, in_axes=(0, None))) if p.ndim > 1 else (lambda g: g)
    value, gradient = jax.jit(lift(one)), jax.jit(lift(jax.grad(one)))
    return Solver(lambda tol: np.asarray(value(p, tol)), lambda tol: np.asarray(gradient(p, tol)))


def numba_solver(span: Any, y0: Any, w: Any) -> Solver:
    """Dormand and Prince's pair for Lotka-Volterra alone, as one writes it in numba; without a gradient."""
    from numba import njit

    from adjoint.integrate import choose

    pair = choose("dopri5")
    A = np.zeros((7, 7))
    for i, row in enumerate(pair.A):
        A[i, : len(row)] = row
    solve = numba_loop(njit, A, np.array(pair.b), np.array(pair.error), float(span[1]), y0)
    return Solver(lambda tol: solve(w, tol))


def numba_loop(njit: Any, A: Any, b: Any, error: Any, end: float, y0: Any) -> Callable[[Any, float], Any]:
    @njit(fastmath=False)
    def solve(w: Any, tol: float) -> Any:
        k, y, z, new = np.zeros((7, 2)), y0.copy(), np.zeros(2), np.zeros(2)
        t, h, before = 0.0, 0.01, 1e-4
        k[0, 0], k[0, 1] = w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]
        while t < end:
            h = min(h, end - t)
            for i in range(1, 7):
                for m in range(2):
                    total = 0.0
                    for j in range(i):
                        total += A[i, j] * k[j, m]
                    z[m] = y[m] + h * total
                k[i, 0], k[i, 1] = w[0] * z[0] - w[1] * z[0] * z[1], -w[2] * z[1] + w[3] * z[0] * z[1]
            squares = 0.0
            for m in range(2):
                total, off = 0.0, 0.0
                for i in range(7):
                    total += b[i] * k[i, m]
                    off += error[i] * k[i, m]
                new[m] = y[m] + h * total
                squares += (h * off / (tol + tol * max(abs(y[m]), abs(new[m])))) ** 2
            size = max(np.sqrt(squares / 2), 1e-10)
            if size <= 1.0:
                t = t + h
                y[:] = new
                k[0] = k[6]
                h *= min(5.0, max(0.2, 0.9 * size**-0.14 * before**0.08))
                before = max(size, 1e-4)
            else:
                h *= max(0.2, 0.9 * size**-0.2)
        return y

    return solve
