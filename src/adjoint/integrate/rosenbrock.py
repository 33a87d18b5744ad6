"""Rosenbrock methods: linearly implicit, one Jacobian and one factorization for all stages of a step.

    (M / (γ h) - J) uᵢ = f(t + αᵢ h, y + Σⱼ aᵢⱼ uⱼ) + M Σⱼ cᵢⱼ uⱼ / h + γᵢ h ∂f/∂t,   y₁ = y + Σ mᵢ uᵢ

in the variables of Hairer and Wanner IV.7. M is the mass matrix. All methods here are stiffly accurate or
L-stable; the last stage is the estimate of the error. Rodas4: Hairer and Wanner 1996; Rodas5P: Steinebach 2023;
the 2(3) pair: Shampine and Reichelt 1997.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from adjoint.api.control_flow import scan
from adjoint.api.gradients import jvp
from adjoint.integrate.control import Controller
from adjoint.integrate.explicit import Step
from adjoint.integrate.stiff import Stiff
from adjoint.program.types import Value

__all__ = ["Rosenbrock", "Rosenbrock23", "named_rosenbrock", "rosenbrock_names"]

_RODAS4 = """
0.25
0 0.386 0.21 0.63 1 1
0.25 -0.1043 0.1035 -0.0362 0 0
1.544
0.9466785280815826 0.2557011698983284
3.314825187068521 2.896124015972201 0.9986419139977817
1.221224509226641 6.019134481288629 12.53708332932087 -0.687886036105895
1.221224509226641 6.019134481288629 12.53708332932087 -0.687886036105895 1
-5.6688
-2.430093356833875 -0.2063599157091915
-0.1073529058151375 -9.594562251023355 -20.47028614809616
7.496443313967647 -10.24680431464352 -33.99990352819905 11.7089089320616
8.083246795921522 -7.981132988064893 -31.52159432874371 16.31930543123136 -6.058818238834054
10.12623508344586 -7.487995877610167 -34.80091861555747 -7.992771707568823 1.025137723295662 0
-0.6762803392801253 6.087714651680015 16.43084320892478 24.76722511418386 -6.594389125716872 0
"""

_RODAS5P = """
0.21193756319429014
0 0.6358126895828704 0.4095798393397535 0.9769306725060716 0.4288403609558664 1 1 1
0.21193756319429014 -0.42387512638858027 -0.3384627126235924 1.8046452872882734 2.325825639765069 0 0 0
3.0
2.849394379747939 0.45842242204463923
-6.954028509809101 2.489845061869568 -10.358996098473584
2.8029986275628964 0.5072464736228206 -0.3988312541770524 -0.04721187230404641
-7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256 0.030198172008377946
-7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256 0.030198172008377946 1
-7.502846399306121 2.561846144803919 -11.627539656261098 -0.18268767659942256 0.030198172008377946 1 1
-14.155112264123755
-17.97296035885952 -2.859693295451294
147.12150275711716 -1.41221402718213 71.68940251302358
165.43517024871676 -0.4592823456491126 42.90938336958603 -5.961986721573306
24.854864614690072 -3.0009227002832186 47.4931110020768 5.5814197821558125 -0.6610691825249471
30.91273214028599 -3.1208243349937974 77.79954646070892 34.28646028294783 -19.097331116725623 -28.087943162872662
37.80277123390563 -3.2571969029072276 112.26918849496327 66.9347231244047 -40.06618937091002 -54.66780262877968
-9.48861652309627
25.948786856663858 -2.5579724845846235 10.433815404888879 -2.3679251022685204 0.524948541321073
1.1241088310450404 0.4272876194431874 -0.17202221070155493
-9.91568850695171 -0.9689944594115154 3.0438037242978453 -24.495224566215796 20.176138334709044
15.98066361424651 -6.789040303419874 -6.710236069923372
11.419903575922262 2.8879645146136994 72.92137995996029 80.12511834622643 -52.072871366152654
-59.78993625266729 -0.15582684282751913 4.883087185713722
"""


@dataclass(frozen=True)
class Rosenbrock(Stiff):
    """A Rosenbrock method by its coefficients: γ, α, Σγ, A, C and rows of the dense output.

    ```python
    from adjoint import integrate
    stiff = lambda t, y: -1e6 * (y - np.cos(t))
    path = integrate.solve(stiff, (0.0, 1.0), 0.0, method="rodas5p")
    path.status, float(np.round(path.last, 5)), bool(path.steps < 100)  # → ('finished', 0.5403, True)
    ```
    """

    gamma: float
    alpha: tuple[float, ...]
    sums: tuple[float, ...]
    A: tuple[tuple[float, ...], ...]
    C: tuple[tuple[float, ...], ...]
    dense: tuple[tuple[float, ...], ...]
    order: int
    name: str
    controller: Controller = field(default=Controller(1.0, 0.0, largest=6.0))

    takes_mass = True
    uses_jacobian = 1
    uses_factors = 1

    @property
    def stages(self) -> int:
        return len(self.alpha)

    @property
    def evaluations(self) -> int:
        """Evaluations of f in a step; the Jacobian is counted by itself."""
        return self.stages

    @property
    def estimate_order(self) -> int:
        return self.order - 1

    def start(self, f: Any, t: Value, y: Value) -> Any:
        """(y, f, rows of the dense output)."""
        return y, f(t, y), np.zeros((len(self.dense), *y.shape), y.dtype) + 0 * y

    def resumed(self, f: Any, t: Value, y: Value, yp: Value, state: Any, is_fresh: Value) -> Any:
        """The state of a method with one step, from y and y′."""
        return y, yp, state[2]

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step."""
        y, f0, _ = state
        dt = h.astype(y.dtype)
        one = y.dtype.type
        J = f.form.jacobian(f, t, y)
        _, ft = jvp(lambda t: f(t, y), (t,), (np.float64(1.0),))
        c = one(self.gamma) * dt
        factors = f.form.factors(f, c, J)
        if getattr(f, "is_large", False):
            return self._rolled(f, t, h, y, f0, lambda b: f.form.solve(f, factors, c * b), ft, f.form.radius(J))
        us: list[Value] = []
        for i in range(self.stages):
            value = f0 if i == 0 else f(t + self.alpha[i] * h, y + _combined(self.A[i], us))
            right = value
            if i:
                right = right + f.form.times_mass(f, _combined(self.C[i], us)) / dt
            if self.sums[i]:
                right = right + one(self.sums[i]) * dt * ft
            us.append(f.form.solve(f, factors, c * right))
        new = y + _combined(self.A[-1], us[:-1]) + us[-1]
        rows = np.stack([_combined(row, us) for row in self.dense])
        return Step((new, f(t + h, new), rows), us[-1], f.form.radius(J))

    def _rolled(
        self, f: Any, t: Value, h: Value, y: Value, f0: Value, solve: Callable[[Value], Value], ft: Value, radius: Value
    ) -> Step:  # fmt: skip
        """The same with a large f once: stages are a loop over the rows of the tables."""
        s, dtype, dt = self.stages, y.dtype, h.astype(y.dtype)
        A, C = np.zeros((2, s, s), dtype)
        for i in range(1, s):
            A[i, :i], C[i, :i] = self.A[i], self.C[i]
        sums = np.array(self.sums, dtype)
        first = solve(f0 + sums[0] * dt * ft)
        us = np.zeros((s, *y.shape), dtype) + 0 * first
        us[0] = first

        def stage(us: Value, row: Any) -> Any:
            i, a, b, time, share = row
            value = f(t + time * h, y + a @ us)
            us = us.copy()
            us[i] = solve(value + f.form.times_mass(f, b @ us) / dt + share * dt * ft)
            return us, None

        us, _ = scan(stage, us, (np.arange(1, s), A[1:], C[1:], np.array(self.alpha[1:]), sums[1:]))
        new = y + np.array([*self.A[-1], 1.0], dtype) @ us
        return Step((new, f(t + h, new), np.array(self.dense, dtype) @ us), us[-1], radius)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """(1 - θ) y₀ + θ (y₁ + (1 - θ)(k₁ + θ k₂ + …)) by powers of θ."""
        d, rows = after[0] - before[0], after[2]
        k = [rows[i] for i in range(len(self.dense))]
        inner = [k[0], *[b - a for a, b in pairwise(k)], -k[-1]]
        return np.stack([d + inner[0], *inner[1:]])


