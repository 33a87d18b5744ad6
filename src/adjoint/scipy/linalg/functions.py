"""Functions of a matrix: exponential, logarithm, roots and powers, trigonometric ones, and any function of a Hermitian
one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.linalg.expm import MatrixExponential, toeplitz
from adjoint.ops.linalg.matrices import answer
from adjoint.ops.linalg.matrix_functions import Logarithm, RealPower, Sign, SquareRoot
from adjoint.ops.linalg.spectral_function import SpectralDerivative
from adjoint.program.op import Op
from adjoint.program.trace import bind
from adjoint.program.types import Value
from adjoint.scipy.linalg.arguments import array, inexact, not_hermitian, square


def expm(A: Any) -> Value:  # noqa: N803
    """The exponential of a matrix."""
    return bind(MatrixExponential(), square(A, "expm"))


def expm_frechet(
    A: Any,  # noqa: N803
    E: Any,  # noqa: N803
    method: str | None = None,
    compute_expm: bool = True,
    check_finite: bool = True,
) -> Any:
    """(eᴬ, its derivative in the direction E); the derivative alone without `compute_expm`."""
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    a, e = inexact(square(A, "expm_frechet")), inexact(square(E, "expm_frechet"))
    if a.shape[-1] != e.shape[-1]:
        raise ValueError("expected A and E to be the same shape")
    real = a.dtype.kind != "c"
    dtype, stack = np.result_type(a.dtype, e.dtype), np.broadcast_shapes(a.shape, e.shape)
    a, e = (np.broadcast_to(x.astype(dtype), stack) for x in (a, e))
    n = a.shape[-1]
    both = bind(MatrixExponential(), toeplitz([a, e]))
    value, derivative = both[..., :n, :n], both[..., :n, n:]
    if not compute_expm:
        return derivative
    return (np.real(value) if real and dtype.kind == "c" else value), derivative


def expm_cond(A: Any, check_finite: bool = True) -> Value:  # noqa: N803
    """The relative condition number of the exponential, in the Frobenius norm."""
    a = inexact(square(A, "expm_cond"))
    n = a.shape[-1]
    directions = np.reshape(np.eye(n * n, dtype=a.dtype), (n * n, *(1,) * (a.ndim - 2), n, n))
    derivatives = expm_frechet(a, directions, compute_expm=False)
    table = np.moveaxis(np.reshape(derivatives, (n * n, *a.shape[:-2], n * n)), 0, -1)
    size = lambda x: np.linalg.norm(x, axis=(-2, -1))
    return np.linalg.norm(table, 2, axis=(-2, -1)) * size(a) / size(expm(a))


def _principal(op: Op, a: Value, *rest: Value) -> Value:
    """A function that is complex for some real matrices: there the answer is complex, as SciPy's.

    Where the value is not known yet, it stays real, and is NaN for those.
    """
    z = bind(op, a, *rest)
    if a.dtype.kind == "c" or not answer(lambda x: np.isnan(x), bind(StopGradient(), z)):
        return z
    return bind(op, a.astype(np.result_type(a.dtype, np.complex64)), *rest)


def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Value:  # noqa: N803
    """The square root whose eigenvalues have positive real part; complex for a real matrix that has no real one."""
    _without_disp("sqrtm", disp)
    return _principal(SquareRoot(), inexact(square(A, "sqrtm")))


def logm(A: Any, disp: Any = None) -> Value:  # noqa: N803
    """The principal logarithm; complex for a real matrix that has no real one."""
    _without_disp("logm", disp)
    return _principal(Logarithm(), inexact(square(A, "logm")))


def signm(A: Any, disp: Any = None) -> Value:  # noqa: N803
    """The sign: eigenvalues become 1 or -1, after the sign of their real part."""
    _without_disp("signm", disp)
    return bind(Sign(), inexact(square(A, "signm")))


def _without_disp(call: str, disp: Any) -> None:
    if disp is not None and not disp:
        raise UnsupportedError(
            f"{call}(disp=False) returns an estimate of the error as well, which SciPy has given up. Leave disp out."
        )


def fractional_matrix_power(A: Any, t: Any) -> Value:  # noqa: N803
    """A to the real power t; differentiable in both."""
    a, t = inexact(square(A, "fractional_matrix_power")), inexact(t)
    if t.ndim:
        raise ValueError(f"fractional_matrix_power: the power must be a number, got shape {t.shape}.")
    return _principal(RealPower(), a, np.reshape(t, (1, 1)))


def funm(A: Any, func: Callable[..., Any], disp: bool = True) -> Value:  # noqa: N803
    """func(A) of a symmetric or Hermitian matrix; func acts on arrays of numbers, element by element.

    Exact to any order, also where eigenvalues coincide, for functions that can be differentiated there, along any
    direction. Matrices that are not Hermitian are refused (where their values are not known yet, they give NaN).
    """
    if not disp:
        raise UnsupportedError("funm(disp=False) returns an estimate of the error as well. Leave disp out.")
    a = inexact(square(A, "funm"))
    value = bind(StopGradient(), a)
    other = answer(not_hermitian, value)
    if other:
        raise UnsupportedError(
            f"funm of a matrix that is not Hermitian, at {describe(here())}: values alone do not give its derivative. "
            "Use expm, logm, sqrtm, signm, fractional_matrix_power or sinm, cosm …, which take any matrix; or "
            "funm((A + A.conj().T) / 2, f)."
        )
    z = bind(SpectralDerivative(func), a)
    if other is None:
        z = np.where(np.expand_dims(not_hermitian(value), (-2, -1)), z.dtype.type(np.nan), z)
    return z


def _turned(a: Value) -> tuple[Value, Value]:
    """cos A and sin A, from e^(i A); for a complex matrix from e^(-i A) as well."""
    if a.dtype.kind == "c":
        plus, minus = expm(1j * a), expm(-1j * a)
        return (plus + minus) / 2, (plus - minus) / 2j
    z = expm(1j * a.astype(np.result_type(a.dtype, np.complex64)))
    return np.real(z), np.imag(z)


def cosm(A: Any) -> Value:  # noqa: N803
    """The cosine of a matrix."""
    return _turned(inexact(square(A, "cosm")))[0]


def sinm(A: Any) -> Value:  # noqa: N803
    """The sine of a matrix."""
    return _turned(inexact(square(A, "sinm")))[1]


def tanm(A: Any) -> Value:  # noqa: N803
    """The tangent of a matrix."""
    cosine, sine = _turned(inexact(square(A, "tanm")))
    return np.linalg.solve(cosine, sine)


def coshm(A: Any) -> Value:  # noqa: N803
    """The hyperbolic cosine of a matrix."""
    a = inexact(square(A, "coshm"))
    return (expm(a) + expm(-a)) / 2


def sinhm(A: Any) -> Value:  # noqa: N803
    """The hyperbolic sine of a matrix."""
    a = inexact(square(A, "sinhm"))
    return (expm(a) - expm(-a)) / 2


def tanhm(A: Any) -> Value:  # noqa: N803
    """The hyperbolic tangent of a matrix."""
    a = array(A)
    return np.linalg.solve(coshm(a), sinhm(a))
