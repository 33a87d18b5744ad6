"""Loops in C behind ufuncs: found by name and dtypes, the same ones that NumPy calls."""

import ctypes

import numpy as np
import pytest
import scipy.special

from adjoint.compile import ufunc_loops
from adjoint.compile.ufunc_loops import address, find_loop

CALL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


def test_a_loop_does_what_the_ufunc_does() -> None:
    loop = find_loop("special", "jv", "dd->d")
    assert loop is not None
    assert loop.data is not None
    x, z = np.linspace(0.0, 9.0, 8), np.empty(8)
    order = np.array(1.5)
    pointers = np.array([order.ctypes.data, x.ctypes.data, z.ctypes.data], np.uintp)
    sizes, strides = np.array([8], np.intp), np.array([0, 8, 8], np.intp)
    tables = [t.ctypes.data for t in (pointers, sizes, strides)]
    CALL(loop.symbols[loop.function])(*tables, loop.symbols[loop.data])
    np.testing.assert_array_equal(z, scipy.special.jv(1.5, x))


def test_symbols_lead_to_the_same_addresses() -> None:
    loop = find_loop("fft", "rfft_n_even", "dd->D")
    assert loop is not None
    assert all(address(name) == at for name, at in loop.symbols.items())


@pytest.mark.parametrize("name", ["adjoint_loop.special.nothing.d_d", "adjoint_loop.special.jv.l_l"])
def test_what_is_not_there(name: str) -> None:
    _, home, ufunc, types = name.split(".")
    assert find_loop(home, ufunc, types.replace("_", "->")) is None
    with pytest.raises(KeyError):
        address(name)


def test_another_layout_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(ctypes.Structure):
        _fields_ = [("head", ctypes.c_int64), *ufunc_loops._Ufunc._fields_]

    monkeypatch.setattr(ufunc_loops, "_Ufunc", Other)
    assert ufunc_loops._symbols("special", "jv", "dd->d") is None
