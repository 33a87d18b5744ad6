"""All passes over loops together: the same values and derivatives as before, on many loops and all transformations."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.program.check import check
from adjoint.simplify.loops.order import RESHAPING, TIDYING, simplify_loops
from adjoint.simplify.loops.parts import inside_first
from tests.simplify.programs import program_of, same_results
from tests.simplify.recurrent import (
    chain,
    chain_arguments,
    motion_arguments,
    network,
    network_arguments,
    prey_and_predators,
)
from tests.support.flow_cases import CASES

X = np.array([0.6, 0.9, 0.35])
TRANSFORMATIONS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f,
    "value_and_grad": ad.value_and_grad,
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (x * x,)),
    "hessian, reverse over reverse": lambda f: ad.grad(lambda x: np.sum(ad.grad(f)(x) ** 2)),
    "hessian, forward over reverse": lambda f: lambda x: ad.jvp(ad.grad(f), (x,), (x,)),
    "batched gradients": lambda f: lambda x: ad.vmap(ad.grad(f))(np.stack([x, 0.5 * x, 1.3 * x])),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("case", CASES)
def test_nothing_changes_but_the_program(case: str, transformation: str) -> None:
    before, arguments = program_of(TRANSFORMATIONS[transformation](CASES[case].f), X)
    after = before
    for each in (*TIDYING, *RESHAPING, *TIDYING):
        after = check(inside_first(each)(after))
    same_results(before, after, arguments)
    for other in (np.array([0.1, 0.2, 0.9]), np.array([1.2, 0.3, 0.5])):
        same_results(before, after, [other])


@pytest.mark.parametrize("case", CASES)
def test_a_second_time_there_is_nothing_to_do(case: str) -> None:
    before, _ = program_of(ad.value_and_grad(CASES[case].f), X)
    once = simplify_loops(simplify_loops(before))
    assert simplify_loops(once) == once


def test_a_program_without_loops_is_left_alone() -> None:
    program, _ = program_of(lambda x: np.sin(x) * x, X)
    assert simplify_loops(program) is program


def test_effects_happen_as_often_and_in_the_same_order() -> None:
    seen: list[float] = []

    def f(x):
        def body(c, t):
            ad.debug.callback(lambda v: seen.append(float(v)), x[0])  # reads a constant of the loop alone
            ad.debug.callback(lambda v: seen.append(float(v)), c)
            return c * t, None

        def iteration(state):
            ad.debug.callback(lambda n: seen.append(float(n)), state[0])
            return state[0] + 1, state[1]

        ad.while_loop(lambda s: s[0] < 3, iteration, (0, x[0]))  # nobody reads its result
        return ad.scan(body, x[0], x)[0]

    before, arguments = program_of(ad.value_and_grad(f), X)
    before(*arguments)
    expected, seen[:] = list(seen), []
    after = check(simplify_loops(before))
    assert seen == []
    after(*arguments)
    assert seen == expected
    assert len(expected) == 9


def test_checks_inside_still_raise() -> None:
    def f(x):
        def body(c, t):
            ad.check(t < 1.0, "too large: {}", t)
            return c * t, None

        return ad.scan(body, x[0], x)[0]

    before, _ = program_of(ad.grad(f), X)
    after = check(simplify_loops(before))
    after(X)
    with pytest.raises(ValueError, match=r"too large: 1\.5"):
        after(np.array([0.5, 1.5, 0.2]))


# ---- random loops: a body is a list of small instructions on a growing list of values

UNARY = [np.sin, np.tanh, np.exp, np.negative, np.square, lambda v: v * 0.5, lambda v: 1.0 / (v * v + 1.0)]
BINARY = [np.add, np.multiply, np.subtract, np.maximum, lambda a, b: np.where(a > b, a, b * 0.5)]
steps = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12)


@st.composite
def loops(draw):
    """(instructions, where the carries start and end, what is stacked, length, reverse, what is asked of it)."""
    carries = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), min_size=1, max_size=4))
    ys = draw(st.lists(st.integers(0, 30), max_size=4))
    return (
        draw(steps),
        carries,
        ys,
        draw(st.sampled_from([0, 1, 2, 3, 9])),
        draw(st.booleans()),
        draw(st.integers(0, 3)),
    )


def _loop(description: Any) -> Callable[[Any], Any]:
    instructions, carries, stacked, length, reverse, asked = description

    def f(x):
        constants = [x[0], x[1] * x[2], np.sin(x[2])]
        arrays = np.stack([x[:2] * (k + 1) for k in range(9)])[:length]

        def body(carry, rows):
            values = [*constants, *carry, *rows, 0.25]
            for kind, i, j in instructions:
                a, b = values[i % len(values)], values[j % len(values)]
                values.append(np.tanh(UNARY[kind](a) if kind < 7 else BINARY[kind - 7](a, b)))
            new = tuple(values[j % len(values)] * np.float64(1.0) for _, j in carries)
            return new, tuple(values[j % len(values)] * np.float64(1.0) for j in stacked)

        start = tuple([0.5, x[0], x[1], x[2]][i] * np.float64(1.0) for i, _ in carries)
        last, ys = ad.scan(body, start, (arrays[:, 0], arrays[:, 1], arrays[:, 0]), reverse=reverse)
        total = sum(last[: 1 + asked], np.float64(0.0))
        return total + sum((np.sum(y * y) for y in ys[asked % 2 :]), np.float64(0.0)) + 0.1 * np.sum(x)

    return f


@given(loops(), st.sampled_from(["value", "value_and_grad", "hessian, reverse over reverse"]))
def test_random_loops(description: Any, transformation: str) -> None:
    before, arguments = program_of(TRANSFORMATIONS[transformation](_loop(description)), X)
    after = check(simplify_loops(before))
    same_results(before, after, arguments)
    same_results(before, after, [np.array([-0.3, 0.8, 1.1])])


# ---- random loops of vectors, with products of matrices and sums of outer products

WIDE = 16
MATRIX = np.random.default_rng(5).standard_normal((WIDE, WIDE)) / 8.0
ROWS = np.random.default_rng(6).standard_normal((9, WIDE))


@st.composite
def wide_loops(draw):
    """(instructions, the next vector, factors of the outer products, what is stacked, reverse)."""
    positions = st.integers(0, 20)
    instructions = draw(st.lists(st.tuples(st.integers(0, 5), positions, positions), min_size=1, max_size=8))
    products = draw(st.lists(st.tuples(positions, positions, st.booleans()), max_size=2))
    return instructions, draw(positions), products, draw(st.lists(positions, max_size=3)), draw(st.booleans())


def _wide_loop(description: Any) -> Callable[..., Any]:
    instructions, following, products, stacked, reverse = description

    def f(w, start, rows):
        def body(carry, row):
            values = [carry[0], row, start]
            for kind, i, j in instructions:
                a, b = values[i % len(values)], values[j % len(values)]
                made = [np.sin(a), a * b, a - b, w @ a, a @ w, (w.T @ a[:, None])[:, 0]][kind]
                values.append(np.tanh(made))
            picked = [values[j % len(values)] for j in (following, *stacked)]
            total = carry[1]
            for i, j, plus in products:
                term = np.outer(values[i % len(values)], values[j % len(values)])
                total = total + term if plus else total - term
            return (picked[0] * 1.0, total * 1.0 if not products else total), tuple(picked[1:])

        (last, total), ys = ad.scan(body, (start, np.outer(start, start)), rows, reverse=reverse)
        return np.sum(last) + np.sum(total * MATRIX) + sum((np.sum(y * y * rows) for y in ys), np.float64(0.0))

    return f


@given(wide_loops(), st.booleans())
@settings(max_examples=40)
def test_random_loops_of_vectors(description: Any, differentiated: bool) -> None:
    f = _wide_loop(description)
    arguments = (MATRIX, ROWS[0], ROWS)
    before, flat = program_of(ad.value_and_grad(f, argnums=(0, 1, 2)) if differentiated else f, *arguments)
    same_results(before, check(simplify_loops(before)), flat, rounding=1e-9)


# ---- the prints of three gradients stand in tests/golden/loops; ADJOINT_GOLDEN=write writes them anew

GRADIENTS: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[Any, ...]]] = {
    "network": (network, (0, 1, 2, 3), network_arguments(16, 10, 3)),
    "motion": (prey_and_predators, (0, 1), motion_arguments()),
    "chain": (chain, (0, 1), chain_arguments()),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_golden(name: str) -> None:
    f, argnums, args = GRADIENTS[name]
    before, arguments = program_of(ad.value_and_grad(f, argnums=argnums), *args)
    after = check(simplify_loops(before))
    same_results(before, after, arguments)
    path = Path(__file__).resolve().parents[2] / "golden" / "loops" / f"{name}.program"
    if os.environ.get("ADJOINT_GOLDEN") == "write":
        path.write_text(f"{after}\n", encoding="utf-8")
    assert f"{after}\n" == path.read_text(encoding="utf-8")
