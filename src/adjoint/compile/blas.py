"""Where SciPy's BLAS and LAPACK are in memory, and their threads.

SciPy's Cython interface lists each routine as a capsule that holds its address. Machine code names a routine
(`adjoint_blas_dgemm`) and gets its address when it is loaded, so that object files can be kept on disk. The routines
take Fortran's arguments: everything by pointer, 32-bit integers, matrices by columns.
"""

# SciPy has no types.
# pyright: basic

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

# OpenBLAS is built under several names, with a prefix, a suffix, or both.
_SETTERS = tuple(
    f"{prefix}openblas_set_num_threads{suffix}" for prefix in ("scipy_", "") for suffix in ("", "64_", "_64", "_64_")
)


def _addresses(module: Any, prefix: str) -> dict[str, int]:
    """name → address of the routines that a SciPy module lists for Cython."""
    capsule_name = ctypes.pythonapi.PyCapsule_GetName
    capsule_name.restype, capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    capsule_pointer.restype, capsule_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return {
        f"{prefix}{name}": capsule_pointer(capsule, capsule_name(capsule))
        for name, capsule in module.__pyx_capi__.items()
    }


@cache
def symbols() -> dict[str, int]:
    """`adjoint_blas_dgemm` → address, for all of BLAS."""
    import scipy.linalg.cython_blas as cython_blas

    return _addresses(cython_blas, "adjoint_blas_")


@cache
def lapack_symbols() -> dict[str, int]:
    """`adjoint_lapack_dpotrf` → address, for all of LAPACK."""
    import scipy.linalg.cython_lapack as cython_lapack

    return _addresses(cython_lapack, "adjoint_lapack_")


def address(name: str) -> int:
    """Where a routine of BLAS or LAPACK is, by our name for it."""
    return (lapack_symbols() if name.startswith("adjoint_lapack_") else symbols())[name]


def _libraries() -> Iterator[ctypes.CDLL]:
    """The libraries in which OpenBLAS's own functions may be found."""
    import scipy.linalg.cython_blas as cython_blas

    own = str(cython_blas.__file__)
    paths = [own]  # a symbol is looked for in what the module links to as well
    if sys.platform == "win32":  # here it is not
        import glob

        site = os.path.dirname(os.path.dirname(os.path.dirname(own)))
        paths += [path for part in ("scipy.libs", "scipy/.libs") for path in glob.glob(f"{site}/{part}/*openblas*.dll")]
    for path in paths:
        try:
            yield ctypes.CDLL(path)
        except OSError:
            continue


@cache
def thread_functions() -> tuple[int, int]:
    """Addresses of the functions that say and set how many threads SciPy's OpenBLAS has; zeros where there are none."""
    for library in _libraries():
        for name in _SETTERS:
            setter, getter = getattr(library, name, None), getattr(library, name.replace("_set_", "_get_"), None)
            if setter is not None and getter is not None:
                return tuple(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in (getter, setter))  # type: ignore[return-value]
    return 0, 0


def threads() -> int | None:
    """How many threads SciPy's OpenBLAS uses now; None where it does not say."""
    getter, _ = thread_functions()
    return ctypes.CFUNCTYPE(ctypes.c_int)(getter)() if getter else None
