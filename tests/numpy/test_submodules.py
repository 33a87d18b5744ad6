"""Modules below adjoint.numpy, and names that a file of ours must not hide."""

import importlib
import pkgutil
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy
import scipy.linalg
import scipy.signal
import scipy.special

import adjoint as ad

FAMILIES = {
    "polynomial": "polyval",
    "chebyshev": "chebval",
    "legendre": "legval",
    "hermite": "hermval",
    "hermite_e": "hermeval",
    "laguerre": "lagval",
}
MODULES = (
    *("linalg", "fft", "polynomial", "random", "ma", "exceptions", "dtypes", "testing", "typing", "lib", "rec"),
    *("lib.stride_tricks", "lib.scimath", "lib.array_utils"),
    *[f"polynomial.{name}" for name in FAMILIES],
)


@pytest.mark.parametrize("name", MODULES)
def test_import(name: str) -> None:
    ours, numpys = (importlib.import_module(f"{package}.{name}") for package in ("adjoint.numpy", "numpy"))
    assert isinstance(ours, ModuleType)
    assert ours.__name__ == f"adjoint.numpy.{name}"
    assert sys.modules[ours.__name__] is ours
    for attribute in getattr(numpys, "__all__", ()):
        assert hasattr(ours, attribute), attribute
        assert attribute in dir(ours)
    with pytest.raises(AttributeError):
        _ = ours.no_such_name


def test_nothing_is_made_up() -> None:
    for name in ("nothing", "_core", "linalg.nothing", "lib._iotools"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(f"adjoint.numpy.{name}")


def test_traced_values() -> None:
    tricks = importlib.import_module("adjoint.numpy.lib.stride_tricks")
    x = np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(tricks.sliding_window_view(x, 2)))(x), [1.0, 2.0, 1.0])
    for name, of in FAMILIES.items():
        family: Any = importlib.import_module(f"adjoint.numpy.polynomial.{name}")
        assert getattr(ad.numpy.polynomial, name) is family
        value = getattr(family, of)
        slope = (value(2.0 + 1e-6, x) - value(2.0 - 1e-6, x)) / 2e-6
        assert ad.grad(lambda t, value=value: value(t, x))(2.0) == pytest.approx(slope, rel=1e-7)


LIBRARIES = {
    "adjoint.numpy": np,
    "adjoint.numpy.linalg": np.linalg,
    "adjoint.numpy.fft": np.fft,
    "adjoint.numpy.polynomial": np.polynomial,
    "adjoint.scipy": scipy,
    "adjoint.scipy.linalg": scipy.linalg,
    "adjoint.scipy.signal": scipy.signal,
    "adjoint.scipy.special": scipy.special,
    "adjoint.compat.autograd.numpy": np,
    "adjoint.compat.autograd.scipy.special": scipy.special,
    "adjoint.compat.autograd.scipy.linalg": scipy.linalg,
    "adjoint.compat.autograd.scipy.signal": scipy.signal,
}


def test_no_file_hides_a_name() -> None:
    """A file gamma.py becomes the attribute `gamma` of its package as soon as it is imported."""
    public = {f"adjoint.{name}": None for name in ad.__all__ if isinstance(getattr(ad, name), ModuleType)}
    hidden: list[str] = []
    for package, library in (public | LIBRARIES).items():
        above = importlib.import_module(package)
        for file in pkgutil.iter_modules(getattr(above, "__path__", ())):
            wanted: Any = getattr(library, file.name, None)
            if library is None and file.name in getattr(above, "__all__", ()):
                wanted = getattr(importlib.import_module(f"{package}.{file.name}"), file.name, None)
            if wanted is not None and not isinstance(wanted, ModuleType):
                importlib.import_module(f"{package}.{file.name}")
                hidden += [f"{package}.{file.name}"] if isinstance(getattr(above, file.name), ModuleType) else []
    assert not hidden


def test_gamma_is_the_function() -> None:
    importlib.import_module("adjoint.scipy.special")
    for n in range(1, 6):
        assert ad.scipy.special.gamma(n + 1.0) == pytest.approx(np.prod(np.arange(1.0, n + 1)))
    x = 2.3
    difference = (scipy.special.gamma(x + 1e-6) - scipy.special.gamma(x - 1e-6)) / 2e-6
    assert ad.grad(ad.scipy.special.gamma)(x) == pytest.approx(difference, rel=1e-7)
