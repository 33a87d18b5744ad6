"""Addresses of BLAS and LAPACK: the routines there do what their names say; OpenBLAS runs on one thread."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from adjoint.compile import blas

KINDS = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}


def by_pointers(address: int, *args: object) -> None:
    """Call a Fortran routine: letters, whole numbers and arrays, all by pointer."""
    kept = [
        ctypes.c_char_p(arg.encode())
        if isinstance(arg, str)
        else ctypes.byref(ctypes.c_int(arg))
        if isinstance(arg, int)
        else ctypes.c_void_p(arg.ctypes.data)
        for arg in args
    ]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kept))(address)(*kept)


@pytest.mark.parametrize("letter", "sdcz")
def test_gemm(letter: str) -> None:
    rng = np.random.default_rng(0)
    m, n, k = 3, 4, 5
    dtype = KINDS[letter]
    a, b = (np.asfortranarray(rng.normal(size=shape).astype(dtype)) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), dtype, order="F")
    one, zero = np.ones((), dtype), np.zeros((), dtype)
    by_pointers(blas.symbols()[f"adjoint_blas_{letter}gemm"], "N", "N", m, n, k, one, a, m, b, k, zero, c, m)
    assert np.allclose(c, a @ b, rtol=1e-5)


@pytest.mark.parametrize("letter", "sd")
def test_dot_returns_its_value(letter: str) -> None:
    x, y = (np.arange(6, dtype=KINDS[letter]) + shift for shift in (0, 1))
    kind = ctypes.c_float if letter == "s" else ctypes.c_double
    function = ctypes.CFUNCTYPE(kind, *[ctypes.c_void_p] * 5)(blas.symbols()[f"adjoint_blas_{letter}dot"])
    n, step = ctypes.c_int(6), ctypes.c_int(1)
    assert function(ctypes.byref(n), x.ctypes.data, ctypes.byref(step), y.ctypes.data, ctypes.byref(step)) == x @ y


@pytest.mark.parametrize("letter", "sdcz")
def test_what_the_compiler_calls_is_there(letter: str) -> None:
    outer = ["ger"] if letter in "sd" else ["geru", "gerc"]
    for name in ["gemm", "gemv", "trsm", "trmm", "axpy", "scal", "copy", *outer]:
        assert blas.symbols()[f"adjoint_blas_{letter}{name}"] > 0
    for name in ["potrf", "getrf", "geqrf", "gesdd", "trtrs"]:
        assert blas.lapack_symbols()[f"adjoint_lapack_{letter}{name}"] > 0


def test_lapack_factorizes() -> None:
    a = np.array([[4.0, 2.0], [2.0, 3.0]], order="F")
    factor, info = a.copy(order="F"), np.zeros((), np.int32)
    by_pointers(blas.lapack_symbols()["adjoint_lapack_dpotrf"], "L", 2, factor, 2, info)
    assert info == 0
    assert np.allclose(np.tril(factor), scipy.linalg.cholesky(a, lower=True))


def test_one_thread_inside_of_our_calls_alone() -> None:
    """What others see of OpenBLAS's threads is as it was before, between calls and after them."""
    code = """if True:
        import ctypes
        import numpy as np, adjoint as ad
        from adjoint.compile import blas

        before = blas.threads()
        inside = []
        note = ad.debug.callback
        solve = ad.jit(lambda a, b: (note(lambda x: inside.append(blas.threads()), b), np.linalg.solve(a, b))[1])
        solve(np.eye(9), np.ones(9))
        try:
            solve(np.zeros((9, 9)), np.ones(9))
        except np.linalg.LinAlgError:
            pass
        print(before, inside[-1], blas.threads())
    """
    source = str(Path(blas.__file__).parents[2])
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "PYTHONPATH": source}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    before, inside, after = run.stdout.split()
    assert after == before
    assert inside == ("None" if before == "None" else "1")