@dataclass(frozen=True)
class Rosenbrock23(Stiff):
    """The L-stable pair of order 2(3) with its dense output of order 2: for loose tolerances."""

    name: str = "rosenbrock23"
    controller: Controller = field(default=Controller(1.0, 0.0, largest=5.0))

    order = 2
    estimate_order = 2
    stages = 3
    evaluations = 3
    uses_jacobian = 1
    uses_factors = 1
    uses_tolerances = True

    def start(self, f: Any, t: Value, y: Value) -> Any:
        return y, f(t, y), np.zeros((2, *y.shape), y.dtype) + 0 * y

    def step(self, f: Any, t: Value, h: Value, state: Any) -> Step:
        """One step."""
        y, f0, _ = state
        dt, one = h.astype(y.dtype), y.dtype.type
        d, e = 1.0 / (2.0 + np.sqrt(2.0)), one(6.0 + np.sqrt(2.0))
        factors = f.form.factors(f, dt * one(d), f.form.jacobian(f, t, y))
        solve = lambda b: f.form.solve(f, factors, b)
        _, ft = jvp(lambda t: f(t, y), (t,), (np.float64(1.0),))
        slide = (dt * one(d)) * ft
        k1 = solve(f0 + slide)
        f1 = f(t + 0.5 * h, y + one(0.5) * dt * k1)
        k2 = solve(f1 - k1) + k1
        new = y + dt * k2
        f2 = f(t + h, new)
        k3 = solve(f2 - e * (k2 - f1) - one(2.0) * (k1 - f0) + slide)
        error = dt / one(6.0) * (k1 - one(2.0) * k2 + k3)
        # the estimate goes with h³, the error at the end with h²: it counts more, the more digits are asked
        error = error * (8.0 * f.digits(y) ** 0.25).astype(y.dtype)
        return Step((new, f2, dt * np.stack([k1, k2])), error)

    def interpolant(self, f: Any, t: Value, h: Value, before: Any, after: Any) -> Value:
        """y₀ + θ(1 - θ)/(1 - 2d) h k₁ + θ(θ - 2d)/(1 - 2d) h k₂."""
        d = 1.0 / (2.0 + np.sqrt(2.0))
        k1, k2 = after[2][0], after[2][1]
        scale = k1.dtype.type(1.0 / (1.0 - 2.0 * d))
        return np.stack([scale * (k1 - k1.dtype.type(2 * d) * k2), scale * (k2 - k1)])


