"""A program as one primitive: the same derivatives as the program's own, of any order and in any nesting."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.control.call import Call
from adjoint.program.record import record_program
from adjoint.program.types import type_of


def body(x: Any, y: Any) -> list[Any]:
    inside = np.where(x > 0.5, np.sqrt(np.abs(x)), x**3)
    return [np.sin(inside) * y, np.argmax(x), np.sum(y)]


def function(x: Any, y: Any) -> Any:
    return np.sum(body(x, y)[0]) * body(x, y)[2]


x, y = np.array([0.3, 0.9, -0.4]), np.array([1.0, 2.0, 0.5])
PROGRAM, _ = record_program(body, [type_of(x), type_of(y)])


def called(x: Any, y: Any) -> Any:
    first, _, total = Call(PROGRAM)(x, y)
    return np.sum(first) * total


TRANSFORMATIONS: dict[str, Callable[[Any], Any]] = {
    "value": lambda f: f(x, y),
    "grad": lambda f: ad.grad(f, (0, 1))(x, y),
    "jvp": lambda f: ad.jvp(f, (x, y), (y, x)),
    "one tangent": lambda f: ad.jvp(lambda t: f(x, t), (y,), (x,)),
    "linearize": lambda f: ad.linearize(f, x, y)[1](y, x),
    "vmap": lambda f: ad.vmap(f)(np.stack([x, y]), np.stack([y, x])),
    "vmap of one": lambda f: ad.vmap(f, (0, None))(np.stack([x, y]), x),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([x, y]), np.stack([y, x])),
    "grad of vmap": lambda f: ad.grad(lambda a: np.sum(ad.vmap(f)(a, a + 1)))(np.stack([x, y])),
    "hessian": lambda f: ad.hessian(f)(x, y),
    "reverse over reverse": lambda f: ad.jacrev(ad.grad(f, 1))(x, y),
    "forward over forward": lambda f: ad.jacfwd(ad.jacfwd(f))(x, y),
    "third order": lambda f: ad.jacfwd(ad.hessian(f))(x, y),
    "jet": lambda f: ad.jet(f, (x, y), ([y, x, x], [x, y, y])),
    "program": lambda f: ad.trace(f)(x, y)(x, y),
    "in a scan": lambda f: ad.grad(lambda a: ad.scan(lambda c, b: (c + f(b, y), None), 0.0, a)[0])(np.stack([x, y])),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_as_the_function_itself(name: str) -> None:
    found = ad.tree.leaves(TRANSFORMATIONS[name](called))
    expected = ad.tree.leaves(TRANSFORMATIONS[name](function))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_what_is_kept_of_the_callers_is_kept_as_it_was() -> None:
    a = x.copy()
    _, pullback = ad.vjp(lambda x: called(x, y), a)
    before = pullback(1.0)
    a[:] = 7.0
    np.testing.assert_array_equal(pullback(1.0), before)


def test_in_a_recorded_program_it_is_what_it_does() -> None:
    titles = [eq.op.title for eq in ad.trace(called)(x, y).program.equations]
    assert "sin" in titles
    assert "call" not in titles
    _, pullback = ad.vjp(lambda x: called(x, y), x)
    compiled = ad.trace(pullback)(1.0)
    assert "call" not in str(compiled)
    np.testing.assert_allclose(compiled(1.0)[0], pullback(1.0)[0], rtol=1e-14)
