"""What NumPy refuses for its dtype is refused of a traced value as well."""

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.operators import FUNCTIONS

DTYPES = "dDB?q"
# what NumPy's error is about when the second argument happens to mean something else: dtype, out, order, kind
OTHER = ("data type", "construct a dtype", "ArrayType", "output must", "order", "kind", "missing", "takes", "multiple")
# they print: a traced value has no number to be cut off
PRINTING = ("array2string", "array_repr", "array_str")


def arrays(shape: tuple[int, ...]) -> dict[str, Any]:
    base = 1.0 + np.arange(np.prod(shape)).reshape(shape) % 5
    return {c: (base > 2) if c == "?" else base.astype(c) for c in DTYPES}


def refused(function: Any, args: Any) -> str | None:
    """NumPy's TypeError, if it is about the arrays."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*args)
    except TypeError as error:
        return None if any(word in str(error) for word in OTHER) else str(error)
    except Exception:
        return None
    return None


def calls(function: Any) -> Any:
    given, square = arrays((4,)), arrays((3, 3))
    for c in DTYPES[:-1]:
        yield from ([given[c]], [square[c]], [given[c], given[c]], [given[c], given["q"]], [given[c], 2])


def test_functions() -> None:
    accepted: list[str] = []
    for function in FUNCTIONS:
        name = getattr(function, "__name__", "")
        for args in calls(function) if name not in PRINTING else ():
            if refused(function, args) is None:
                continue
            try:
                ad.trace(lambda *a, function=function: (function(*a), 0.0)[1])(*args)
            except Exception:
                continue
            accepted.append(f"{name} of {[getattr(a, 'dtype', a) for a in args]}")
    assert not accepted


@pytest.mark.parametrize("ufunc", [u for u in vars(np).values() if isinstance(u, np.ufunc)], ids=lambda u: u.__name__)
def test_ufuncs(ufunc: Any) -> None:
    given = arrays((3,) if ufunc.signature is None else (3, 3))
    for dtypes in itertools.product("dDqB?", repeat=ufunc.nin):
        args = [given[c] for c in dtypes]
        try:
            with np.errstate(all="ignore"):
                expected = ufunc(*args)
        except TypeError:
            with pytest.raises(TypeError):
                ad.trace(ufunc)(*args)
            continue
        types = ad.trace(ufunc)(*args).output_types
        parts = expected if isinstance(expected, tuple) else (expected,)
        assert [t.dtype for t in types] == [part.dtype for part in parts]


def test_the_words_have_a_remedy() -> None:
    x = np.array([0.0, 1.0])
    for f, words in (
        (np.packbits, "x != 0"),
        (lambda x: np.unravel_index(x, (2, 2)), r"\.astype\(int\)"),
        (lambda x: np.select([x], [x]), "x != 0"),
        (lambda x: np.gradient(x > 0), r"\.astype\(int\)"),
    ):
        with pytest.raises(TypeError, match=words):
            ad.jit(f)(x)
