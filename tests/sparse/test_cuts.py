"""Programs cut where they repeat their inputs and where they sum their results."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.program import interpret
from adjoint.sparse.cuts import find_cut
from adjoint.sparse.recording import Recorded, record_derivative

RNG = np.random.default_rng(5)
X = RNG.normal(size=12)
I, J = RNG.integers(0, 12, 20), RNG.integers(0, 12, 20)
ELEMENTS = np.stack([np.arange(11), np.arange(1, 12)], 1)


def record(f: Any, x: Any, order: int = 1) -> Recorded:
    return record_derivative(f, 0, (x,), {}, name="test", order=order)


def assembly(x: Any) -> Any:
    u = x[ELEMENTS]
    stretch = u[:, 1] - u[:, 0]
    forces = np.stack([-stretch - stretch**3, stretch + stretch**3], 1)
    return np.bincount(np.ravel(ELEMENTS), weights=np.ravel(forces), minlength=12)


FUNCTIONS: dict[str, Any] = {
    "gather": lambda x: np.sin(x[I]) * x[J],
    "pairs": lambda x: (x[:, None] - x[None, :]) ** 2,
    "stencil": lambda x: np.concatenate([x[:1], x[2:] * x[1:-1] - np.exp(x[:-2]), x[-1:]]),
    "assembly": assembly,
    "padded": lambda x: np.pad(np.tanh(x.reshape(3, 4)), 1)[1:] * 2.0 + np.sum(x[I] * x[J]),
    "scalar broadcast": lambda x: x[1:] * x[0] + np.exp(x[1:]),
    "two results": lambda x: [x[I] ** 2, np.sum(x[J].reshape(4, 5) ** 3, axis=1)],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_three_parts_are_the_program(name: str) -> None:
    recorded = record(FUNCTIONS[name], X)
    found = find_cut(recorded)
    assert found is not None
    heads, kernel, rest = found.parts
    values = interpret(heads, [X])
    inputs = np.concatenate([np.ravel(v) for v in values])
    np.testing.assert_array_equal(inputs, X[found.columns])  # R x
    tails = interpret(kernel, [*values, X])
    outputs = interpret(rest, [*tails, X])
    for mine, theirs in zip(outputs, interpret(recorded.program, [X]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    # the kernel depends on x by its heads alone
    others = interpret(kernel, [*values, X + 1.0])
    for mine, theirs in zip(others, tails, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_jacobian_is_a_product(name: str) -> None:
    """J = L K R, each from its own definition."""
    recorded = record(FUNCTIONS[name], X)
    found = find_cut(recorded)
    assert found is not None
    heads = interpret(found.parts.heads, [X])
    flat = lambda leaves: np.concatenate([np.ravel(leaf) for leaf in leaves])

    def kernel(h: Any) -> Any:
        parts = np.split(h, np.cumsum([np.size(v) for v in heads])[:-1])
        shaped = [np.reshape(p, np.shape(v)) for p, v in zip(parts, heads, strict=True)]
        return flat(interpret(found.parts.kernel, [*shaped, X]))

    K = ad.jacobian(kernel)(flat(heads))
    R = (found.columns[:, None] == np.arange(12)).astype(float)
    whole = ad.jacobian(lambda x: flat(interpret(recorded.program, [x])))(X)
    L = np.zeros((whole.shape[0], K.shape[0]))
    elements, rows = found.rows
    np.add.at(L, (rows, elements), 1.0)
    np.testing.assert_allclose(L @ K @ R, whole, rtol=1e-13, atol=1e-13)


def test_what_repeats_nothing_is_not_cut() -> None:
    assert find_cut(record(np.sin, X)) is None
    assert find_cut(record(lambda x: x[::-1] ** 2, X)) is None


def test_what_cannot_be_cut() -> None:
    assert find_cut(record(lambda x: x[I] * (1 + 2j), X)) is None  # complex
    assert find_cut(record(lambda x: ad.debug.print("{}", x[0]) or x[I] ** 2, X)) is None  # it would be said twice


def test_the_same_program_with_other_indices() -> None:
    """A cut belongs to the equations, not to the constants in them."""
    make = lambda index: record(lambda x: np.sin(x[index]) * x[1], X)
    found = find_cut(make(I))
    assert found is not None
    parts = found.cut.parts(make(J))
    assert parts is not None
    np.testing.assert_array_equal(interpret(parts.heads, [X])[0], X[J])
    assert found.cut.parts(record(lambda x: np.cos(x[I]) * x[1], X)) is None


def test_copies_of_a_head_are_one() -> None:
    found = find_cut(record(lambda x: np.exp(x[I]) * np.sin(x[I]) + x[J], X))
    assert found is not None
    assert len(found.cut.heads) == 2
