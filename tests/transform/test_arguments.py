"""Results of transformations share no memory with their arguments, plain or traced: an assignment tells."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad

X = np.array([[1.0, 2.0], [3.0, 4.0]])
GIVEN: dict[str, Callable[[Any], Any]] = {
    "vmap": ad.vmap(lambda e: e),
    "vmap, turned": ad.vmap(lambda e: e, out_axes=1),
    "vmap of what is closed over": lambda x: ad.vmap(lambda _: x[0])(x),
    "jvp": lambda x: ad.jvp(lambda e: e, (x,), (x,))[0],
    "its tangent": lambda x: ad.jvp(lambda e: e, (x,), (x,))[1],
    "vjp": lambda x: ad.vjp(lambda e: e, x)[1](x)[0],
    "auxiliary": lambda x: ad.grad(lambda e: (np.sum(e), x), has_aux=True)(x)[1],
    "jit": lambda x: ad.jit(lambda e: e)(x),
    "checkpoint": lambda x: ad.checkpoint(lambda e: e)(x),
    "cond": lambda x: ad.cond(x[0, 0] > 0, lambda e: (e, 0), lambda e: (e, 1), x)[0],
    "switch": lambda x: ad.switch(1, [np.sin, lambda e: e], x),
    "stop_gradient": ad.stop_gradient,
}
AROUND: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "plain": lambda f: f(X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,))[0],
    "vmap": lambda f: ad.vmap(f)(X[None])[0],
    "program": lambda f: ad.trace(f)(X)(X),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", GIVEN)
def test_what_is_given_back_is_another_array(name: str, around: str) -> None:
    def written_before(x: Any) -> Any:
        x = x * 1.0
        z = GIVEN[name](x)
        x[:] = 7.0
        return np.sum(z)

    def written_behind(x: Any) -> Any:
        x = x * 1.0
        GIVEN[name](x)[:] = 7.0
        return np.sum(x)

    def increased(e: Any) -> Any:
        e += 1.0
        return e

    def written_inside(x: Any) -> Any:
        x = x * 1.0
        ad.cond(x[0, 0] > 0, increased, increased, x)
        ad.jit(increased)(x)
        return np.sum(x)

    assert AROUND[around](written_inside) == 10.0
    assert AROUND[around](written_before) == np.sum(GIVEN[name](X))
    assert AROUND[around](written_behind) == 10.0
