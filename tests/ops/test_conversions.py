"""What only a plain value can answer, asked of traced ones: truth, whole numbers, floats, lists."""

import cmath
import math
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as anp
from adjoint.base.config import config
from adjoint.base.errors import TraceError

table = np.array([[1.0, 2.0], [3.0, 4.0]])
counts = np.array([3, 5])
waves = np.array([1.0 + 2.0j, 3.0])

FUNCTIONS = {
    "float of a comparison": lambda x: x * float(x > 0),
    "complex of a comparison": lambda x: np.real(x * complex(x > 0)),
    "float of an index": lambda x: x * float(np.argmax(np.stack([x, 2 * x]))),
    "math of an index": lambda x: x * math.sqrt(np.argmin(np.stack([x, 2 * x])) + 1),
    "math of a constant": lambda x: x * math.sin(table[1, 0]) + math.hypot(*table[0]),
    "cmath of a constant": lambda x: np.real(x * cmath.exp(waves[0])),
    "item": lambda x: x * table.item(3) + table.item(0, 1) + table[1, 1].item() * x**2 + np.sum(table).item(),
    "item of whole numbers": lambda x: x * counts.item(1),
    "tolist": lambda x: x * table.tolist()[1][0] + sum(counts.tolist()),
    "tolist of complex numbers": lambda x: np.real(x * waves.tolist()[0] ** 2),
    "of an array that is made": lambda x: x * math.cos(anp.zeros(2)[0]) + anp.ones(3).tolist()[1] * x,
}
MODES: dict[str, Any] = {
    "jit": lambda f, x: ad.jit(f)(x),
    "vmap": lambda f, x: ad.vmap(f)(np.array([-0.4, x]))[1],
    "jit of vmap": lambda f, x: ad.jit(ad.vmap(f))(np.array([-0.4, x]))[1],
    "grad": lambda f, x: ad.value_and_grad(f)(x)[0],
    "jit of grad": lambda f, x: ad.jit(ad.value_and_grad(f))(x)[0],
    "jvp": lambda f, x: ad.jvp(f, (x,), (1.0,))[0],
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_known_is_answered(name: str, mode: str) -> None:
    f = FUNCTIONS[name]
    for x in (1.3, -0.7):
        np.testing.assert_allclose(MODES[mode](f, np.float64(x)), f(np.float64(x)), rtol=1e-14)


def test_answers_are_guards() -> None:
    numbers = np.array([1.0, 2.0])
    f = ad.jit(lambda x: x * float(x > 0) + math.exp(numbers[0]) + numbers.tolist()[1])
    for x in (2.0, -2.0, 3.0):
        for first in (0.5, 1.5):
            numbers[:] = first
            assert f(x) == pytest.approx(x * (x > 0) + math.exp(first) + first)


def test_a_derivative_is_not_dropped() -> None:
    for ask in (float, complex, math.sin, lambda v: v.item(), lambda v: v.tolist()):
        for transform in (ad.grad, ad.jit, ad.vmap, ad.jacfwd):
            with config.override(convert=False), pytest.raises(TraceError, match="was asked for the plain value"):
                transform(lambda x, ask=ask: x * np.real(ask(x)))(np.ones(2) if transform is ad.vmap else 1.3)
    for ask, slope in ((float, 2.6), (complex, 2.6), (math.sin, math.sin(1.3) + 1.3 * math.cos(1.3))):
        f = lambda x, ask=ask: x * np.real(ask(x))
        for g in (ad.grad(f), ad.jacfwd(f), ad.jit(ad.grad(f)), lambda x, f=f: ad.vmap(ad.grad(f))(np.full(2, x))[0]):
            assert g(1.3) == pytest.approx(slope, rel=1e-14)
    assert ad.grad(lambda x: x * ad.stop_gradient(x).item())(1.3) == 1.3
    with pytest.raises(TypeError):
        ad.grad(lambda x: np.sum(x) * float(ad.stop_gradient(x)))(np.ones(2))


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8, np.bool_, anp.int16, anp.int64])
def test_classes_of_whole_numbers(kind: Any) -> None:
    f = lambda x: x * kind(x) + kind(x > 2)
    for x in (2.7, 0.3, 3.0):
        for mode in MODES.values():
            assert mode(f, np.float64(x)) == pytest.approx(f(np.float64(x)))
    assert ad.jit(lambda x: kind(np.argmax(x)))(np.array([1.0, 3.0])) == 1


def test_classes_of_floats_name_the_conversion() -> None:
    for kind in (np.float32, np.complex128):
        f = lambda x, kind=kind: np.real(kind(x)) ** 2
        with config.override(convert=False), pytest.raises(TraceError, match=rf"x\.astype\(np\.{np.dtype(kind)}\)"):
            ad.grad(f)(1.3)
        assert ad.grad(f)(1.3) == pytest.approx(2.6, rel=1e-7)
        assert ad.jit(f)(1.3).dtype == f(1.3).dtype
    f = lambda x: np.sum(np.ascontiguousarray(x) ** 2)
    with config.override(convert=False), pytest.raises(TraceError, match=r"np\.ascontiguousarray and their like"):
        ad.grad(f)(np.ones(2))
    np.testing.assert_array_equal(ad.grad(f)(np.ones(2)), [2.0, 2.0])
