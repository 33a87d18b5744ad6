"""dy = f(t, y) dt + g(t, y) dW for vectors: f and g are traced once.

    diagonal       g is like y, and each number of y has a motion of its own: gᵢ dWᵢ
    scalar         g is like y, with one motion for all: gᵢ dW
    commutative, general   g has one more axis at the end, over the motions: Σⱼ gᵢⱼ dWⱼ
    additive       as diagonal or general, by its shape; g does not depend on y

θ is what f and g read, then what W reads: a key and its span.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from adjoint.api.gradients import jvp, vmap
from adjoint.api.jacobians import jacfwd
from adjoint.base.errors import DtypeError, ShapeError, TreeError
from adjoint.integrate.stochastic.brownian import draw_increment, tree_values
from adjoint.integrate.system import Arguments, Layout, Traced, check_right_side, trace_function
from adjoint.program.program import Literal, Program, interpret
from adjoint.program.types import Value
from adjoint.sparse.pattern import pattern

__all__ = ["NOISES", "Equation", "read_equation"]

NOISES = ("diagonal", "scalar", "additive", "commutative", "general")
OWN = 3  # values of θ that W reads


@final
class Equation:
    """f, g and W, with given θ, as methods see them."""

    has_mass = False
    controls_integrals = False
    windowed = False
    mass = None
    extra: Sequence[Any] = ()
    is_large = True

    def __init__(
        self, drift: Program, diffusion: Program, split: int, layout: Layout, noise: str, count: int,
        theta: Sequence[Value], by_steps: bool, correction: float, is_coupled: bool,
    ) -> None:  # fmt: skip
        self.drift, self.diffusion, self.split = drift, diffusion, split
        self.layout, self.noise, self.count = layout, noise, count  # count: of motions
        self.by_steps = by_steps  # increments are drawn by the number of the step
        self.correction = correction  # f + correction · Σⱼ ∂gⱼ gⱼ is the drift in the method's sense
        self.is_coupled = is_coupled  # diagonal, but gᵢ reads more than yᵢ
        self.theta = list(theta)
        self.size = self.width = layout.size
        self.dtype = layout.dtype

    def with_theta(self, theta: Sequence[Value]) -> Equation:
        """The same equation at other θ."""
        return Equation(self.drift, self.diffusion, self.split, self.layout, self.noise, self.count, theta,
                        self.by_steps, self.correction, self.is_coupled)  # fmt: skip

    def within(self, first: Value, last: Value) -> Equation:
        """The same equation: its times do not jump."""
        return self

    @property
    def is_matrix(self) -> bool:
        """Whether g is a matrix."""
        return self.noise == "general"

    def f(self, t: Value, y: Value) -> Value:
        """The drift as it is given."""
        leaves = tree_leaves(self.layout, y)
        found = interpret(self.drift, [t, *leaves, *self.theta[: self.split]])
        return flat(self.layout, found)

    def g(self, t: Value, y: Value) -> Value:
        """A vector, or a matrix with a column for each motion."""
        leaves = tree_leaves(self.layout, y)
        found = interpret(self.diffusion, [t, *leaves, *self.theta[self.split : len(self.theta) - OWN]])
        if not self.is_matrix:
            return flat(self.layout, found)
        return np.concatenate([np.reshape(v, (-1, self.count)).astype(self.dtype) for v in found])

    def __call__(self, t: Value, y: Value) -> Value:
        """The drift in the method's sense."""
        found = self.f(t, y)
        return found if self.correction == 0 else found + self.dtype.type(self.correction) * self.turned(t, y)

    def turned(self, t: Value, y: Value) -> Value:
        """Σⱼ ∂gⱼ gⱼ: twice what tells Itô's drift from Stratonovich's."""
        G = self.g(t, y)
        if self.is_matrix:
            one = lambda e: jvp(lambda y: self.g(t, y) @ e, (y,), (G @ e,))[1]
            return np.sum(vmap(one)(np.eye(self.count, dtype=y.dtype)), axis=0)
        if self.is_coupled:
            return np.diagonal(jacfwd(lambda y: self.g(t, y))(y)) * G
        return jvp(lambda y: self.g(t, y), (y,), (G,))[1]

    def times(self, G: Value, w: Value) -> Value:
        """g dW."""
        if self.is_matrix:
            return G @ w
        return G * w

    def field(self, t: Value, y: Value, h: Value, w: Value) -> Value:
        """f h + g dW."""
        return self(t, y) * h + self.times(self.g(t, y), w)

    def kick(self, t: Value, y: Value, w: Value) -> Value:
        """g dW."""
        return self.times(self.g(t, y), w)

    def increment(self, step: Value, t: Value, h: Value) -> tuple[Value, Value]:
        """(W, H) over [t, t + h], which is step number `step`."""
        key, t0, t1 = self.theta[-OWN:]
        if self.by_steps:
            return draw_increment(key, step, h, self.count, self.dtype)
        (w0, a0), (w1, a1) = (tree_values(key, t0, t1, time, self.count) for time in (t, t + h))
        return increment_between(w0, a0, w1, a1, h, self.dtype)

    @property
    def key(self) -> Value:
        return self.theta[-OWN]


