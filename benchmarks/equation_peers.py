"""The peers of differential_equations.py: (value, gradient) as functions of parameters and a tolerance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Pair = tuple[Callable[[Any, float], Any], Callable[[Any, float], Any]]


def right_side(name: str, library: Any) -> Callable[..., Any]:
    """f(t, y, w) written in jax.numpy or torch, whose functions have the same names here."""
    eye = library.eye(7)

    def prey(t: Any, y: Any, w: Any) -> Any:
        return library.stack([w[0] * y[0] - w[1] * y[0] * y[1], -w[2] * y[1] + w[3] * y[0] * y[1]])

    def kepler(t: Any, y: Any, w: Any) -> Any:
        r3 = (y[0] ** 2 + y[1] ** 2) ** 1.5
        return library.stack([y[2], y[3], -w[0] * y[0] / r3, -w[0] * y[1] / r3])

    def pleiades(t: Any, y: Any, mass: Any) -> Any:
        x, z = y[:7], y[7:14]
        dx, dz = x[None, :] - x[:, None], z[None, :] - z[:, None]
        r3 = (dx**2 + dz**2 + eye) ** 1.5
        return library.concatenate([y[14:], (dx / r3) @ mass, (dz / r3) @ mass])

    return {"Lotka-Volterra": prey, "Kepler": kepler, "pleiades": pleiades}[name]


def diffrax_solver(name: str, method: str, span: Any, y0: Any, many: bool = False) -> Pair:
    """diffrax as its manual has it, with its default adjoint, all of it compiled."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    f = right_side(name, jnp)
    start = jnp.asarray(y0)

    def solve(w: Any, tol: Any) -> Any:
        found = diffrax.diffeqsolve(
            diffrax.ODETerm(f), getattr(diffrax, method)(), span[0], span[1], None, start, args=w, max_steps=4096,
            stepsize_controller=diffrax.PIDController(rtol=tol, atol=tol, pcoeff=0.3, icoeff=0.4),
        )  # fmt: skip
        return found.ys[0]

    lift = (lambda g: jax.vmap(g, in_axes=(0, None))) if many else (lambda g: g)
    value, gradient = jax.jit(lift(solve)), jax.jit(lift(jax.grad(lambda w, tol: jnp.sum(solve(w, tol)))))
    return (lambda w, tol: np.asarray(value(w, tol))), (lambda w, tol: np.asarray(gradient(w, tol)))


def torch_solver(name: str, method: str, span: Any, y0: Any) -> Pair:
    """torchdiffeq, with the gradient through its steps, on one thread."""
    import torch
    from torchdiffeq import odeint

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    f, start, times = right_side(name, torch), torch.tensor(y0), torch.tensor(span)

    def solve(w: Any, tol: float) -> Any:
        return odeint(lambda t, y: f(t, y, w), start, times, rtol=tol, atol=tol, method=method)[-1]

    def value(w: Any, tol: float) -> Any:
        with torch.no_grad():
            return solve(torch.tensor(w), tol).numpy()

    def gradient(w: Any, tol: float) -> Any:
        leaf = torch.tensor(w, requires_grad=True)
        solve(leaf, tol).sum().backward()
        return leaf.grad.numpy()

    return value, gradient


def quadax_solver(many: bool) -> Pair:
    """∫ exp(-a x) sin(b x) over (0, ∞) by quadax's adaptive Gauss-Kronrod rule."""
    import jax
    import jax.numpy as jnp
    from quadax import quadgk

    jax.config.update("jax_enable_x64", True)

    def one(p: Any, tol: Any) -> Any:
        f = lambda x, a, b: jnp.exp(-a * x) * jnp.sin(b * x)
        return quadgk(f, jnp.array([0.0, jnp.inf]), args=(p[0], p[1]), epsabs=tol, epsrel=tol)[0]

    lift = (lambda g: jax.vmap(g, in_axes=(0, None))) if many else (lambda g: g)
    value, gradient = jax.jit(lift(one)), jax.jit(lift(jax.grad(one)))
    return (lambda p, tol: np.asarray(value(p, tol))), (lambda p, tol: np.asarray(gradient(p, tol)))


def numba_solver(span: Any, y0: Any) -> tuple[Callable[[Any, float], Any], None]:
    """Dormand and Prince's pair for Lotka-Volterra alone, as one writes it in numba; without a gradient."""
    from numba import njit

    from adjoint.integrate import choose

    pair = choose("dopri5")
    A = np.zeros((7, 7))
    for i, row in enumerate(pair.A):
        A[i, : len(row)] = row
    return numba_loop(njit, A, np.array(pair.b), np.array(pair.error), float(span[1]), y0), None


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
