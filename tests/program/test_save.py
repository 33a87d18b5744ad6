"""Saved programs come back equal, and broken files are told apart from each other and refused."""

import dataclasses
import json
import zipfile
from collections import OrderedDict
from typing import NamedTuple

import hypothesis
import numpy as np
import pytest
import scipy.special
from hypothesis import given

import adjoint as ad
from adjoint.base.errors import ProgramError
from tests.support.flow_cases import CASES
from tests.support.strategies import programs

X = np.array([0.6, 0.9, 0.35])


def again(program, tmp_path, classes=()):
    path = tmp_path / "saved.program"
    program.save(path)
    return ad.load(path, classes)


def same(program, tmp_path, *args) -> None:
    loaded = again(program, tmp_path)
    assert loaded == program
    assert hash(loaded) == hash(program)
    assert str(loaded) == str(program)
    for a, b in zip(ad.tree.leaves(loaded(*args)), ad.tree.leaves(program(*args)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


@pytest.mark.parametrize("name", CASES)
def test_control_flow_and_its_derivatives(name, tmp_path) -> None:
    f = CASES[name].f
    for g in (f, ad.grad(f), ad.hessian(f)):
        same(ad.trace(g)(X), tmp_path, X)
    lanes = np.stack([X, X[::-1]])
    same(ad.trace(ad.vmap(ad.grad(f)))(lanes), tmp_path, lanes)


@hypothesis.settings(max_examples=25)
@given(program=programs())
def test_random_programs(program, tmp_path_factory) -> None:
    folder = tmp_path_factory.mktemp("programs")
    same(ad.trace(program)(*program.inputs), folder, *program.inputs)
    same(ad.trace(ad.grad(program))(*program.inputs), folder, *program.inputs)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", "u1", "?"])
def test_dtypes_and_constants(dtype, tmp_path) -> None:
    constant = np.array([[1, 0], [2, 1]]).astype(dtype)
    x = np.ones((2, 2), dtype)
    same(ad.trace(lambda x: (np.where(constant, x, constant), x))(x), tmp_path, x)


def test_literals_keep_every_bit(tmp_path) -> None:
    numbers = [0.1, -0.0, float("inf"), float("nan"), 5e-324, 3, 1 + 0.1j, np.float32(0.1), np.int8(3), True]
    same(ad.trace(lambda x: tuple(x * n for n in numbers))(1.5), tmp_path, 1.5)


def test_special_functions_of_scipy(tmp_path) -> None:
    def f(x):
        return scipy.special.erf(x) * scipy.special.gammaln(x) + scipy.special.betainc(2.0, 3.0, x * 0.1)

    same(ad.trace(f)(1.5), tmp_path, 1.5)
    same(ad.trace(ad.grad(f))(1.5), tmp_path, 1.5)


class Point(NamedTuple):
    x: float
    y: float


@dataclasses.dataclass
class Layer:
    weight: np.ndarray
    name: str


def test_trees_of_every_kind(tmp_path) -> None:
    def f(x):
        return {"a": (x, [x * 2.0]), "b": None, "c": OrderedDict(z=x), 3: ()}

    same(ad.trace(f)(1.0), tmp_path, 1.0)
    p = ad.trace(lambda p, layer: Layer(layer.weight * p.x + p.y, "out"))(Point(1.0, 2.0), Layer(np.ones(2), "in"))
    loaded = again(p, tmp_path, [Point, Layer])
    assert loaded == p
    found = loaded(Point(3.0, 4.0), Layer(np.ones(2), "in"))
    assert isinstance(found, Layer)
    np.testing.assert_array_equal(found.weight, [7.0, 7.0])
    with pytest.raises(ProgramError, match=r"objects of the class .*Point.*classes=\[Point\]"):
        again(p, tmp_path)


def test_effects_and_guards(tmp_path, capsys) -> None:
    def f(x, mode="up"):
        ad.debug.print("x = {} {}", x, mode)
        ad.check(x > 0, "x must be positive, not {}", x)
        return x * 2 if x > 1 else x

    p = ad.trace(f, concrete=True)(2.0)
    capsys.readouterr()
    loaded = again(p, tmp_path)
    assert loaded == p
    assert loaded(3.0) == 6.0
    assert capsys.readouterr().out == "x = 3.0 up\n"
    with pytest.raises(ValueError, match=r"x must be positive, not -1.0"):
        loaded(-1.0)
    with pytest.raises(TypeError, match="traced for bool"):
        loaded(0.5)


def test_lines_and_scopes_are_kept_as_text(tmp_path) -> None:
    def f(x):
        with ad.scope("outer"):
            return np.sin(x)

    loaded = again(ad.trace(f)(1.0), tmp_path)
    (eq,) = loaded.program.equations
    assert eq.scope == ("outer",)
    assert "test_save.py" in eq.location
    assert "np.sin(x)" in eq.location


def test_a_loaded_program_is_differentiated_and_saved_again(tmp_path) -> None:
    loaded = again(ad.trace(CASES["scan"].f)(X), tmp_path)
    np.testing.assert_allclose(ad.grad(loaded)(X), ad.grad(CASES["scan"].g)(X), rtol=1e-12)
    same(ad.trace(ad.grad(loaded))(X), tmp_path, X)


# ---- what cannot be saved ----


def test_python_code_cannot_be_saved(tmp_path) -> None:
    ruled = ad.custom_rule(lambda x: x * 2.0, vjp=lambda x: (x * 2.0, lambda ct: (ct * 3.0,)))
    with pytest.raises(ProgramError, match=r"custom_rule.*cannot be saved.*Python code"):
        ad.trace(ruled)(1.0).save(tmp_path / "a")
    with pytest.raises(ProgramError, match=r"callback.*cannot be saved"):
        ad.trace(lambda x: (ad.debug.callback(print, x), x)[1])(1.0).save(tmp_path / "a")
    with pytest.raises(ProgramError, match=r"argument 1 of .* cannot be saved"):
        ad.trace(lambda x, f: f(x))(1.0, np.sin).save(tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_values_of_a_running_transformation_cannot_be_saved(tmp_path) -> None:
    def f(x):
        ad.trace(lambda y: y * x)(1.0).save(tmp_path / "a")
        return x

    with pytest.raises(ProgramError, match="closes over"):
        ad.grad(f)(1.0)


# ---- broken files ----


def rewritten(path, change) -> None:
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    text = json.loads(parts["program.json"])
    change(text)
    parts["program.json"] = json.dumps(text).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, data in parts.items():
            file.writestr(name, data)


def rename_op(text, name) -> None:
    text["programs"][0]["equations"][-1]["op"] = {"name": name, "fields": {}}


CHANGES = {
    "version": (lambda t: t.update(version=99), "version 99 of the format"),
    "format": (lambda t: t.update(format="other"), "not a saved program"),
    "unknown primitive": (lambda t: rename_op(t, "Nonsense"), "'Nonsense' is not known"),
    "unknown ufunc": (
        lambda t: t["programs"][0]["equations"][0].update(op={"ufunc": "nonsense"}),
        "'nonsense' is not known",
    ),
    "missing part": (lambda t: t.pop("programs"), "damaged"),
    "missing fields": (lambda t: rename_op(t, "Sum"), "damaged.*axes"),
    "unbound variable": (lambda t: t["programs"][0]["outputs"].__setitem__(0, 99), "damaged"),
    "wrong type": (
        lambda t: t["programs"][0]["equations"][0].update(outputs=[{"type": [[5], "<f8", False]}]),
        "equation 0, sin",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_files(name, tmp_path) -> None:
    path = tmp_path / "p"
    ad.trace(lambda x: np.sum(np.sin(x) + np.ones(3)))(X).save(path)
    change, match = CHANGES[name]
    rewritten(path, change)
    with pytest.raises(ProgramError, match=match) as caught:
        ad.load(path)
    assert str(path) in str(caught.value)


def test_files_that_are_cut_off(tmp_path) -> None:
    path, short = tmp_path / "p", tmp_path / "short"
    ad.trace(lambda x: np.sum(np.sin(x) + np.ones(3)))(X).save(path)
    data = path.read_bytes()
    for length in range(0, len(data), 97):
        short.write_bytes(data[:length])
        with pytest.raises(ProgramError, match="cut off"):
            ad.load(short)


def test_other_files(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", x=X)
    with pytest.raises(ProgramError, match="damaged"):
        ad.load(tmp_path / "a.npz")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(ProgramError, match="not a saved program"):
        ad.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        ad.load(tmp_path / "nowhere")


def test_no_pickle_is_read(tmp_path) -> None:
    path = tmp_path / "p"
    ad.trace(lambda x: x + np.ones(3))(X).save(path)
    with zipfile.ZipFile(path) as file:
        text = file.read("program.json")
    np.save(tmp_path / "evil.npy", np.array([object()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("program.json", text)
        file.write(tmp_path / "evil.npy", "array_0.npy")
    with pytest.raises(ProgramError, match="damaged"):
        ad.load(path)