def increment_between(w0: Value, a0: Value, w1: Value, a1: Value, h: Value, dtype: Any) -> tuple[Value, Value]:
    """(W, H) from the values and integrals at both ends."""
    long = np.where(h > 0, h, 1.0)
    H = (a1 - a0 - h * w0) / long - 0.5 * (w1 - w0)
    return (w1 - w0).astype(dtype), H.astype(dtype)


def tree_leaves(layout: Layout, y: Value) -> list[Value]:
    """The leaves of y."""
    out: list[Value] = []
    at = 0
    for t in layout.types:
        out.append(np.reshape(y[at : at + t.size], t.shape).astype(t.dtype))
        at += t.size
    return out


def flat(layout: Layout, values: Sequence[Any]) -> Value:
    """The vector of leaves."""
    whole = [np.reshape(v if hasattr(v, "dtype") else np.asarray(v), (-1,)).astype(layout.dtype) for v in values]
    return whole[0] if len(whole) == 1 else np.concatenate(whole)


def read_equation(
    title: str, drift: Any, diffusion: Any, layout: Layout, args: Arguments, noise: str
) -> tuple[Traced, Traced, str, int, bool]:
    """Programs of f and g; how g meets the noise, how many motions there are, and whether a diagonal g is coupled."""
    if noise not in NOISES:
        raise ValueError(f"{title}: noise is {noise!r}; it is {', '.join(map(repr, NOISES))}.")
    if any(t.dtype.kind == "c" for t in layout.types):
        raise DtypeError(
            f"{title}: y0 is complex; which noise its parts get is not known. Write it as a pair (Re, Im)."
        )
    f = trace_function(title, "drift", drift, layout, args)
    check_right_side(title, f, layout)
    g = trace_function(title, "diffusion", diffusion, layout, args)
    if g.structure != layout.structure:
        raise TreeError(f"{title}: diffusion returned {g.structure}, and y0 is {layout.structure}; it has the same "
                        "structure.")  # fmt: skip
    like = all(t.shape == found.shape for t, found in zip(layout.types, g.types, strict=True))
    counts = {found.shape[-1] if found.shape[:-1] == t.shape and found.shape else -1
              for t, found in zip(layout.types, g.types, strict=True)}  # fmt: skip
    kind = noise
    if noise == "additive":
        if _reads_state(g, layout):
            raise ValueError(f"{title}: noise='additive' says that diffusion does not depend on y, and it does. Say "
                             "noise='diagonal', 'scalar' or 'general'.")  # fmt: skip
        kind = "diagonal" if like else "general"
    elif noise == "commutative":
        kind = "general"
    if any(found.dtype.kind != "f" for found in g.types):
        raise DtypeError(f"{title}: diffusion returned {g.types}; it gives floating-point numbers.")
    if kind == "general" and (len(counts) != 1 or -1 in counts):
        raise ShapeError(
            f"{title}: diffusion returned {', '.join(map(str, g.types))}; with noise={noise!r} it is y with one more "
            f"axis at the end, over the motions. y0 is {', '.join(map(str, layout.types))}."
        )
    if kind != "general" and not like:
        raise ShapeError(
            f"{title}: diffusion returned {', '.join(map(str, g.types))}, and y0 is "
            f"{', '.join(map(str, layout.types))}; with noise={noise!r} they are alike. Say noise='general' for a "
            "matrix."
        )
    if kind == "general":
        return f, g, kind, counts.pop(), False
    count = 1 if kind == "scalar" else layout.size
    return f, g, kind, count, kind == "diagonal" and not _is_diagonal(g, layout)


def _reads_state(g: Traced, layout: Layout) -> bool:
    """Whether what diffusion returns depends on y."""
    inputs = set(g.program.inputs[1 : 1 + len(layout.types)])
    reached = set(inputs)
    for equation in g.program.equations:
        if any(v in reached for v in equation.inputs if not isinstance(v, Literal)):
            reached.update(equation.outputs)
    return any(v in reached for v in g.program.outputs if not isinstance(v, Literal))


def _is_diagonal(g: Traced, layout: Layout) -> bool:
    """Whether gᵢ depends on yᵢ alone, as its sparsity pattern shows."""
    rest = g.program.inputs[1 + len(layout.types) :]
    fill = [(np.ones if v.type.dtype.kind == "f" else np.zeros)(v.type.shape, v.type.dtype) for v in rest]

    def whole(y: Value, *fill: Value) -> Value:
        return flat(layout, interpret(g.program, [np.float64(0.5), *tree_leaves(layout, y), *fill]))

    found = pattern(whole)(np.ones(layout.size, layout.dtype), *fill)
    rows, columns = found.nonzero()
    return bool(np.all(rows == columns))
