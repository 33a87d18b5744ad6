"""What a method promises, held against every step of a run: `minimize(…, certify=True)`.

descent            f(x⁺) ≤ f(x)                                          methods that never go up
descent lemma      f(x⁺) - f(x) ≤ -γ/2 ‖∇f‖²                             gradient descent with γ ≤ 1/β
stationary         min ‖∇f‖² ≤ 2 (f(x⁰) - f*) / γT                       the same
convex             f - f* ≤ ‖x⁰ - x*‖² / γT                              the same, where f is convex
strongly convex    f - f* ≤ (1 - γμ)^T (f(x⁰) - f*)                      the same, with mu=
gradient domination ‖∇f‖² ≥ c (f - f*) and f - f* ≤ (1 - γc/2)^T (f(x⁰) - f*)      the same, with dominated=
sufficient decrease f(x⁺) ≤ f(x) + c₁ ⟨∇f(x), x⁺ - x⟩                    line searches
Wolfe              |⟨∇f(x⁺), x⁺ - x⟩| ≤ c₂ |⟨∇f(x), x⁺ - x⟩|             StrongWolfe
secant             B⁺ y = s, ⟨s, y⟩ > 0                                  BFGS
gap                f(x) - f* ≤ gap                                       Frank-Wolfe, where f is convex
quadratic rate     ‖∇f⁺‖ ≤ C ‖∇f‖² with the C of the step before         Newton's method, near the end
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from adjoint.linear.solvers.iteration import TRACED
from adjoint.program.types import Value

__all__ = ["CONSTANTS", "Promises", "certify_run", "read_constants"]

CONSTANTS = ("best", "mu", "dominated", "distance")
BLUR = 100.0  # times the rounding of f: what lies within is neither kept nor broken
NEAR = 0.05  # of the largest gradient: below it Newton's method is taken to be fast


@final
@dataclass(frozen=True, eq=False)
class Promises:
    """Which promises of a method a run has kept: for each the iteration at which it was first broken, or -1.

    ```python
    f = lambda w: 0.05 * w[0] ** 2 + 0.5 * w[1] ** 2
    method = ad.optimize.GradientDescent(step_size=2.5)
    kept = ad.optimize.minimize(f, np.ones(2), method=method, certify=True, max_iterations=20).certificate
    bool(kept.held), int(kept.broken["descent lemma"])  # → (False, 1)
    ```
    """

    broken: dict[str, Value]
    errors: Value  # f - f*, iteration by iteration
    bounds: dict[str, Value]  # those of them that are curves of the error
    method: str = field(default="", metadata={"static": True})

    @property
    def held(self) -> Any:
        """Whether all were kept."""
        whole: Any = True
        for at in self.broken.values():
            whole = np.logical_and(whole, at < 0)
        return whole

    def __repr__(self) -> str:
        if any(isinstance(at, TRACED) or np.ndim(at) for at in self.broken.values()):
            return f"Promises({self.method}: {', '.join(self.broken)})"
        describe = lambda at: "held" if at < 0 else f"broken at iteration {int(at)}"
        listed = "; ".join(f"{name}: {describe(at)}" for name, at in self.broken.items())
        return f"Promises({self.method}: {listed or 'none is known'})"

    def draw(self, axes: Any, count: int) -> None:
        """The bounds as curves, into a picture of the error."""
        for name, curve in self.bounds.items():
            entries = np.asarray(curve)[..., :count]
            axes.semilogy(np.moveaxis(np.where(entries > 0, entries, np.nan), -1, 0), "--", label=f"bound: {name}")


def read_constants(title: str, certify: Any) -> dict[str, Any] | None:
    """The constants that users know of f, from certify=; None: nothing is looked at."""
    if isinstance(certify, bool):
        return {} if certify else None
    if not isinstance(certify, Mapping) or any(name not in CONSTANTS for name in certify):
        raise TypeError(f"{title}: certify is True, or a dictionary of what is known of the function: "
                        f"{', '.join(CONSTANTS)}; not {certify!r}.")  # fmt: skip
    return dict(certify)


def certify_run(title: str, method: Any, history: Any, known: Mapping[str, Any], distance: Any, eps: float) -> Promises:
    """The promises of a method against the history of a run; `distance` is ‖x⁰ - x*‖ as far as x* was found."""
    values, squares = history["fun"], history["gradient"] ** 2
    steps = np.arange(values.shape[0])
    before, after = values[:-1], values[1:]
    along, at_end = history["along"][1:], history["after"][1:]
    best = known.get("best")
    best = np.nanmin(values) if best is None else best
    errors = values - best
    slack = BLUR * eps * (np.abs(before) + np.abs(best))
    broken: dict[str, Any] = {}
    bounds: dict[str, Any] = {}

    def look(name: str, is_broken: Value, first: int = 1) -> None:
        """NaN stands after the end: what is compared with it is not broken."""
        broken[name] = (
            np.int64(-1) if not is_broken.shape[0] else np.where(np.any(is_broken), np.argmax(is_broken) + first, -1)
        )

    if method.descends:
        look("descent", after > before + slack)
    size = getattr(method, "step_size", None)
    name = type(method).__name__
    if name == "GradientDescent" and size is not None:
        look("descent lemma", after - before > -0.5 * size * squares[:-1] + slack)
        counts = np.maximum(steps, 1)
        distance = known.get("distance", distance)
        smallest = np.minimum.accumulate(squares[:-1])
        look("stationary", smallest > 2.0 * errors[0] / (size * counts[1:]) * (1.0 + 1e-9) + slack)
        bounds["convex"] = np.where(steps > 0, distance**2 / (size * counts), np.nan)
        for key, title_of in (("mu", "strongly convex"), ("dominated", "gradient domination")):
            if key in known:
                rate = size * known[key] * (1.0 if key == "mu" else 0.5)
                bounds[title_of] = errors[0] * (1.0 - rate) ** steps
        if "dominated" in known:
            look("domination itself", squares < known["dominated"] * errors * (1.0 - 1e-9) - BLUR * eps, 0)
        for key, curve in bounds.items():
            look(key, errors[1:] > curve[1:] * (1.0 + 1e-9) + slack)
    search = getattr(method, "search", None)
    if search is not None and size is None and hasattr(search, "sufficient"):
        if type(search).__name__ != "HagerZhang":  # which takes an approximate condition near the minimum
            look("sufficient decrease", after > before + search.sufficient * along + slack)
        if type(search).__name__ == "StrongWolfe":
            blur = slack + 1e-9 * np.abs(along)
            look("Wolfe", np.abs(at_end) > search.curvature * np.abs(along) + blur)
    if "secant" in history:
        look("secant", history["secant"][1:] > 1e3 * eps**0.5)
    if name == "FrankWolfe":
        look("gap", errors > history["residual"] * (1.0 + 1e-9) + BLUR * eps * (1.0 + np.abs(best)), 0)
    if name in ("Newton", "TrustRegion", "CubicNewton"):
        broken["quadratic rate"] = _find_slow_end(history["gradient"], eps)
    return Promises(broken, errors, bounds, title)


def _find_slow_end(sizes: Value, eps: float) -> Value:
    """The last iteration, where the digits of ‖∇f‖ did not about double there; -1 where they did, or nothing tells.

    Of the last three sizes above rounding, log(c/b) / log(b/a) is the order; one large last step shows it as well.
    """
    largest = np.nanmax(sizes)
    known_sizes = np.sum(np.where(sizes > 1e3 * eps * largest, 1, 0))  # the first ones, since they fall towards the end
    last = np.sum(np.where(np.isnan(sizes), 0, 1)) - 1
    numbers = np.arange(sizes.shape[0])
    at = lambda k: np.nansum(np.where(numbers == k, sizes, 0.0))
    a, b, c = at(known_sizes - 3), at(known_sizes - 2), at(known_sizes - 1)
    safe = lambda v: np.maximum(v, 1e-300)
    order = np.log(safe(c) / safe(b)) / np.minimum(np.log(safe(b) / safe(a)), -1e-3)
    ended = np.logical_and(at(last) < NEAR * largest, known_sizes >= 4)
    fast = np.logical_or(order >= 1.4, np.minimum(c, safe(at(last))) <= 1e-3 * b)
    return np.where(np.logical_and(ended, np.logical_not(fast)), last, -1)
