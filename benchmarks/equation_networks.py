"""Workloads of networks and noise: a neural equation on a batch, and many paths of a stochastic equation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from benchmarks.equation_timing import Row, Solver, compare

import numpy as np  # isort: skip

import adjoint as ad
from adjoint import integrate

WIDTH, BATCH = 64, 128
PATHS, STEPS = 10_000, 100


def neural_equation() -> list[Row]:
    """y′ = tanh(tanh(y A + a) B + b), 64 wide, a batch of 128, and the gradient in A, a, B and b."""
    rng = np.random.default_rng(0)
    w = (rng.normal(size=(WIDTH, WIDTH)) / 4, rng.normal(size=WIDTH), rng.normal(size=(WIDTH, WIDTH)) / 4,
         rng.normal(size=WIDTH))  # fmt: skip
    y0 = rng.normal(size=(BATCH, WIDTH))
    field = lambda lib: lambda t, y, w: lib.tanh(lib.tanh(y @ w[0] + w[1]) @ w[2] + w[3])
    flat = lambda found: np.concatenate([np.ravel(v) for v in found])

    def ours() -> Solver:
        solve = lambda w, tol: integrate.solve(field(np), (0.0, 1.0), y0, args=(w,), method="tsit5", rtol=tol, atol=tol)
        value = ad.jit(lambda w, tol: solve(w, tol).last)
        gradient = ad.jit(ad.grad(lambda w, tol: np.sum(solve(w, tol).last ** 2)))
        return Solver(lambda tol: value(w, tol), lambda tol: flat(gradient(w, tol)))

    def by_diffrax() -> Solver:
        import diffrax
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def solve(w: Any, tol: Any) -> Any:
            control = diffrax.PIDController(rtol=tol, atol=tol, pcoeff=0.3, icoeff=0.4)
            return diffrax.diffeqsolve(diffrax.ODETerm(field(jnp)), diffrax.Tsit5(), 0.0, 1.0, None, jnp.asarray(y0),
                                       args=w, stepsize_controller=control).ys[0]  # fmt: skip

        value, gradient = jax.jit(solve), jax.jit(jax.grad(lambda w, tol: jnp.sum(solve(w, tol) ** 2)))
        return Solver(lambda tol: np.asarray(value(w, tol)), lambda tol: flat(gradient(w, tol)))

    def by_torch() -> Solver:
        import torch
        from torchdiffeq import odeint

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        start, times = torch.tensor(y0), torch.tensor([0.0, 1.0])
        solve = lambda w, tol: odeint(lambda t, y: field(torch)(t, y, w), start, times, rtol=tol, atol=tol)[-1]

        def value(tol: float) -> Any:
            with torch.no_grad():
                return solve([torch.tensor(v) for v in w], tol).numpy()

        def gradient(tol: float) -> Any:
            leaves = [torch.tensor(v, requires_grad=True) for v in w]
            (solve(leaves, tol) ** 2).sum().backward()
            return flat([leaf.grad for leaf in leaves])

        return Solver(value, gradient)

    makers: dict[str, Callable[[], Solver]] = {"adjoint, tsit5": ours}
    if find_spec("diffrax"):
        makers["diffrax, Tsit5"] = by_diffrax
    if find_spec("torchdiffeq"):
        makers["torchdiffeq, dopri5"] = by_torch
    exact = integrate.solve(field(np), (0.0, 1.0), y0, args=(w,), method="verner9", rtol=1e-12, atol=1e-12).last
    return compare(f"neural equation, batch {BATCH}", makers, np.asarray(exact), 1e-6)


def stochastic_equation() -> list[Row]:
    """dy = θ (μ - y) dt + σ √(1 + y²) dW, 10⁴ paths by 100 steps of order 1.5: the mean of y² at the end."""
    p, y0, h = np.array([1.0, 0.5, 0.3]), np.ones(PATHS), 1.0 / STEPS
    drift = lambda t, y, p: p[0] * (p[1] - y)
    noise = lambda sqrt: lambda t, y, p: p[2] * sqrt(1 + y * y)

    def ours() -> Solver:
        def mean(p: Any) -> Any:
            rng = ad.random.default_rng(0)
            found = integrate.solve_sde(
                drift, noise(np.sqrt), (0.0, 1.0), y0, rng, args=(p,), method="sri", steps=STEPS
            )
            return np.mean(found.last**2)

        value, gradient = ad.jit(mean), ad.jit(ad.grad(mean))
        return Solver(lambda _: value(p), lambda _: gradient(p))

    def by_torchsde() -> Solver:
        import torch
        import torchsde

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)

        class Equation(torch.nn.Module):
            noise_type, sde_type = "diagonal", "ito"

            def __init__(self, p: Any) -> None:
                super().__init__()
                self.p = p

            def f(self, t: Any, y: Any) -> Any:
                return drift(t, y, self.p)

            def g(self, t: Any, y: Any) -> Any:
                return noise(torch.sqrt)(t, y, self.p)

        def mean(p: Any) -> Any:
            times, start = torch.tensor([0.0, 1.0]), torch.tensor(y0)[:, None]
            motion = torchsde.BrownianInterval(0.0, 1.0, (PATHS, 1), entropy=0, levy_area_approximation="space-time")
            return (torchsde.sdeint(Equation(p), start, times, bm=motion, method="srk", dt=h)[-1] ** 2).mean()

        def value(_: float) -> Any:
            with torch.no_grad():
                return mean(torch.tensor(p)).numpy()

        def gradient(_: float) -> Any:
            leaf = torch.tensor(p, requires_grad=True)
            mean(leaf).backward()
            return leaf.grad.numpy()

        return Solver(value, gradient)

    def by_diffrax() -> Solver:
        import diffrax
        import jax
        import jax.numpy as jnp

        jax.config.update("jax_enable_x64", True)

        def one(p: Any, start: Any, key: Any) -> Any:
            motion = diffrax.UnsafeBrownianPath(shape=(), key=key, levy_area=diffrax.BrownianIncrement)
            terms = diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(noise(jnp.sqrt), motion))
            return diffrax.diffeqsolve(terms, diffrax.ItoMilstein(), 0.0, 1.0, h, start, args=p, max_steps=STEPS + 4,
                                       adjoint=diffrax.DirectAdjoint()).ys[0]  # fmt: skip

        keys = jax.random.split(jax.random.key(0), PATHS)
        mean = lambda p: jnp.mean(jax.vmap(one, in_axes=(None, 0, 0))(p, jnp.asarray(y0), keys) ** 2)
        value, gradient = jax.jit(mean), jax.jit(jax.grad(mean))
        return Solver(lambda _: np.asarray(value(p)), lambda _: np.asarray(gradient(p)))

    makers: dict[str, Callable[[], Solver]] = {"adjoint, sri": ours}
    if find_spec("torchsde"):
        makers["torchsde, srk"] = by_torchsde
    if find_spec("diffrax"):
        makers["diffrax, Milstein (order 1)"] = by_diffrax
    with ad.config.override(cache=False):
        exact = ours().value(0.0)  # other draws: the means of 10⁴ paths differ by a few percent
    return compare(f"{PATHS} stochastic paths", makers, exact, 0.05, near=0.2, tolerances=[1e-3])
