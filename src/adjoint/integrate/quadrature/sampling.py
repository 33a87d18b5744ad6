"""Integrals over boxes by random and quasi-random points, with standard errors.

    ∫ f dx ≈ V/n Σ f(xᵢ),        error² = V²/n · variance of f(xᵢ)

Quasi-random points are drawn several times over, each time shifted at random, so that the spread of the results tells
the error. The points are constants to every derivative; the ends of the box move them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import tree
from adjoint.api.gradients import stop_gradient, vmap
from adjoint.base.source import user_facing
from adjoint.implicit.vectors import to_vector
from adjoint.integrate.derivative import detach
from adjoint.integrate.quadrature.adaptive import CONVERGED, NOT_FINITE
from adjoint.integrate.quadrature.integral import Integral
from adjoint.integrate.quadrature.jumps import SEGMENTS, STAND_STILL, may_jump, mean_size, warn_of_jumps
from adjoint.integrate.quadrature.reading import read_box, read_count, read_function, read_integrand
from adjoint.integrate.quadrature.statuses import Doubts
from adjoint.ops.custom import Attach
from adjoint.optimize.iteration import as_code
from adjoint.program.program import Program, interpret
from adjoint.program.types import Value
from adjoint.transform.custom import BatchedRule

__all__ = ["monte_carlo", "qmc"]


@dataclass(frozen=True)
class _Watched:
    """Values as they are, whose derivative tells of jumps that move with them: samples do not see those.

    The arguments are the ends of the box, θ, and points of the unit cube.
    """

    program: Program
    doubts: Doubts

    @property
    def title(self) -> str:
        return self.doubts.title

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        self._look(xs, [dx is not None for dx in dxs])
        return dxs[:-1]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        self._look(xs, wanted)
        return [*[ct if w else None for ct, w in zip(cts, wanted, strict=False)], None]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)

    def _look(self, xs: Sequence[Value], active: Sequence[bool]) -> None:
        ends_active, theta_active = active[0] or active[1], active[2:-1]
        if self.doubts.are_ignored or not may_jump(self.program, (False, ends_active, *theta_active)):
            return
        low, high, *theta, unit = detach(list(xs))
        there = lambda u: low + (high - low) * u
        values = lambda x: to_vector(
            interpret(self.program, [np.float64(0.0), x, *theta]), self.program.output_types
        )  # fmt: skip
        with np.errstate(all="ignore"):
            found = vmap(lambda u: values(there(u)))(unit)
            change = np.max(np.abs(found[1:] - found[:-1]), axis=1)
            count = change.shape[0]
            steepest = np.argsort(-change)[: SEGMENTS // 2]
            some = np.unique(np.linspace(0, count - 1, min(SEGMENTS // 2, count)).astype(np.int64))
            chosen = np.concatenate([steepest, some])
            points = unit + 0 * chosen[0]  # traced, if the places are
            segments = points[chosen], points[chosen + 1]
            warn_of_jumps(self.doubts, values, there, segments, mean_size(values, there, unit), STAND_STILL)


def _averages(doubts: Doubts, f: Callable[..., Any], args: Any, low: Value, high: Value, unit: Value) -> Any:
    """f at points of the unit cube, moved into the box, times its volume."""
    floats = lambda x, *given: tree.map(lambda leaf: 1.0 * leaf, f(x, *given))
    made = read_integrand(doubts.title, floats, args, np.zeros(low.shape[0]))
    given = [low, high, *made.theta]
    a, b, *theta = Attach(_Watched(made.program, doubts), len(given))(*detach(given), *given, unit)
    volume = np.prod(b - a)
    values = vmap(lambda u: tuple(interpret(made.program, [np.float64(0.0), a + (b - a) * u, *theta])))(unit)
    return tree.unflatten(made.structure, [volume * leaf for leaf in values])


def _answer(values: Any, spread: Any, count: int, method: str) -> Integral:
    error = np.max(np.stack([np.max(np.ravel(np.abs(leaf))) for leaf in tree.leaves(spread)]))
    error = stop_gradient(error)
    code = as_code(np.where(np.isfinite(error), CONVERGED, NOT_FINITE))
    return Integral(values, error, code, np.int64(count), method)


def _read(title: str, f: Any, args: Any, low: Any, high: Any, n: Any, rng: Any) -> tuple[Any, Value, Value, int]:
    if not hasattr(rng, "uniform"):
        raise TypeError(f"{title}: rng is {rng!r}; it is a generator, such as ad.random.default_rng(0).")
    return read_function(title, f, args), *read_box(title, low, high), read_count(title, "n", n)


@user_facing
def monte_carlo(
    f: Callable[..., Any], low: Any, high: Any, n: int, rng: Any, *, args: Sequence[Any] = (), check: str = "warn",
) -> Integral:  # fmt: skip
    """∫ f(x, *args) dx over a box by n random points of `rng`, with the standard error.

    `check` is what happens where the derivative misses a jump that moves: "warn", "raise" or "ignore".

    ```python
    rng = ad.random.default_rng(0)
    found = ad.integrate.monte_carlo(lambda x: np.sum(x**2), np.zeros(3), np.ones(3), 2000, rng)
    bool(abs(found.value - 1.0) < 4 * found.error)  # → True
    ```
    """
    run, a, b, n = _read("integrate.monte_carlo", f, args, low, high, n, rng)
    if n < 2:
        raise ValueError(f"integrate.monte_carlo: n is {n}; at least two points tell an error.")
    values = _averages(Doubts("integrate.monte_carlo", check), run, args, a, b, rng.uniform(size=(n, a.shape[0])))
    mean = tree.map(lambda leaf: np.mean(leaf, axis=0), values)
    spread = tree.map(
        lambda leaf: np.sqrt(np.mean(np.abs(leaf - np.mean(leaf, axis=0)) ** 2, axis=0) / (n - 1)), values
    )
    return _answer(mean, spread, n, "integrate.monte_carlo")


@user_facing
def qmc(
    f: Callable[..., Any], low: Any, high: Any, n: int, rng: Any, *, args: Sequence[Any] = (), repeats: int = 8,
    points: str = "sobol", check: str = "warn",
) -> Integral:  # fmt: skip
    """∫ f(x, *args) dx over a box by `repeats` times n quasi-random points ("sobol" or "halton"), with the error.

    `check` is as in `monte_carlo`.

    ```python
    rng = ad.random.default_rng(0)
    found = ad.integrate.qmc(lambda x: np.prod(x), np.zeros(4), np.ones(4), 256, rng)
    bool(abs(found.value - 1 / 16) < 4 * found.error)  # → True
    ```
    """
    from scipy.stats import qmc as sequences

    kinds = {"sobol": sequences.Sobol, "halton": sequences.Halton}
    if points not in kinds:
        raise ValueError(f"integrate.qmc: points={points!r}; they are 'sobol' or 'halton'.")
    run, a, b, n = _read("integrate.qmc", f, args, low, high, n, rng)
    repeats = read_count("integrate.qmc", "repeats", repeats)
    if repeats < 2:
        raise ValueError("integrate.qmc: repeats is 1; two repeats or more tell an error.")
    dimension = a.shape[0]
    plain: Any = kinds[points](dimension, scramble=False)
    unit = plain.random(n) if points == "halton" or n & (n - 1) == 0 else plain.random(1 << (n - 1).bit_length())[:n]
    shifts = rng.uniform(size=(repeats, 1, dimension))
    moved = np.mod(unit + 0.5 / n + shifts, 1.0)
    values = _averages(Doubts("integrate.qmc", check), run, args, a, b, np.reshape(moved, (-1, dimension)))
    each = tree.map(lambda leaf: np.mean(np.reshape(leaf, (repeats, n, *leaf.shape[1:])), axis=1), values)
    mean = tree.map(lambda leaf: np.mean(leaf, axis=0), each)
    spread = tree.map(
        lambda leaf: np.sqrt(np.mean(np.abs(leaf - np.mean(leaf, axis=0)) ** 2, axis=0) / (repeats - 1)), each
    )
    return _answer(mean, spread, repeats * n, f"integrate.qmc by {points}")
