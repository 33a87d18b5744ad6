"""Programs in plain NumPy, written with no thought of this library, pass unchanged through every transformation.

The reference is central differences of the program itself, extrapolated; for batches a loop over the elements (whose
gradients are checked against differences by themselves).
"""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from tests.corpus.programs import Program
from tests.support.sweeps import sampled

FILES = (
    "mechanics", "fields", "signals", "finance", "estimation", "linear_algebra", "dynamic_programming", "physics",
    "graphics", "biology", "algorithms", "control", "learning", "stateful", "benchmark_functions", "chemistry",
    "astronomy", "economics", "engineering", "imaging", "text_and_sequences", "games_and_graphs", "geometry",
    "weather_and_oceans",
)  # fmt: skip
PROGRAMS: dict[str, Program] = {
    program.name: program for file in FILES for program in importlib.import_module(f"tests.corpus.{file}").PROGRAMS
}
TRANSFORMATIONS = ("grad", "jvp", "hvp", "vmap", "jit", "jit of grad", "jit of vmap", "jit of vmap of grad")

# Programs whose own differences are no reference, and why.
ITERATES = "the number of iterations depends on the argument, and the derivative of the iterate on their number"
NO_DIFFERENCES = {
    ("linear_algebra.conjugate_gradients", "grad"): ITERATES,
    ("linear_algebra.conjugate_gradients", "jvp"): ITERATES,
    ("linear_algebra.conjugate_gradients", "hvp"): ITERATES,
    ("linear_algebra.conjugate_gradients", "jit of grad"): ITERATES,
    ("linear_algebra.power_iteration", "hvp"): ITERATES,
    ("algorithms.bisected_root", "hvp"): ITERATES,
    ("chemistry.titration_ph", "hvp"): ITERATES,
}

# What does not pass, and why: this list is in the README.
LENGTH = "Python asks how many elements a mask selects, in a branch"
OPEN: dict[tuple[str, str], str] = {
    ("learning.cluster_centers", "jit of vmap"): LENGTH,
    ("learning.cluster_centers", "jit of vmap of grad"): LENGTH,
}

CASES = [
    (name, transformation)
    for name in PROGRAMS
    for transformation in TRANSFORMATIONS
    if (name, transformation) not in OPEN and (name, transformation) not in NO_DIFFERENCES
]


def directions(program: Program) -> list[Any]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=np.shape(a))[()] for a in program.arguments]


def moved(program: Program, step: float) -> list[Any]:
    pairs = zip(program.arguments, directions(program), strict=True)
    return [np.asarray(a) + step * d if np.ndim(a) else float(a + step * d) for a, d in pairs]


def slope(function: Any, program: Program, step: float) -> Any:
    """The derivative along the directions, by differences of two steps, extrapolated."""
    at = lambda h: np.asarray(function(*moved(program, h)), float)
    coarse, fine = (at(step) - at(-step)) / (2 * step), (at(step / 2) - at(-step / 2)) / step
    return (4 * fine - coarse) / 3


def close(found: Any, expected: Any, tolerance: float) -> None:
    expected = np.asarray(expected, float)
    scale = 1.0 + np.max(np.abs(expected), initial=0.0)
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=0, atol=tolerance * scale)


def along(gradient: tuple[Any, ...], program: Program) -> Any:
    return sum(np.sum(np.asarray(g) * d) for g, d in zip(gradient, directions(program), strict=True))


def check(program: Program, transformation: str) -> None:
    f, args, every = program.function, program.arguments, tuple(range(len(program.arguments)))
    total = lambda *a: np.sum(f(*a))
    step = 1e-5 * max(1.0, min(1.0, float(np.mean([np.mean(np.abs(a)) for a in args]))))
    if transformation in ("grad", "jit of grad"):
        transformed: Any = ad.value_and_grad(total, argnums=every)
        value, gradient = (ad.jit(transformed) if transformation == "jit of grad" else transformed)(*args)
        close(value, total(*args), 1e-10)
        close(along(gradient, program), slope(total, program, step), 1e-4)
    elif transformation == "jvp":
        value, tangent = ad.jvp(f, tuple(args), tuple(directions(program)))
        close(value, f(*args), 1e-12)
        close(tangent, slope(f, program, step), 1e-4)
    elif transformation == "hvp":
        gradient = ad.grad(total, argnums=every)
        _, product = ad.jvp(gradient, tuple(args), tuple(directions(program)))
        ends = [gradient(*moved(program, h)) for h in (1e-5, -1e-5)]
        for found, high, low in zip(product, *ends, strict=True):
            close(found, (np.asarray(high) - np.asarray(low)) / 2e-5, 1e-3)
    elif "vmap" in transformation:
        stacks = [np.stack(pair) for pair in zip(moved(program, 0.0), moved(program, 1e-3), strict=True)]
        elements = [[s[i] if s.ndim > 1 else float(s[i]) for s in stacks] for i in range(2)]
        if "grad" in transformation:
            gradient = ad.grad(total, argnums=every)
            several = zip(*[gradient(*element) for element in elements], strict=True)
            for found, pair in zip(ad.jit(ad.vmap(gradient))(*stacks), several, strict=True):
                close(found, np.stack(pair), 1e-7)
        else:
            mapped = ad.jit(ad.vmap(f)) if "jit" in transformation else ad.vmap(f)
            close(mapped(*stacks), np.stack([f(*element) for element in elements]), 1e-9)
    else:
        close(ad.jit(f)(*args), f(*args), 1e-9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, transformation", sampled(CASES, 17))
def test_a_program_passes_unchanged(name: str, transformation: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        check(PROGRAMS[name], transformation)


def test_what_is_open_is_open() -> None:
    """A program of the list that passes by now is taken from it."""
    for name, transformation in OPEN:
        with pytest.raises(Exception):  # noqa: B017 (whatever stands in the way)
            check(PROGRAMS[name], transformation)
