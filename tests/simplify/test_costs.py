"""Costs of equations: their order, and what is never computed twice."""

import math

import numpy as np

import adjoint as ad
from adjoint.simplify.costs import code_length, cost, elements, is_as_long, program_cost, size_in_bytes
from tests.simplify.programs import program_of

X = np.linspace(0.1, 0.9, 12).reshape(3, 4)


def cost_of(f, *args) -> float:
    return sum(map(cost, program_of(f, *args)[0].equations))


def test_the_order_of_costs() -> None:
    ordered = [
        lambda x: x.T,
        lambda x: x + x,
        lambda x: x / x,
        np.exp,
        np.tanh,
        lambda x: ad.scan(lambda c, t: (np.tanh(c) * np.tanh(t), None), x[0], x)[0],
        np.linalg.pinv,
    ]
    found = [cost_of(f, X) for f in ordered]
    assert found == sorted(found)
    assert len(set(found)) == len(found)
    assert found[0] == 0.0
    assert math.isinf(found[-1])


def test_products_of_matrices_cost_their_multiplications() -> None:
    assert cost_of(lambda x: x.T @ x, X) == 0.5 * 4 * 4 * 3
    assert cost_of(lambda x: np.einsum("ij,kj->ik", x, x), X) == 0.5 * 3 * 3 * 4


def test_black_boxes_and_draws_are_never_run_again() -> None:
    program, _ = program_of(lambda x: x + ad.random.default_rng(1).random(3), np.ones(3))
    assert math.isinf(program_cost(program)) or "random" not in str(program)


def test_sizes() -> None:
    program, _ = program_of(lambda x: ad.grad(lambda x: ad.while_loop(lambda v: v < 9.0, lambda v: v * x, x))(x), 1.5)
    kind = next(v.type for eq in program.equations for v in eq.outputs if v.type.ndim == 1)
    assert elements(kind) > 1  # a guess
    assert size_in_bytes(program.inputs[0].type) == 8


def test_the_length_of_code() -> None:
    length = lambda f, *args: sum(map(code_length, program_of(f, *args)[0].equations))
    assert length(np.exp, X) == length(lambda x: x[:2, :2] @ x[:2, :2], X) - 2 == 1  # two slices
    assert 1 < length(lambda a: a @ a, np.ones((20, 20))) < length(np.linalg.qr, X)
    loop = lambda x: ad.scan(lambda c, t: (np.tanh(c) * np.tanh(t), None), x[0], x)[0]
    assert length(loop, X) >= 4
    program, _ = program_of(loop, X)
    assert is_as_long(program, 4)
    assert not is_as_long(program, 50)
