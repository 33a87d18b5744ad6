"""A call or more of every function of the extensions of the Array API standard: linear algebra, Fourier transforms."""

import numpy as np

from tests.numpy.array_api_call import Call, calls, device

CALLS: list[Call] = []


def _add(name: str, kind: str, *made) -> None:
    CALLS.extend(calls(name, kind, *made))


# linear algebra
for _part in ("", "linalg."):
    _add(f"{_part}matmul", "numeric", lambda f, x, m: f(x, m))
    _add(f"{_part}matmul", "numeric", lambda f, x, v: f(x, v))
    _add(f"{_part}matrix_transpose", "all", lambda f, x: f(x))
    _add(
        f"{_part}tensordot",
        "numeric",
        lambda f, x, y: f(x, y),
        lambda f, x, m: f(x, m, axes=1),
        lambda f, x, y: f(x, y, axes=((0,), (0,))),
    )
    _add(
        f"{_part}vecdot",
        "numeric",
        lambda f, x, y: f(x, y),
        lambda f, x, y: f(x, y, axis=-2),
    )
for _name in (
    *("cholesky", "det", "diagonal", "eigvalsh", "inv", "matrix_norm", "matrix_rank", "pinv", "slogdet", "svdvals"),
    "trace",
):
    _add(
        f"linalg.{_name}",
        "floating",
        lambda f, m: f(m),
        lambda f, xp, m: f(xp.stack([m, m + m])),
    )
_add("linalg.cholesky", "floating", lambda xp, m: xp.linalg.cholesky(m, upper=True))
_add(
    "linalg.cross", "numeric", lambda xp, x, y: xp.linalg.cross(x, y), lambda xp, m: xp.linalg.cross(m, m * m, axis=-2)
)
_add("linalg.diagonal", "all", lambda xp, x: xp.linalg.diagonal(x, offset=1))
_add(
    "linalg.eigh",
    "floating",
    lambda xp, m: xp.linalg.eigh(m).eigenvalues,
    lambda xp, m: xp.abs(xp.linalg.eigh(m)[1]),
)
_add(
    "linalg.matrix_norm",
    "floating",
    *(
        lambda xp, x, order=order: xp.linalg.matrix_norm(x, ord=order, keepdims=True)
        for order in ("fro", "nuc", 1, 2, -1, -2, np.inf, -np.inf)
    ),
)
_add("linalg.matrix_power", "floating", *(lambda xp, m, n=n: xp.linalg.matrix_power(m, n) for n in (3, 1, 0, -2)))
_add("linalg.matrix_rank", "floating", lambda xp, m: xp.linalg.matrix_rank(m, rtol=0.5))
_add("linalg.outer", "numeric", lambda xp, v, w: xp.linalg.outer(v, w))
_add("linalg.pinv", "floating", lambda xp, x: xp.linalg.pinv(x, rtol=1e-3))
_add(
    "linalg.qr",
    "floating",
    lambda xp, m: xp.abs(xp.linalg.qr(m).R),
    lambda xp, x: xp.abs(xp.linalg.qr(xp.matrix_transpose(x), mode="complete")[0]),
)
_add(
    "linalg.slogdet", "floating", lambda xp, m: xp.linalg.slogdet(m).logabsdet, lambda xp, m: xp.linalg.slogdet(m).sign
)
_add(
    "linalg.solve",
    "floating",
    lambda xp, m, v: xp.linalg.solve(m, v),
    lambda xp, m, x: xp.linalg.solve(m, xp.matrix_transpose(x)),
    lambda xp, m, v: xp.linalg.solve(xp.stack([m, m]), v),
)
_add(
    "linalg.svd",
    "floating",
    lambda xp, x: xp.linalg.svd(x, full_matrices=False).S,
    lambda xp, x: xp.abs(xp.linalg.svd(x, full_matrices=False)[0]),
    lambda xp, m: xp.abs(xp.linalg.svd(m).Vh),
)
_add(
    "linalg.trace",
    "numeric",
    lambda xp, x: xp.linalg.trace(x, offset=1),
    lambda xp, m: xp.linalg.trace(m, dtype=m.dtype),
)
_add(
    "linalg.vector_norm",
    "floating",
    *(
        lambda f, x, order=order, axis=axis: f(x, ord=order, axis=axis, keepdims=axis is None)
        for order in (0, 1, 2, 3, -1, -2, 0.5, np.inf, -np.inf)
        for axis in (None, -1, (0, 1))
    ),
)

# Fourier transforms
for _name, _kind in {"fft": "complex", "ifft": "complex", "irfft": "complex", "hfft": "complex"}.items():
    _add(
        f"fft.{_name}",
        _kind,
        lambda f, x: f(x),
        lambda f, x: f(x, n=4, axis=0, norm="ortho"),
    )
for _name in ("rfft", "ihfft"):
    _add(
        f"fft.{_name}",
        "real floating",
        lambda f, x: f(x),
        lambda f, x: f(x, n=4, axis=0, norm="ortho"),
    )
for _name, _kind in {"fftn": "complex", "ifftn": "complex", "irfftn": "complex", "rfftn": "real floating"}.items():
    _add(
        f"fft.{_name}",
        _kind,
        lambda f, x: f(x),
        lambda f, x: f(x, s=(4, 2), axes=(0, 1), norm="forward"),
        lambda f, x: f(x, axes=(-1,)),
    )
for _name in ("fftfreq", "rfftfreq"):
    _add(
        f"fft.{_name}",
        "real floating",
        lambda f: f(5),
        lambda f, xp, x: f(4, d=0.5, dtype=x.dtype, device=device(xp)),
    )
for _name in ("fftshift", "ifftshift"):
    _add(
        f"fft.{_name}",
        "floating",
        lambda f, x: f(x),
        lambda f, x: f(x, axes=1),
    )
