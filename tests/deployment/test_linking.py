"""Libraries that call LAPACK: linked with what is found, and a refusal that says what is missing."""

import ctypes
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(20, 20)), RNG.normal(size=20)


def fit(a: Any, b: Any) -> Any:
    return np.linalg.lstsq(a[:, :18], b)[0], np.linalg.eigvalsh(a @ a.T)


def solution(a: Any, b: Any) -> Any:
    return np.linalg.solve(a, b)


def call(f: Any, path: Path, results: list[Any], *args: Any, **options: Any) -> int:
    exported = ad.export(f, *args)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of SciPy's own LAPACK, where the system has none
        written = exported.library(path, **options)
    function = getattr(ctypes.CDLL(str(written["shared"])), exported.name)
    function.restype = ctypes.c_int64
    return function(*[ctypes.c_void_p(x.ctypes.data) for x in (*args, *results)], None)


def test_lapack_is_found(tmp_path: Path) -> None:
    found = [np.empty(18), np.empty(20)]
    assert call(fit, tmp_path / "fit", found, A, B) == 0
    for got, want in zip(found, fit(A, B), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_a_singular_matrix_is_a_status(tmp_path: Path) -> None:
    x = np.empty(20)
    assert call(solution, tmp_path / "regular", [x], A, B) == 0
    np.testing.assert_allclose(A @ x, B, atol=1e-11)
    assert -9 <= call(solution, tmp_path / "singular", [x], np.ones((20, 20)), B) <= -5


@pytest.mark.parametrize("name", ["nowhere_to_be_found", "/nowhere/liblapack.so"])
def test_what_is_missing_is_named_with_a_remedy(tmp_path: Path, name: str) -> None:
    exported = ad.export(solution, A, B)
    with pytest.raises(ad.ProgramError, match=r"calls dgetrf_, dgetrs_.*install liblapack-dev.*libraries=") as problem:
        exported.library(tmp_path / "solution", libraries=[name])
    assert "cc -shared -o libsolution.so solution.o -llapack -lblas" in str(problem.value)
    assert (tmp_path / "solution.o").exists()


def test_libraries_by_path(tmp_path: Path) -> None:
    import scipy

    files = sorted((Path(str(scipy.__file__)).parent.parent / "scipy.libs").glob("libgfortran*"))
    name = [str(files[0])] if files else ["m"]
    x = np.empty(20)
    assert call(lambda a, b: a @ b, tmp_path / "product", [x], A, B, libraries=name) == 0
    np.testing.assert_allclose(x, A @ B, rtol=1e-12, atol=1e-12)
