"""Is a function linear? Is it differentiable, or does it only have derivatives along lines? Both from values alone.

A map l is linear when l[a u + b v] = a l[u] + b l[v]. A function is differentiable (Fréchet) at x when some linear map
∂f(x) leaves a residual that falls faster than the step,

    ‖f(x + v) - f(x) - ∂f(x)[v]‖ / ‖v‖ → 0   as v → 0.

It may have a derivative along every line (Gateaux) without being differentiable: x₁³/(x₁² + x₂²) at 0 has
∂f(0)[v] = f(v), which is not linear in v.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import AdjointError, NotLinear
from adjoint.testing.extrapolation import richardson
from adjoint.testing.vectors import (
    at_values,
    combination,
    epsilon,
    has_tangent,
    line,
    matching_leaves,
    norm,
    random_direction,
)
from adjoint.tree import Tree, flatten


class NotDifferentiable(AdjointError, AssertionError):  # noqa: N818 (a statement about the function, as NotLinear is)
    """The residual of a linear approximation does not fall faster than the step.

    ```python
    ad.testing.check_frechet(np.abs, 0.0, derivative=lambda v: v)  # → NotDifferentiable
    ```
    """


ALONG_LINES_ONLY = (
    "f has derivatives along lines (Gateaux), but is not differentiable (Fréchet) at x; or the derivative given "
    "is wrong. ad.kinks tells which operations are not smooth there."
)


@at_values
def check_linear(
    f: Callable[[Any], Tree], x: Tree, *, rtol: float | None = None, trials: int = 3, seed: int = 0
) -> None:
    """Raise NotLinear unless f[a u + b v] = a f[u] + b f[v] for random numbers a, b and random u, v like x.

    The values of x do not matter, only its structure, shapes and types. An affine map with an offset is not linear.

    ```python
    ad.testing.check_linear(lambda x: x + 1.0, 1.0)  # → NotLinear: f is not linear
    ```
    """
    rng = np.random.default_rng(seed)
    tolerance = 1e4 * epsilon(x) if rtol is None else rtol
    for _ in range(trials):
        u, v = random_direction(x, rng), random_direction(x, rng)
        a, b = rng.normal(size=2)
        joint, alone = f(combination(a, u, b, v)), (f(u), f(v))
        compare_sum("check_linear: f", joint, (a, alone[0]), (b, alone[1]), tolerance, 0.0)


def compare_sum(
    name: str,
    joint: Tree,
    first: tuple[float, Tree],
    second: tuple[float, Tree],
    rtol: float,
    atol: float,
    advice: str = "Take away what does not depend on the argument, and what bends.",
) -> None:
    """Raise NotLinear unless joint = a first + b second, with the position and both numbers."""
    leaves, structure = flatten(joint)
    (a, p), (b, q) = first, second
    firsts, seconds = (matching_leaves(part, structure, "f[v]", "f[u + v]") for part in (p, q))
    paths = structure.paths("output")
    for leaf, left, right, path in zip(leaves, firsts, seconds, paths, strict=True):
        if not has_tangent(leaf):
            continue
        parts = np.asarray(a * np.asarray(left)), np.asarray(b * np.asarray(right))
        joint_value, expected = np.asarray(leaf), parts[0] + parts[1]
        size = max((float(np.max(np.abs(part), initial=0.0)) for part in (joint_value, *parts)), default=0.0)
        gap = np.abs(joint_value - expected)
        if not np.all(gap <= rtol * size + atol):
            worst = np.unravel_index(int(np.argmax(np.where(np.isnan(gap), np.inf, gap))), gap.shape)
            raise NotLinear(
                f"{name} is not linear: at {describe_position(path, worst)}, f[a u + b v] = {joint_value[worst]:.6g} "
                f"but a f[u] + b f[v] = {expected[worst]:.6g}, with a = {a:.4g} and b = {b:.4g}. {advice}"
            )


def describe_position(path: str, index: tuple[Any, ...]) -> str:
    """The path of an element: `output['w'][0, 2]`."""
    return path + (f"[{', '.join(str(int(i)) for i in index)}]" if index else "")


@at_values
def check_frechet(
    f: Callable[[Any], Tree],
    x: Tree,
    *,
    derivative: Callable[[Tree], Tree] | None = None,
    directions: int = 4,
    radii: tuple[float, ...] = (1e-1, 1e-2, 1e-3, 1e-4),
    seed: int = 0,
) -> list[float]:
    """Check that f is differentiable at x, and return the residual ratios, which fall with the radii.

    The directional derivative is that of central differences, or `derivative`, a function v ↦ ∂f(x)[v] to be tested.
    It must be linear in v (else NotLinear), and its residual ‖f(x + t v) - f(x) - t ∂f(x)[v]‖ / ‖t v‖ must fall over
    the radii t, and still by a third between the last two, down to the size of rounding (else NotDifferentiable).
    Random directions cannot see everything: a function that misbehaves along a curve alone passes.

    ```python
    ratios = ad.testing.check_frechet(lambda x: np.sum(x**2), np.ones(2))
    ratios[-1] < ratios[0]  # → True
    ```
    """
    rng = np.random.default_rng(seed)
    along = derivative or (lambda v: richardson(f, x, v, step=radii[0]).value)
    vectors = [random_direction(x, rng) for _ in range(directions)]
    derivatives = [along(v) for v in vectors]
    tolerance = 10 * epsilon(x) ** 0.5
    for (u, du), (v, dv) in zip(zip(vectors, derivatives), zip(vectors[1:], derivatives[1:])):
        joint = along(combination(1.0, u, 1.0, v))
        compare_sum("check_frechet: v ↦ ∂f(x)[v]", joint, (1, du), (1, dv), tolerance, 1e-12, ALONG_LINES_ONLY)
    middle = f(x)
    ratios: list[float] = []
    for radius in radii:
        worst = 0.0
        for v, dv in zip(vectors, derivatives, strict=True):
            change = combination(1.0, f(line(x, v)(radius)), -1.0, middle)
            worst = max(worst, norm(combination(1.0, change, -radius, dv)) / (radius * norm(v)))
        ratios.append(worst)
    rounding = 1e3 * epsilon(x) * (norm(middle) + 1.0) / radii[-1]
    falls = ratios[-1] <= min(ratios[0], ratios[-2]) / 1.5
    if not (falls or ratios[-1] <= rounding):
        steps = ", ".join(f"{ratio:.3g} at {radius:g}" for ratio, radius in zip(ratios, radii, strict=True))
        raise NotDifferentiable(
            f"check_frechet: the residual does not fall faster than the step: {steps}. "
            "f has a kink at x, or the derivative that was given is wrong."
        )
    return ratios
