"""The Array API standard: values, shapes and dtypes of every function, for every dtype that it is defined for.

Plain arrays are compared with another implementation of the standard; inside ad.vmap and ad.jit, with plain arrays.
"""

import warnings

import array_api_strict as strict
import numpy as np
import pytest

import adjoint as ad
import adjoint.numpy as xp
from tests.numpy.array_api_calls import calls_for
from tests.numpy.array_api_names import DTYPES, KINDS
from tests.support.sweeps import sampled

# how many elements the result has depends on values, which lanes need not have in common
DATA_DEPENDENT = ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values")


def parts(result) -> tuple:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def same(found, wanted, what: str) -> None:
    found, wanted = parts(found), parts(wanted)
    assert len(found) == len(wanted), what
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), what
        digits = np.finfo(a.dtype).eps * 64 if a.dtype.kind in "fc" else 0
        np.testing.assert_allclose(a, b, rtol=digits, atol=digits, err_msg=what)


@pytest.mark.parametrize("dtype", DTYPES)
def test_plain_arrays(dtype: str) -> None:
    for call in calls_for(dtype, KINDS):
        arrays = call.arrays(dtype)
        wanted = parts(call.function(strict, *[strict.asarray(a) for a in arrays]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            found = call.function(xp, *arrays)
        same(found, [np.from_dlpack(part) for part in wanted], f"{call.name} of {dtype}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_lanes(dtype: str) -> None:
    for call in calls_for(dtype, KINDS):
        arrays = call.arrays(dtype)
        f = lambda *xs, call=call: parts(call.function(xp, *xs))
        stacked = [np.stack([a, np.flip(a)]) if a.ndim == 1 else np.stack([a, a]) for a in arrays]
        if call.name in DATA_DEPENDENT or not arrays:
            continue
        found = ad.vmap(f)(*stacked)
        for lane in range(2):
            same([part[lane] for part in found], f(*[s[lane] for s in stacked]), f"{call.name} of {dtype} in lanes")


@pytest.mark.parametrize("dtype", sampled(DTYPES[::-1], 2, lambda dtype: np.dtype(dtype).kind))
def test_compiled(dtype: str) -> None:
    """Many calls in one function: to compile it once is quicker. Each call is compiled for one dtype of each kind."""
    turn = next(dtypes for kind in ("bool", "integer", "real floating", "complex") if dtype in (dtypes := KINDS[kind]))
    calls = calls_for(dtype, KINDS)[turn.index(dtype) :: len(turn)]
    pools = [call.arrays(dtype) for call in calls]

    def together(pools):
        return [parts(call.function(xp, *arrays)) for call, arrays in zip(calls, pools, strict=True)]

    for call, found, wanted in zip(calls, ad.jit(together)(pools), together(pools), strict=True):
        same(found, wanted, f"{call.name} of {dtype}, compiled")
