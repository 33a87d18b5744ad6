"""The Array API standard: special values, on plain arrays, inside every transformation, and compiled."""

import functools

import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as xp
from tests.numpy.array_api_special_values import (
    AS_NUMPY,
    CONJUGATE,
    OF_COMPLEX,
    OF_ONE,
    OF_TWO,
    TURNED,
    Case,
    cases,
    right,
)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def eager(f, *xs):
    return f(*xs)


def forward(f, *xs):
    return ad.jvp(f, xs, tuple(np.ones_like(x) for x in xs))[0]


def reverse(f, *xs):
    return ad.vjp(lambda *a: (np.sum(a[0]), f(*a)), *xs, has_aux=True)[2]  # truth values have no cotangents


def batched(f, *xs):
    return ad.vmap(f)(*xs)


def jitted(f, *xs):
    return ad.jit(f)(*xs)


WAYS = (eager, forward, reverse, batched, jitted)


def real_arguments(name: str, dtype: type) -> list[np.ndarray]:
    columns = zip(*[case.arguments for case in cases((OF_ONE | OF_TWO)[name])], strict=True)
    return [np.array(column, dtype) for column in columns]


def complex_arguments(name: str, dtype: type) -> list[np.ndarray]:
    return [complex_of(*zip(*[case.arguments for case in cases(OF_COMPLEX[name])], strict=True), dtype)]


@functools.cache
def compiled(names: tuple[str, ...], arguments, dtype: type) -> dict[str, np.ndarray]:
    """All functions in one, to compile it once."""
    f = lambda pools: {name: getattr(xp, name)(*pools[name]) for name in names}
    return ad.jit(f)({name: arguments(name, dtype) for name in names})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_real(name: str, dtype: type) -> None:
    found = list(cases((OF_ONE | OF_TWO)[name]))
    arguments = real_arguments(name, dtype)
    for way in WAYS:
        if way is jitted:
            results = compiled((*OF_ONE, *OF_TWO), real_arguments, dtype)[name]
        else:
            results = way(getattr(xp, name), *arguments)
        assert results.dtype == (np.bool if "True" in (OF_ONE | OF_TWO)[name] else dtype)
        wrong = [
            f"{way.__name__} {name}{arguments}: {case.row}, not {result}"
            for case, result, *arguments in zip(found, results, *arguments, strict=True)
            if not right(result, case.wanted, tuple(map(float, arguments)))
        ]
        assert not wrong, "\n".join(wrong)


def test_the_sign_of_nan_is_copied() -> None:
    found = [case for case in cases(OF_TWO["copysign"]) if case.wanted.endswith("nan")]
    x1, x2 = (np.array(column) for column in zip(*[case.arguments for case in found], strict=True))
    for way in WAYS:
        results = way(xp.copysign, x1, x2)
        assert [bool(b) for b in np.signbit(results)] == [case.wanted == "-nan" for case in found], way


def complex_of(a, b, dtype) -> np.ndarray:
    z = np.empty(len(a), dtype)
    z.real, z.imag = a, b
    return z


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_complex(name: str, dtype: type) -> None:
    found = list(cases(OF_COMPLEX[name]))
    (z,) = complex_arguments(name, dtype)
    plain = getattr(xp, name)(z)
    for way in WAYS:
        if way is jitted:
            results = compiled(tuple(OF_COMPLEX), complex_arguments, dtype)[name]
        else:
            results = way(getattr(xp, name), z)
        wrong = [
            f"{way.__name__} {name}({x}): {case.row}, not {result}"
            for case, x, result, numpys in zip(found, z, results, plain, strict=True)
            if not (fits(case, result) or (numpy_differs(name, case) and agree(result, numpys)))
        ]
        assert not wrong, "\n".join(wrong)


def fits(case: Case, result) -> bool:
    parts = (result.real, result.imag) if "," in case.wanted else (result,)
    return all(right(part, one, case.arguments) for part, one in zip(parts, case.wanted.split(", "), strict=True))


def numpy_differs(name: str, case: Case) -> bool:
    return case.row.split(" → ")[0] in AS_NUMPY.get(name, ())


VALUES = (0.0, -0.0, 0.5, -1.0, 1.0, 3.0, -2.5, np.inf, -np.inf, np.nan)
PLANE = complex_of(*(grid.ravel() for grid in np.meshgrid(VALUES, VALUES)), np.complex128)


def agree(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Equal, also in what is infinite, and in the signs of zeros where all is finite."""
    parts = lambda z: np.stack([z.real, z.imag])
    a, b = parts(np.asarray(found)), parts(np.asarray(wanted))
    finite = np.all(np.isfinite(a), axis=0)
    return bool(
        np.allclose(np.abs(a), np.abs(b), rtol=1e-12, atol=0.0, equal_nan=True)
        and np.array_equal(np.sign(a[:, finite]), np.sign(b[:, finite]))
    )


@pytest.mark.parametrize("name", TURNED)
def test_complex_functions_that_others_define(name: str) -> None:
    turned = lambda z: complex_of(-z.imag, z.real, z.dtype)
    wanted = getattr(xp, TURNED[name])(turned(PLANE))
    wanted = wanted if name == "cos" else complex_of(wanted.imag, -wanted.real, wanted.dtype)
    for way in WAYS[:-1]:
        assert agree(way(getattr(xp, name), PLANE), wanted), way


@pytest.mark.parametrize("name", CONJUGATE)
def test_conjugates(name: str) -> None:
    for way in WAYS[:-1]:
        assert agree(way(getattr(xp, name), np.conj(PLANE)), np.conj(way(getattr(xp, name), PLANE))), way


@pytest.mark.parametrize("name, base", [("log2", 2.0), ("log10", 10.0)])
def test_logarithms_to_other_bases(name: str, base: float) -> None:
    wanted = np.log(PLANE)
    wanted = complex_of(wanted.real / np.log(base), wanted.imag / np.log(base), PLANE.dtype)
    for way in WAYS[:-1]:
        assert agree(way(getattr(xp, name), PLANE), wanted), way


def test_all_of_these_compiled() -> None:
    f = lambda z: {name: getattr(xp, name)(z) for name in {*TURNED, *CONJUGATE}}
    for name, found in ad.jit(f)(PLANE).items():
        assert agree(found, getattr(xp, name)(PLANE)), name


def test_bounds_that_are_nan() -> None:
    values, bounds = np.array([1.0, np.nan, 1.0, 5.0]), np.array([np.nan, 0.0, 0.5, np.nan])
    for way in WAYS:
        for f in (lambda x, b: xp.clip(x, b, 3.0), lambda x, b: xp.clip(x, max=b), lambda x, b: xp.clip(x, b)):
            assert list(np.isnan(way(f, values, bounds))) == [True, True, False, True], way
    assert np.isnan(ad.jit(lambda x: xp.clip(x, np.nan, 2.0))(np.array([1.0]))[0])
