"""A random function from a seed: inputs of several dtypes and shapes, some steps, at several sizes.

The shapes of inputs are written with two letters, n and m. A function is drawn so that it works for three choices of
these sizes: steps that raise for one of them are not taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import numpy as np

from adjoint.base.errors import AdjointError
from tests.random_programs import moves, selections, steps
from tests.random_programs.flow import FLOW, NESTED_FLOW, after
from tests.random_programs.small_matrices import a_small_matrix
from tests.random_programs.steps import Pool, Step

SHAPES: list[tuple[Any, ...]] = [
    (), (), ("n",), ("n",), ("n",), ("m",), ("n", "m"), ("n", "m"), ("m", "n"), ("n", "n"), ("n", 1), (1, "m"), (1,),
    (3,), (3, "n"), ("n", 2), (2, "n", "m"), ("m", 1, "n"), ("n", 3, 2), (0,), ("n", 0), (1, 1), (8,), (4, 4),
]  # fmt: skip
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 20, 31, 33, 40]
DTYPES = (
    ["float64"] * 12
    + ["float32"] * 5
    + ["complex128"] * 2
    + ["complex64", "float16", "bool"]
    + ["int64"] * 3
    + ["int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]
)
PLAIN: list[tuple[int, Callable[[Random, Pool], Step]]] = [
    (8, steps.a_unary), (8, steps.a_binary), (2, steps.a_special), (3, steps.a_choice), (2, steps.a_cast),
    (1, steps.a_complex), (6, steps.a_reduction), (2, steps.an_extremum_or_norm), (3, steps.a_running),
    (1, steps.a_sort), (5, steps.a_product), (1, steps.a_decomposition), (5, moves.a_shape), (4, moves.a_slice),
    (4, moves.a_neighbor), (2, moves.a_join), (3, moves.a_gather), (4, moves.an_assignment),
]  # fmt: skip
NESTED: list[tuple[int, Callable[[Random, Pool], Step]]] = [
    (4, steps.a_unary), (4, steps.a_binary), (1, steps.a_special), (1, steps.a_choice), (1, steps.a_complex),
    (2, steps.a_reduction), (1, steps.a_running), (2, steps.a_product), (1, moves.a_shape), (1, moves.a_slice),
    (1, moves.a_gather), (3, moves.an_assignment), (5, a_small_matrix), (4, selections.an_order),
    (4, selections.a_selection), (2, selections.a_draw), (2, selections.a_spectrum),
]  # fmt: skip


class Palette(NamedTuple):
    """What functions are drawn from."""

    plain: list[tuple[int, Callable[[Random, Pool], Step]]]
    flow: list[Callable[..., Step]]
    deep: tuple[float, ...]  # how often a step is a loop or a branch, by how many it stands in
    sizes: int  # for how many choices of sizes a function is
    largest: int  # number of steps


ORDINARY = Palette(PLAIN, FLOW, (0.22, 0.1), 3, 8)
LOOPS_IN_LOOPS = Palette(NESTED, NESTED_FLOW, (0.6, 0.5, 0.3), 1, 3)
SMALL_SIZES = [1, 2, 2, 3, 3, 4, 5, 6]
REFUSALS = (
    ValueError, TypeError, IndexError, ZeroDivisionError, OverflowError, AttributeError, NotImplementedError,
    AdjointError, np.linalg.LinAlgError,
)  # fmt: skip
LARGEST, LARGEST_VALUE = 12_000, 50.0


@dataclass
class Input:
    """One argument: shape with letters, dtype; `weak` for a Python number."""

    shape: tuple[Any, ...]
    dtype: str
    weak: bool = False

    def value(self, rng: np.random.Generator, sizes: dict[str, int], *, wild: bool = False) -> Any:
        """Numbers of order one; `wild` ones may be anything."""
        shape = tuple(sizes.get(n, n) for n in self.shape)
        dtype = np.dtype(self.dtype)
        if dtype.kind == "b":
            value = rng.random(shape) < 0.5
        elif dtype.kind in "iu":
            value = rng.integers(0 if dtype.kind == "u" else -2, 4, shape).astype(dtype)
            if wild:
                odd = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype=dtype)
                value = np.where(rng.random(shape) < 0.3, odd, value).astype(dtype)
        else:
            value = rng.normal(size=shape)
            if wild:
                odd = rng.choice([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e300, -1e30, 1e-300], shape)
                value = np.where(rng.random(shape) < 0.15, odd, value)
            if dtype.kind == "c":
                value = value + 1j * rng.normal(size=shape)
            with np.errstate(all="ignore"):
                value = np.asarray(value).astype(dtype)
        value = np.asarray(value)
        return value.item() if self.weak else value if shape else value[()]


@dataclass
class RandomFunction:
    """A list of steps over a pool that begins with the inputs; some of the pool are the results."""

    seed: int
    inputs: list[Input]
    sizes: list[dict[str, int]]
    steps: list[Step] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def __call__(self, *xs: Any) -> list[Any]:
        pool = after(self.steps, [x if hasattr(x, "dtype") else np.asarray(x) for x in xs])
        return [pool[k] for k in self.results]

    def weighed(self, *xs: Any) -> Any:
        """A number in which all results have a part."""
        total: Any = 0.0
        for k, x in enumerate(self(*xs)):
            if x.dtype.kind in "fc":
                weights = 0.3 + 0.1 * (k % 3)
                total = total + np.sum(np.real(x) * weights) + (np.sum(np.imag(x)) if x.dtype.kind == "c" else 0.0)
        return total

    def values(self, which: int, draw: int = 0, *, wild: bool = False) -> list[Any]:
        """Arguments of one of the sizes."""
        rng = np.random.default_rng([self.seed, which, draw])
        return [i.value(rng, self.sizes[which], wild=wild) for i in self.inputs]

    def __str__(self) -> str:
        lines = [f"seed {self.seed}, sizes {self.sizes}"]
        lines += [f"  x{k}: {i.dtype}{list(i.shape)}{' weak' if i.weak else ''}" for k, i in enumerate(self.inputs)]
        lines += [f"  x{len(self.inputs) + k} = {s.text}" for k, s in enumerate(self.steps)]
        return "\n".join([*lines, f"  results {self.results}"])


def random_function(seed: int, palette: Palette = ORDINARY) -> RandomFunction:
    """The function of a seed: always the same one."""
    r = Random(seed)
    large = r.random() if palette is ORDINARY else 0.0
    pool = SIZES if large < 0.93 else [96, 100, 110] if large < 0.97 else [2100, 4500, 2049]
    pool = pool if palette is ORDINARY else SMALL_SIZES
    shapes = SHAPES if large < 0.97 else [("n",), (), (2, "n"), ("n", 2), ("n", 1)]
    sizes = [{"n": r.choice(pool), "m": r.choice(pool)} for _ in range(palette.sizes)]
    inputs = []
    for _ in range(r.choice([1, 2, 2, 3])):
        inputs.append(Input(r.choice(shapes), r.choice(DTYPES)))
        if inputs[-1].shape == () and r.random() < 0.3:
            inputs[-1].dtype, inputs[-1].weak = r.choice([("float64", True), ("int64", True)])
    function = RandomFunction(seed, inputs, sizes)
    pools: list[Pool] = [[np.asarray(x) for x in function.values(k)] for k in range(palette.sizes)]
    function.steps = _grown(r, pools, r.randint(1, palette.largest), 0, palette)
    last = len(inputs) + len(function.steps) - 1
    function.results = [k for k in range(last) if r.random() < 0.2] + [last]
    return function


def _grown(r: Random, pools: list[Pool], count: int, depth: int, palette: Palette) -> list[Step]:
    """Steps that work on all pools; the pools grow with them."""
    pools = [list(p) for p in pools]
    steps: list[Step] = []
    for _ in range(12 * count):
        if len(steps) == count:
            break
        drawn = _drawn(r, pools[0], depth, palette)
        step = drawn and _bounded(drawn, pools)
        if step is None:
            continue
        steps.append(step)
    return steps


def _drawn(r: Random, pool: Pool, depth: int, palette: Palette) -> Step | None:
    def grow(r: Random, inner: Pool, count: int) -> list[Step]:
        grown = _grown(r, [inner], count, depth + 1, palette)
        if not grown:
            raise ValueError("no steps")
        return grown

    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if depth < len(palette.deep) and r.random() < palette.deep[depth]:
                return r.choice(palette.flow)(r, pool, grow)
            return r.choices([s for _, s in palette.plain], [w for w, _ in palette.plain])[0](r, pool)
    except REFUSALS:
        return None


def _bounded(step: Step, pools: list[Pool]) -> Step | None:
    """The step if it works for all pools, squeezed when its results are large; the pools grow by the results."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            results = [np.asarray(step.run(list(p))) for p in pools]
    except REFUSALS:
        return None
    if any(z.dtype.kind not in "fciub" or z.dtype.itemsize > 16 or z.size > LARGEST or z.ndim > 5 for z in results):
        return None
    if any(z.dtype in (np.longdouble, np.clongdouble) for z in results):
        return None
    floating = results[0].dtype.kind in "fc"
    if floating and any(not np.all(np.isfinite(z)) for z in results):
        return None
    if floating and any(z.size and np.max(np.abs(z)) > LARGEST_VALUE for z in results):
        run = step.run
        squeezed = Step(f"tanh({step.text} / 50)", lambda p: np.tanh(run(p) / 50))
        return _bounded(squeezed, pools)
    for p, z in zip(pools, results, strict=True):
        p.append(z)
    return step
