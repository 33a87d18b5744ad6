"""`default_rng`: the same numbers for ever, NumPy's names, and a container like any other."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.random import Generator, default_rng

# These numbers are a promise: the same seed gives them on every machine and in every version.
FIRST = {
    "random": (lambda r: r.random(3), [0.22012755566612519, 0.14027716308277993, 0.49045029706679877]),
    "normal": (lambda r: r.standard_normal(3), [-0.7717624907093035, -1.0790749298779176, -0.023939841907979917]),
    "single": (lambda r: r.random(2, dtype=np.float32), [0.22012752294540405, 0.14027714729309082]),
    "integers": (lambda r: r.integers(1000, size=3), [220, 140, 490]),
    "wide integers": (lambda r: r.integers(10**15, size=3), [220127555666125, 140277163082779, 490450297066798]),
    "permutation": (lambda r: r.permutation(5), [1, 0, 3, 2, 4]),
    "poisson": (lambda r: r.poisson(20.0, size=4), [27, 14, 20, 18]),
    "binomial": (lambda r: r.binomial(100, 0.3, size=4), [38, 24, 30, 28]),
    "gamma": (lambda r: r.standard_gamma(2.0, size=3), [0.8556771776057078, 0.6256743611548877, 1.6359511087180365]),
    "child": (lambda r: r.spawn(2)[1].random(2), [0.7977928895151912, 0.053920906957821146]),
    "step": (lambda r: r.at(7).random(2), [0.1202947116176738, 0.4300382518918402]),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_numbers(name):
    draw, expected = FIRST[name]
    found = draw(default_rng(12345))
    exact = name not in ("normal", "gamma", "poisson", "binomial")  # the others go through the machine's logarithm
    (assert_array_equal if exact else assert_allclose)(found, expected, **({} if exact else {"rtol": 1e-14}))


def test_seeds():
    assert_array_equal(default_rng([1, 2]).random(3), default_rng((1, 2)).random(3))
    assert default_rng(1).random() != default_rng(-1).random()
    assert default_rng(0).random() != default_rng([0]).random()
    assert default_rng().random() != default_rng().random()
    r = default_rng(1)
    assert default_rng(r) is r
    with pytest.raises(TypeError, match="seed"):
        default_rng("a")
    with pytest.raises(TypeError, match="seed"):
        default_rng(1.5)


def test_the_methods_have_numpys_names_and_arguments():
    for name, method in inspect.getmembers(Generator, inspect.isfunction):
        if name.startswith("_") or not hasattr(np.random.Generator, name):
            continue
        ours = [p for p in inspect.signature(method).parameters if p != "self"]
        theirs = [p for p in inspect.signature(getattr(np.random.Generator, name)).parameters if p != "self"]
        assert ours == [t for t in theirs if t not in ("check_valid", "tol")], name


def test_what_is_missing_is_named():
    with pytest.raises(AttributeError, match="no zipf yet"):
        default_rng(0).zipf(2.0)
    with pytest.raises(AttributeError, match="has no 'nonsense'"):
        default_rng(0).nonsense()
    assert not hasattr(default_rng(0), "__array__")


def test_it_is_a_container_of_key_and_counter():
    r = default_rng(0)
    r.random(3)
    (key, counter), structure = ad.tree.flatten(r)
    assert key.shape == (2,)
    assert counter == 3
    assert structure.paths() == ["key", "counter"]
    other = ad.tree.unflatten(structure, (key, counter))
    assert isinstance(other, Generator)
    expected = r.random(2)
    assert_array_equal(other.random(2), expected)
    assert ad.tree.flatten({"rng": r, "x": 1.0})[1].paths() == ["['rng'].key", "['rng'].counter", "['x']"]


def test_import_is_lazy():
    code = "import sys, adjoint; assert 'adjoint.random' not in sys.modules; adjoint.random.default_rng(0).normal()"
    subprocess.run([sys.executable, "-c", code], check=True)
