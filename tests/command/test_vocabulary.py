"""Which functions expressions know."""

import inspect

import numpy as np
import pytest
import scipy.special

from adjoint.command import vocabulary

# ruff: noqa: SIM905  (a list of words)
DANGEROUS = (
    "load loadtxt genfromtxt fromfile fromregex save savez savetxt memmap frompyfunc vectorize apply_along_axis "
    "fromfunction piecewise set_printoptions seterr seterrcall test info show_config copyto put place putmask "
    "fill_diagonal nditer require errstate add_newdoc ctypeslib lib testing".split()
)


@pytest.mark.parametrize("namespace", ["numpy", "numpy.linalg", "numpy.fft", "scipy.special"])
def test_names_are_plain_functions(namespace: str) -> None:
    for name in vocabulary.names(namespace):
        word = vocabulary.find(name, namespace)
        assert word is not None
        assert callable(word.function)
        assert not inspect.ismodule(word.function)
        assert not inspect.isclass(word.function) or isinstance(word.function, np.ufunc)
        assert not name.startswith("_")


@pytest.mark.parametrize("name", DANGEROUS)
def test_what_reads_writes_or_calls_is_left_out(name: str) -> None:
    for prefix in ("", *vocabulary.PREFIXES):
        assert vocabulary.find(name, prefix) is None


@pytest.mark.parametrize(
    "name, prefix, function",
    [
        ("sqrt", "", np.sqrt),
        ("sqrt", "np", np.sqrt),
        ("norm", "linalg", np.linalg.norm),
        ("norm", "", np.linalg.norm),
        ("expit", "", scipy.special.expit),
        ("expit", "special", scipy.special.expit),
        ("sinc", "", np.sinc),
        ("fft", "fft", np.fft.fft),
    ],
)
def test_names_are_found(name: str, prefix: str, function: object) -> None:
    word = vocabulary.find(name, prefix)
    assert word is not None
    assert word.function is function


def test_far_names_get_no_suggestion() -> None:
    assert vocabulary.suggestion("qqqqqqqq") == ""
    assert vocabulary.suggestion("open") == ""
