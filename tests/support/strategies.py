"""Random NumPy programs for hypothesis.

A program is a list of steps over a growing pool of arrays. Each step is drawn with the shapes of the pool at hand, so
that it fits, and is plain NumPy code: it runs on arrays and on traced values alike. Values stay of order one.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Pool = list[Any]


@dataclass
class Step:
    """One line of a program."""

    text: str
    run: Callable[[Pool], Any]


@dataclass
class RandomProgram:
    """A function of arrays. Calling it gives a number in which every array of the pool has a part."""

    inputs: list[Any]
    steps: list[Step] = field(default_factory=list)

    def __call__(self, *xs: Any) -> Any:
        return self.weighed(self.pool(*xs))

    def pool(self, *xs: Any) -> Pool:
        """All arrays, the inputs first. Inputs are copied: a program may write to them."""
        pool: Pool = [x * 1.0 for x in xs]
        for step in self.steps:
            pool.append(step.run(pool))
        return pool

    def weighed(self, pool: Pool) -> Any:
        total: Any = 0.0
        for k, x in enumerate(pool):
            weights = np.cos(np.arange(float(np.size(x))) + k).reshape(np.shape(x))
            total = total + np.sum(x * weights)
        return total

    def __repr__(self) -> str:
        lines = [f"  x{i} = {np.array2string(np.asarray(x), separator=', ')}" for i, x in enumerate(self.inputs)]
        lines += [f"  x{len(self.inputs) + k} = {step.text}" for k, step in enumerate(self.steps)]
        return "\n" + "\n".join(lines)


UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "arctan": np.arctan,
    "square": np.square,
    "negative": np.negative,
    "abs": np.abs,
    "expm1": lambda x: np.expm1(-np.abs(x)),
    "softplus": lambda x: np.logaddexp(x, 0.0),
    "root": lambda x: np.sqrt(1.0 + x * x),
    "log": lambda x: np.log(2.0 + np.tanh(x)),
    "cube": lambda x: 0.2 * x**3,
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "rational": lambda x: x / (1.0 + x**2),
    "clip": lambda x: np.clip(x, -0.7, 0.9),
    "sign": lambda x: np.sign(x) * 0.5 + x,
    "floor": lambda x: x - np.floor(x),
    "relu": lambda x: np.maximum(x, 0.0),
    "power": lambda x: (x * x + 0.5) ** 1.5,
    "where": lambda x: np.where(x > 0.1, x, 0.3 * np.sin(x)),
    "guarded": lambda x: np.where(x > 0.0, np.sqrt(np.abs(x)), x),
    "integers": lambda x: x * np.rint(2.0 * x).astype(int),
    "method": lambda x: x.copy() * x.ndim + 1,
    "real": lambda x: np.real(x),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda x, y: x / (2.0 + np.tanh(y)),
    "maximum": np.maximum,
    "minimum": np.minimum,
    "hypot": lambda x, y: np.hypot(x, y + 3.0),
    "arctan2": lambda x, y: np.arctan2(x, y * y + 1.0),
    "logaddexp": np.logaddexp,
    "chosen": lambda x, y: np.where(x > y, x, 2.0 * y),
    "power": lambda x, y: (x * x + 0.5) ** np.tanh(y),
    "compared": lambda x, y: (x < y) * x + y,
    "select": lambda x, y: np.select([x > 1.0, x > y], [x * y, x], y),
}


def a_unary(draw: Any, pool: Pool) -> Step:
    i, name = _place(draw, pool), draw(st.sampled_from(sorted(UNARY)))
    return Step(f"{name}(x{i})", lambda p: UNARY[name](p[i]))


def a_binary(draw: Any, pool: Pool) -> Step:
    i, name = _place(draw, pool), draw(st.sampled_from(sorted(BINARY)))
    fits = [j for j, y in enumerate(pool) if _broadcasts(pool[i], y)]
    j = draw(st.sampled_from(fits))
    return Step(f"{name}(x{i}, x{j})", lambda p: BINARY[name](p[i], p[j]))


COMPLEX_UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": lambda z: np.sin(0.5 * z),
    "exp": lambda z: np.exp(0.3 * z),
    "conj": np.conj,
    "abs": lambda z: np.abs(z + 0.1),
    "real": np.real,
    "imag": lambda z: np.imag(z) * 1.0,
    "turned": lambda z: 1j * z,
    "square": np.square,
    "tanh": lambda z: np.tanh(0.4 * z),
    "quotient": lambda z: z / (2.0 + np.abs(z) ** 2),
    "root": lambda z: np.sqrt(z * np.conj(z) + 1.0),
    "angle": lambda z: np.angle(z + 5.0),
    "sign": lambda z: np.sign(z + 3.0),
    "where": lambda z: np.where(np.real(z) > 0.1, z, 0.3 * np.conj(z)),
    "power": lambda z: (z + 4.0) ** 1.5 / 8.0,
    "mixed": lambda z: z * np.real(z) + 2,
}
COMPLEX_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda x, y: x / (2.0 + np.abs(y)),
    "hermitian": lambda x, y: np.conj(x) * y,
    "chosen": lambda x, y: np.where(np.abs(x) > np.abs(y), x, 2.0 * y),
}


def a_complex_unary(draw: Any, pool: Pool) -> Step:
    i, name = _place(draw, pool), draw(st.sampled_from(sorted(COMPLEX_UNARY)))
    return Step(f"{name}(x{i})", lambda p: COMPLEX_UNARY[name](p[i]))


def a_complex_binary(draw: Any, pool: Pool) -> Step:
    i, name = _place(draw, pool), draw(st.sampled_from(sorted(COMPLEX_BINARY)))
    j = draw(st.sampled_from([j for j, y in enumerate(pool) if _broadcasts(pool[i], y)]))
    return Step(f"{name}(x{i}, x{j})", lambda p: COMPLEX_BINARY[name](p[i], p[j]))


def a_complex_reduction(draw: Any, pool: Pool) -> Step:
    i, name = _place(draw, pool), draw(st.sampled_from(["sum", "mean", "prod", "cumsum", "cumprod", "var"]))
    axis = draw(st.sampled_from([None, *range(-pool[i].ndim, pool[i].ndim)]))
    return Step(f"np.{name}(x{i}, axis={axis})", lambda p: getattr(np, name)(p[i], axis=axis))


def a_reduction(draw: Any, pool: Pool) -> Step:
    i = _place(draw, pool)
    name = draw(st.sampled_from(["sum", "mean", "max", "min", "prod", "var"]))
    ndim = pool[i].ndim
    axis = draw(st.sampled_from([None, *range(-ndim, ndim), *([(0, ndim - 1)] if ndim > 1 else [])]))
    keep = draw(st.booleans())
    return Step(
        f"np.{name}(x{i}, axis={axis}, keepdims={keep})", lambda p: getattr(np, name)(p[i], axis=axis, keepdims=keep)
    )


def a_shape(draw: Any, pool: Pool) -> Step:
    i = _place(draw, pool)
    x = pool[i]
    forms: dict[str, Callable[[Any], Any]] = {
        "ravel": lambda x: np.ravel(x),
        "T": lambda x: x.T,
        "new axis": lambda x: x[None],
        "expanded": lambda x: np.expand_dims(x, -1),
        "squeezed": lambda x: np.squeeze(x),
        "column": lambda x: np.reshape(x, (-1, 1)),
        "twice": lambda x: np.stack([x, 2.0 * x], axis=-1),
        "spread": lambda x: np.broadcast_to(x, (2, *np.shape(x))),
        "flipped": lambda x: np.flip(x),
        "atleast": lambda x: np.atleast_2d(x),
    }
    if x.ndim:
        forms |= {
            "flip 0": lambda x: np.flip(x, 0),
            "rolled": lambda x: np.roll(x, 1),
            "moved": lambda x: np.moveaxis(x, -1, 0),
            "joined": lambda x: np.concatenate([x, x[::-1]], axis=0),
            "repeated": lambda x: np.repeat(x, 2, axis=-1),
            "tiled": lambda x: np.tile(x, 2),
            "padded": lambda x: np.pad(x, 1),
            "diff": lambda x: np.diff(x, axis=0),
            "halves": lambda x: np.array_split(x, 2)[1],
            "swapped": lambda x: np.swapaxes(x, 0, -1),
        }
    name = draw(st.sampled_from(sorted(forms)))
    return Step(f"{name}(x{i})", lambda p: forms[name](p[i]))


def an_index(draw: Any, pool: Pool) -> Step:
    i = _place(draw, pool, ndim=1)
    x = pool[i]
    index = drawn_index(draw, x.shape)
    return Step(f"x{i}[{index!r}]", lambda p: p[i][index])


def drawn_index(draw: Any, shape: tuple[int, ...]) -> Any:
    """Any form of NumPy index: numbers, slices, new axes, ellipses, integer and boolean arrays, mixed."""
    parts: list[Any] = []
    arrays = draw(st.booleans())
    length = draw(st.integers(1, 3))
    for n in shape[: draw(st.integers(1, len(shape)))]:
        forms = [
            st.integers(-n, n - 1),
            st.builds(slice, *[st.none() | st.integers(-n, n)] * 2, st.sampled_from([None, 1, 2, -1])),
        ]
        if arrays:
            forms = [st.lists(st.integers(-n, n - 1), min_size=length, max_size=length).map(np.array), forms[1]]
        parts.append(draw(st.one_of(*forms)))
    if draw(st.integers(0, 4)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), None)
    if len(parts) < len(shape) and draw(st.booleans()):
        parts.append(Ellipsis)
    if draw(st.integers(0, 5)) == 0:
        return np.array(draw(st.lists(st.booleans(), min_size=shape[0], max_size=shape[0])), bool)
    return tuple(parts)


def a_product(draw: Any, pool: Pool) -> Step:
    i = _place(draw, pool, ndim=1)
    n = pool[i].shape[-1]
    w = np.linspace(-0.5, 0.6, 2 * n).reshape(n, 2)
    forms: dict[str, Callable[[Any], Any]] = {
        "x @ w": lambda x: x @ w,
        "x @ v": lambda x: x @ w[:, 0],
        "dot": lambda x: np.dot(x, w),
        "outer": lambda x: np.outer(x, w[0]),
        "inner": lambda x: np.inner(x, w.T),
        "tensordot": lambda x: np.tensordot(x, w, 1),
        "einsum": lambda x: np.einsum("...i,ij->...j", x, w),
        "square": lambda x: np.einsum("...i,...i->...", x, x),
        "vecdot": lambda x: np.vecdot(x, w[:, 1]),
        "norm": lambda x: np.linalg.norm(x, axis=-1),
    }
    if pool[i].ndim == 2:
        forms |= {
            "gram": lambda x: x @ x.T / 3.0,
            "trace": lambda x: np.trace(x @ x.T),
            "diagonal": lambda x: np.diagonal(x),
        }
    name = draw(st.sampled_from(sorted(forms)))
    return Step(f"{name}(x{i})", lambda p: forms[name](p[i]))


def an_order(draw: Any, pool: Pool) -> Step:
    i = _place(draw, pool, ndim=1)
    axis = draw(st.sampled_from([0, -1]))
    forms: dict[str, Callable[[Any], Any]] = {
        "sort": lambda x: np.sort(x, axis=axis),
        "argsort": lambda x: np.take_along_axis(x, np.argsort(x, axis=axis), axis),
        "cumsum": lambda x: np.cumsum(x, axis=axis),
        "cumprod": lambda x: np.cumprod(np.tanh(x), axis=axis),
        "cummax": lambda x: np.maximum.accumulate(x, axis=axis),
        "argmax": lambda x: np.take_along_axis(x, np.argmax(x, axis=axis, keepdims=True), axis),
        "median": lambda x: np.median(x, axis=axis),
        "cumsum all": lambda x: np.cumsum(x),
    }
    name = draw(st.sampled_from(sorted(forms)))
    return Step(f"{name}(x{i}, axis={axis})", lambda p: forms[name](p[i]))


def an_assignment(draw: Any, pool: Pool) -> Step:
    """A copy of an array, written to in one of several ways, some through views."""
    i, j = _place(draw, pool, ndim=1), _place(draw, pool)
    index = drawn_index(draw, pool[i].shape)
    way = draw(
        st.sampled_from(["set number", "set sum", "add", "scale", "through a view", "row by row", "read before"])
    )

    def run(p: Pool) -> Any:
        y = p[i].copy()
        value = np.sum(np.tanh(p[j])) / 4.0
        if way == "set number":
            y[index] = 0.25
        elif way == "set sum":
            y[index] = value
        elif way == "add":
            y[index] += value
        elif way == "scale":
            y *= 0.5
            y[index] *= value
        elif way == "through a view":
            view = y[::-1]
            view[0] = value
            view += 0.1
            y.T[...] *= 0.5
        elif way == "row by row":
            for k in range(len(y)):
                y[k] = y[k] * 0.5 + value + y[k - 1]
        else:
            before = y[0] * 1.0
            y[0] = value
            y[-1] = before * y[-1]
        return y

    return Step(f"{way}: x{i}[{index!r}] with x{j}", run)


def a_mutation(draw: Any, pool: Pool) -> Step:
    """An array of the pool itself is written to: every view of it sees that."""
    i = _place(draw, pool, ndim=1)
    way = draw(st.sampled_from(["first", "all", "slice"]))
    writeable = pool[i].flags.writeable  # what NumPy does not let one write to is copied

    def run(p: Pool) -> Any:
        y = p[i] if writeable else p[i].copy()
        if way == "first":
            y[0] = 0.5 * np.sin(y[0])
        elif way == "all":
            y *= 0.75
        else:
            y[1:] += y[:-1] * 0.5
        return y * 1.0

    return Step(f"write to x{i} ({way})", run)


def _place(draw: Any, pool: Pool, ndim: int = 0) -> int:
    """Which array; those of the last steps more often."""
    fits = [k for k, x in enumerate(pool) if x.ndim >= ndim and x.size]
    if not fits:
        fits = [k for k, x in enumerate(pool) if x.ndim >= ndim]
    return draw(st.sampled_from([*fits, *fits[-3:], fits[-1]]))


def _broadcasts(x: Any, y: Any) -> bool:
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return True


STEPS = [a_unary, a_binary, a_reduction, a_shape, an_index, a_product, an_order, an_assignment]


COMPLEX_STEPS = [a_complex_unary, a_complex_unary, a_complex_binary, a_complex_reduction, a_shape, an_index, a_product]


@st.composite
def programs(draw: Any, *, most_steps: int = 6, steps: Any = STEPS, complex_inputs: bool = False) -> RandomProgram:
    """A program of one or two inputs with one to several steps."""
    shapes = st.sampled_from([(3,), (2, 3), (3, 2), (1, 3), (2, 2), (4,), (2, 1, 3), (1,)])
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    program = RandomProgram([rng.normal(size=draw(shapes)) for _ in range(draw(st.integers(1, 2)))])
    if draw(st.integers(0, 3)) == 0:
        program.inputs.append(np.asarray(rng.normal())[()])
    if complex_inputs:
        program.inputs[0] = program.inputs[0] + 1j * rng.normal(size=program.inputs[0].shape)
    for _ in range(draw(st.integers(1, most_steps))):
        pool = [np.asarray(x) for x in program.pool(*program.inputs)]
        step = draw(st.sampled_from(steps))(draw, pool)
        program.steps.append(_bounded(step, pool))
    return program


def _bounded(step: Step, pool: Pool) -> Step:
    """The step, with its result squeezed when it is large in value or size."""
    with np.errstate(all="ignore"):
        z = np.asarray(step.run([x.copy() for x in pool]))
    if z.size > 60:
        run = step.run
        step = Step(f"sum({step.text}, axis=-1)", lambda p: np.sum(run(p), axis=-1))
        return _bounded(step, pool)
    if z.size and np.max(np.abs(z)) > 4.0:
        before = step.run
        return Step(f"tanh({step.text} / 4)", lambda p: np.tanh(before(p) / 4.0))
    return step
