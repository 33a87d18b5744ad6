"""Higher derivatives of while loops, compiled: stacks whose length is known only when the loop has run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import ControlFlowError
from adjoint.ops.control.base import zeros
from adjoint.ops.control.scan import Scan, zeros_beside
from adjoint.ops.control.while_loop import While
from adjoint.program.program import interpret
from adjoint.program.record import record_program
from adjoint.program.types import ArrayType, Size

A = np.array([[1.0, 0.2], [0.3, 0.9]])
X = np.array([0.3, 0.5])


def grown(x: Any) -> Any:
    return ad.while_loop(lambda s: np.sum(s * s) < 30.0, lambda s: A @ s * 1.5 + np.sin(s) * x, x)


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda x: np.sum(grown(x)),
    "in a scan": lambda x: np.sum(ad.scan(lambda c, t: (grown(c * t) / 9.0, None), x, np.array([1.0, 0.5]))[0]),
}
TRANSFORMATIONS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "jacfwd of grad": lambda f: ad.jacfwd(ad.grad(f)),
    "jacfwd of jacfwd of grad": lambda f: ad.jacfwd(ad.jacfwd(ad.grad(f))),
    "vmap of hessian": lambda f: lambda x: ad.vmap(ad.hessian(f))(np.stack([x, 1.1 * x])),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_as_it_is_eagerly(name: str, transformation: str) -> None:
    f = TRANSFORMATIONS[transformation](FUNCTIONS[name])
    np.testing.assert_allclose(ad.jit(f)(X), f(X), rtol=1e-10)


def test_the_third_derivative_is_that_of_differences() -> None:
    second = ad.jit(ad.jacfwd(ad.grad(FUNCTIONS["alone"])))
    third = ad.jit(ad.jacfwd(ad.jacfwd(ad.grad(FUNCTIONS["alone"]))))(X)
    for k, e in enumerate(np.eye(2) * 1e-5):
        np.testing.assert_allclose(third[..., k], (second(X + e) - second(X - e)) / 2e-5, rtol=1e-6, atol=1e-6)


def test_zeros_of_a_length_that_is_not_known() -> None:
    """As many as another value has elements, and zeros where that one is infinite."""
    number = ArrayType((), np.dtype(float))
    condition, _ = record_program(lambda s: [s < 10.0], [number])
    body, _ = record_program(lambda s: [s * 2.0, 1.0 / (s - 4.0)], [number])
    total, _ = record_program(lambda c, row, zero: [c + np.isinf(row) + zero], [number] * 3)

    def counted(x: Any) -> Any:
        _, rows = While(condition, body, 0, 0)(x)
        return Scan(total, 0, 1, None)(x * 0.0, rows, zeros(rows))[0]

    with np.errstate(divide="ignore"):
        assert ad.jit(counted)(np.float64(2.0)) == 1.0


def test_without_a_value_of_that_length() -> None:
    with pytest.raises(ControlFlowError, match="known only when a while loop has run"):
        zeros_beside([np.ones(3)], ArrayType((Size.fresh("n"), 2), np.dtype(float)))


def test_a_history_that_has_no_cotangent() -> None:
    """What a loop kept is a zero in the second sweep: nothing but the loop itself knows how long it is."""

    def f(x: Any) -> Any:
        halved = lambda c: ad.while_loop(lambda s: np.sum(s) > 0.3, lambda s: 0.5 * np.sin(s) * s, c)
        return np.sum(ad.scan(lambda c, t: (c * c * t + np.round(halved(c)), None), x, X)[0])

    gradient = ad.grad(f)
    along = ad.jit(ad.grad(lambda x: gradient(x) @ np.array([1.0, -2.0])))(X)
    for k, e in enumerate(np.eye(2) * 1e-5):
        difference = (gradient(X + e) - gradient(X - e)) @ np.array([1.0, -2.0]) / 2e-5
        assert along[k] == pytest.approx(difference, rel=1e-7)


def test_a_linear_loop_that_reads_no_row() -> None:
    """Its backward pass reads nothing of the iterations but how many there were."""
    row = ArrayType((), np.dtype(float))
    body, _ = record_program(lambda c, _: [c * 3.0], [row, row])
    loop = lambda x: Scan(body, 0, 1, None)(x, np.ones(4))[0]
    for f in (ad.grad(loop), ad.jit(ad.grad(loop)), lambda x: ad.linearize(loop, x)[1](1.0)):
        assert f(2.0) == 81.0


def test_zeros_of_two_lengths_that_are_not_known() -> None:
    number = ArrayType((), np.dtype(float))
    body, _ = record_program(lambda s: [s * 2.0, s], [number])

    def zero(x: Any) -> list[Any]:
        rows = [
            While(record_program(lambda s, end=end: [s < end], [number])[0], body, 0, 0)(x)[1] for end in (8.0, 30.0)
        ]
        return [zeros_beside(rows, ArrayType((2, rows[1].shape[0], rows[0].shape[0]), np.dtype(float)))]

    program, _ = record_program(zero, [number])
    np.testing.assert_array_equal(interpret(program, [np.float64(2.0)])[0], np.zeros((2, 4, 2)))
