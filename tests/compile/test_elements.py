"""The primitives that are not ufuncs, promotion, and what is native."""

from __future__ import annotations

import numpy as np

from adjoint.compile.elements import is_native, memory_type, register_type
from adjoint.ops.arrays.rearrange import Imag, Real, Reshape
from adjoint.ops.elementwise.pointwise import BY_NAME, MaskedProduct
from adjoint.ops.elementwise.select import Select, StopGradient
from adjoint.ops.elementwise.weak_types import Weaken
from adjoint.program.types import ArrayType
from tests.support.element_kernels import Kernels, check, grid, native, special_values


def test_types() -> None:
    names = {
        "?": ("i1", "i8"),
        "e": ("float", "half"),
        "B": ("i8", "i8"),
        "D": ("double", "double"),
        "F": ("float",) * 2,
    }
    for char, pair in names.items():
        assert (register_type(np.dtype(char)), memory_type(np.dtype(char))) == pair


def test_masked_products() -> None:
    """Zero times anything is zero."""
    kernels = Kernels()
    for pair in ("dd", "ff", "ee", "fd", "DD", "dD", "Df", "ll", "?d", "??"):
        kernels.add(MaskedProduct(), *grid(special_values(pair[0]), special_values(pair[1])))
    kernels.add(MaskedProduct(), special_values("d"), 2.0)
    kernels.add(MaskedProduct(), special_values("f"), np.inf)
    check(kernels, zeros=False)


def test_selections() -> None:
    kernels = Kernels()
    for x, y, c in ("dd?", "fd?", "ef?", "lD?", "b?l", "ddd", "ddD", "LLe"):
        kernels.add(Select(), *grid(special_values(x), special_values(y)[:5], special_values(c)))
    x, c = grid(special_values("f"), special_values("?"))
    kernels.add(Select(), x, 0.0, c)
    kernels.add(Select(), 1, x, c)
    kernels.add(Select(), np.float64(1.5), x, c)
    kernels.add(Select(), 1.0, 2.0, c)
    kernels.add(Select(), x, 2j, c)
    check(kernels)


def test_parts_of_complex_numbers() -> None:
    kernels = Kernels()
    for dtype in "FDefd":
        for op in (Real(), Imag(), StopGradient(), Weaken()):
            kernels.add(op, special_values(dtype))
    check(kernels)


def test_what_is_not_native() -> None:
    d = ArrayType((3,), np.dtype(float))
    swapped = ArrayType((3,), np.dtype(">f8"))
    long = ArrayType((3,), np.dtype(np.longdouble))
    assert is_native(BY_NAME["add"], [d, d], d)
    assert not is_native(BY_NAME["add"], [swapped, d], d)
    assert not is_native(BY_NAME["add"], [long, d], long)
    assert not is_native(Reshape((3, 1)), [d], ArrayType((3, 1), d.dtype))
    assert not native(BY_NAME["add"], np.zeros(1, np.int8), 300)
