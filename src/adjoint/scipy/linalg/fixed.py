"""What has no derivative: matrices made of sizes, questions with a plain answer, and functions that are refused.

The latter are SciPy's own on plain values; for traced ones the table of coverage says what to use instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.base.errors import UnsupportedError
from adjoint.base.source import describe, here
from adjoint.coverage import find
from adjoint.program.trace import Tracer, primal
from adjoint.scipy.linalg.arguments import holds_traced

SIZES = ("dft", "hadamard", "helmert", "hilbert", "invhilbert", "invpascal", "pascal")  # of plain numbers
QUESTIONS = ("bandwidth", "ishermitian", "issymmetric")  # answered for the value; derivatives do not matter
REFUSED = (
    *("cdf2rdf", "clarkson_woodruff_transform", "cossin", "hessenberg", "matrix_balance", "ordqz", "qr_delete"),
    *("qr_insert", "qr_update", "qz"),
)


def _plain(name: str) -> Callable[..., Any]:
    """SciPy's function, for plain values alone."""

    def call(*args: Any, **kwargs: Any) -> Any:
        import scipy.linalg

        if any(map(holds_traced, (*args, *kwargs.values()))):
            row = find("scipy.linalg", name)
            assert row is not None
            words = f": {row.words}" if row.reason else " of plain numbers alone: its arguments decide the shape."
            raise UnsupportedError(f"adjoint.scipy.linalg.{name} at {describe(here())}{words}")
        return getattr(scipy.linalg, name)(*args, **kwargs)

    return _named(call, name, "on plain values; traced ones are refused.")


def _asked(name: str) -> Callable[..., Any]:
    """SciPy's function of the value."""

    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        import scipy.linalg

        value = primal(a)
        if isinstance(value, Tracer):
            raise UnsupportedError(
                f"{name} was asked of a value that is not known yet, or of a whole batch, at {describe(here())}. "
                "Ask before jit or vmap, or compare with NumPy: np.all(a == a.T)."
            )
        return getattr(scipy.linalg, name)(np.asarray(value), *args, **kwargs)

    return _named(call, name, "of the value; it has no derivative.")


def _named(call: Callable[..., Any], name: str, words: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"scipy.linalg.{name}, {words}"
    return call


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _plain(name) for name in (*SIZES, *REFUSED)},
    **{name: _asked(name) for name in QUESTIONS},
}