def _combined(weights: tuple[float, ...], vectors: list[Value]) -> Value:
    total: Any = None
    for w, v in zip(weights, vectors, strict=False):
        if w != 0.0:
            term = v if w == 1.0 else v.dtype.type(w) * v
            total = term if total is None else total + term
    return 0 * vectors[0] if total is None else total


@cache
def named_rosenbrock(name: str) -> Any:
    """A method by its name, None if there is none."""
    if name == "rosenbrock23":
        return Rosenbrock23()
    text, stages, order = {"rodas4": (_RODAS4, 6, 4), "rodas5p": (_RODAS5P, 8, 5)}.get(name, (None, 0, 0))
    if text is None:
        return None
    numbers = iter([float(word) for word in text.split()])
    take = lambda count: tuple(next(numbers) for _ in range(count))
    (gamma,) = take(1)
    alpha, sums = take(stages), take(stages)
    A = ((), *[take(i) for i in range(1, stages)])
    C = ((), *[take(i) for i in range(1, stages)])
    dense = tuple(take(stages) for _ in range(3 if name == "rodas5p" else 2))
    assert next(numbers, None) is None
    return Rosenbrock(gamma, alpha, sums, A, C, dense, order, name)


def rosenbrock_names() -> list[str]:
    return ["rosenbrock23", "rodas4", "rodas5p"]
