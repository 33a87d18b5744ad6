"""scipy.fft for plain and traced values. Names and arguments are SciPy's; on plain values every function is SciPy's.

The Fourier transforms are those of numpy.fft; sines and cosines are `adjoint.ops.signal.cosine_transforms`.
`overwrite_x`, `workers` and `plan` are taken and ignored. `with scipy.fft.set_backend(adjoint.scipy.fft):` lets
SciPy's own functions take traced values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from adjoint.base.errors import UnsupportedError
from adjoint.ops.signal.cosine_transforms import TrigonometricTransform
from adjoint.program.trace import Tracer, bind
from adjoint.program.types import Value

OPPOSITE = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}
__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftn",
    "fht",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifht",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]
__ua_domain__ = "numpy.scipy.fft"


def __ua_function__(method: Any, args: Any, kwargs: Any) -> Any:  # noqa: N807
    """What SciPy asks when this module is its backend."""
    if not any(isinstance(v, Tracer) for v in (*args, *kwargs.values())):
        return NotImplemented
    return FUNCTIONS[method.__name__](*args, **kwargs)


def __getattr__(name: str) -> Any:
    """Everything else of scipy.fft."""
    try:
        return getattr(scipy.fft, name)
    except AttributeError:
        raise AttributeError(f"adjoint.scipy.fft has no {name!r}, and neither has scipy.fft") from None


def __dir__() -> list[str]:
    return sorted({*__all__, *scipy.fft.__all__})


def _like(name: str, ours: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function on plain values, ours on traced ones."""
    theirs = getattr(scipy.fft, name)

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return (ours if isinstance(x, Tracer) else theirs)(x, *args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{(theirs.__doc__ or name).strip().splitlines()[0]} (scipy.fft.{name})"
    return call


def _one(name: str) -> Callable[..., Any]:
    """A transform along one axis."""
    transform: Any = getattr(np.fft, name)

    def ours(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Value:
        return transform(x, n, axis, norm)

    return _like(name, ours)


def _several(name: str, transform: Callable[..., Any], default: Any) -> Callable[..., Any]:
    """A transform along several axes."""

    def ours(
        x: Any,
        s: Any = None,
        axes: Any = default,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Value:
        axes = (axes,) if isinstance(axes, int) else axes
        s = (s,) if isinstance(s, int) else s
        if axes is None and s is not None:
            axes = tuple(range(x.ndim - len(s), x.ndim))
        return transform(x, s, axes, norm)

    return _like(name, ours)


def _hermitian(x: Value, s: Any, axes: Any, norm: str | None) -> Value:
    return np.fft.irfftn(np.conjugate(x), s, axes, OPPOSITE.get(norm, norm))  # type: ignore[arg-type]


def _from_real(x: Value, s: Any, axes: Any, norm: str | None) -> Value:
    return np.conjugate(np.fft.rfftn(x, s, axes, OPPOSITE.get(norm, norm)))  # type: ignore[arg-type]


fft, ifft, rfft, irfft = _one("fft"), _one("ifft"), _one("rfft"), _one("irfft")
hfft, ihfft = _one("hfft"), _one("ihfft")
fft2, ifft2 = _several("fft2", np.fft.fftn, (-2, -1)), _several("ifft2", np.fft.ifftn, (-2, -1))
rfft2, irfft2 = _several("rfft2", np.fft.rfftn, (-2, -1)), _several("irfft2", np.fft.irfftn, (-2, -1))
fftn, ifftn = _several("fftn", np.fft.fftn, None), _several("ifftn", np.fft.ifftn, None)
rfftn, irfftn = _several("rfftn", np.fft.rfftn, None), _several("irfftn", np.fft.irfftn, None)
hfft2, ihfft2 = _several("hfft2", _hermitian, (-2, -1)), _several("ihfft2", _from_real, (-2, -1))
hfftn, ihfftn = _several("hfftn", _hermitian, None), _several("ihfftn", _from_real, None)


def _resized(x: Value, n: int, axis: int) -> Value:
    if n < 1:
        raise ValueError(f"Invalid number of data points ({n}) specified.")
    old = x.shape[axis]
    if n < old:
        return x[(slice(None),) * axis + (slice(0, n),)]
    return x if n == old else np.pad(x, [(0, n - old if j == axis else 0) for j in range(x.ndim)])


def _scaled_ends(x: Value, axis: int, ends: tuple[int, ...], factor: float) -> Value:
    """x with its first or last elements along an axis multiplied."""
    w = np.ones(x.shape[axis], x.real.dtype if x.dtype.kind == "c" else x.dtype)
    w[list(ends)] = factor
    return x * np.reshape(w, tuple(-1 if j == axis else 1 for j in range(x.ndim)))


def _along(
    kind: str, x: Value, type_: int, n: int | None, axis: int, norm: str | None, orthogonal: Any, inverse: bool
) -> Value:
    """One transform with its scale; with `orthogonal` its matrix is made orthogonal (up to the scale)."""
    if type_ not in (1, 2, 3, 4):
        raise ValueError(f"{kind}: type must be 1, 2, 3 or 4, got {type_!r}.")
    if norm not in OPPOSITE:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    x = _resized(x, x.shape[axis] if n is None else n, axis)
    if inverse:
        type_ = {2: 3, 3: 2}.get(type_, type_)
    length = x.shape[axis]
    period = 2 * length if type_ > 1 else 2 * (length - 1) if kind == "dct" else 2 * (length + 1)
    orthogonal = norm == "ortho" if orthogonal is None else orthogonal
    ends = (0, -1) if type_ == 1 else (0,) if kind == "dct" else (-1,)
    touched = orthogonal and (type_ in (2, 3) or (type_ == 1 and kind == "dct"))
    if touched and type_ in (1, 3):
        x = _scaled_ends(x, axis, ends, math.sqrt(2.0))
    z = bind(TrigonometricTransform(kind, type_, axis), x)
    if touched and type_ in (1, 2):
        z = _scaled_ends(z, axis, ends, math.sqrt(0.5))
    if norm == "ortho":
        return z * (1.0 / math.sqrt(period))
    return z * (1.0 / period) if (norm == "forward") != inverse else z


def _trigonometric(name: str) -> Callable[..., Any]:
    kind, inverse = name.removeprefix("i").removesuffix("n"), name.startswith("i")

    def ours(
        x: Any,
        type: int = 2,  # noqa: A002
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        orthogonalize: bool | None = None,
    ) -> Value:
        return _along(kind, x, type, n, axis, norm, orthogonalize, inverse)

    def ours_n(
        x: Any,
        type: int = 2,  # noqa: A002
        s: Any = None,
        axes: Any = None,
        norm: str | None = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        orthogonalize: bool | None = None,
    ) -> Value:
        s = (s,) if isinstance(s, int) else s
        if axes is None:
            axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
        axes = (axes,) if isinstance(axes, int) else tuple(axes)
        for axis, n in zip(axes, [None] * len(axes) if s is None else s, strict=True):
            x = _along(kind, x, type, None if n in (None, -1) else n, axis, norm, orthogonalize, inverse)
        return x

    return _like(name, ours_n if name.endswith("n") else ours)


dct, idct, dst, idst = (_trigonometric(name) for name in ("dct", "idct", "dst", "idst"))
dctn, idctn, dstn, idstn = (_trigonometric(name) for name in ("dctn", "idctn", "dstn", "idstn"))


def _hankel(name: str) -> Callable[..., Any]:
    """A fast Hankel transform: linear, so its matrix is what it does to the unit vectors."""
    theirs = getattr(scipy.fft, name)

    def ours(a: Any, dln: Any, mu: Any, offset: Any = 0.0, bias: Any = 0.0) -> Value:
        if any(isinstance(v, Tracer) for v in (dln, mu, offset, bias)):
            raise UnsupportedError(
                f"{name}: dln, mu, offset and bias have no derivative rule here. Give plain numbers."
            )
        return np.matmul(a, theirs(np.eye(a.shape[-1]), dln, mu, offset, bias))

    return _like(name, ours)


fht, ifht = _hankel("fht"), _hankel("ifht")


FUNCTIONS: dict[str, Callable[..., Any]] = {name: globals()[name] for name in __all__}
