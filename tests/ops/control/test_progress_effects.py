"""Loops that tell their turns: the same results, and as many turns as there are, in every transformation."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config


def failing(x):
    def body(i, v):
        ad.check(v < 3, "too large")
        return v + 1.0

    return ad.fori_loop(0, 10, body, x, progress="failing")


@pytest.fixture
def told(capsys):
    """What was shown last of each loop: "name: done/total"."""

    def read():
        return [text.split(" ")[1].rstrip(",") for text in capsys.readouterr().err.splitlines()]

    with config.override(progress=None):
        yield read


def turns(x, progress="turns"):
    return ad.fori_loop(0, 20, lambda i, v: np.sin(v) + x, x, progress=progress)


TRANSFORMED = {
    "eager": lambda f: f,
    "grad": ad.grad,
    "jit": ad.jit,
    "jit of grad": lambda f: ad.jit(ad.grad(f)),
    "grad of jit": lambda f: ad.grad(ad.jit(f)),
    "jvp": lambda f: lambda x: ad.jvp(f, (x,), (1.0,))[1],
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_turns_are_told_once(told, name):
    change = TRANSFORMED[name]
    silent = change(lambda x: turns(x, False))(0.7)
    assert told() == []
    assert change(turns)(0.7) == pytest.approx(silent, rel=1e-14)
    assert told() == [f"{n}/20" for n in range(2, 21, 2)]


def test_compiled_again_and_again(told):
    compiled = ad.jit(turns)
    for x in (0.1, 0.2):
        compiled(x)
        assert told()[-1] == "20/20"


def test_vmap(told):
    np.testing.assert_allclose(ad.vmap(turns)(np.array([0.3, 0.4])), [turns(0.3, False), turns(0.4, False)], rtol=1e-14)
    assert told()[-1] == "20/20"


def test_scan_and_while(told):
    ad.grad(lambda x: ad.scan(lambda c, t: (c * t, c), x, np.ones(10), progress=True, checkpoint=2)[0])(2.0)
    assert told()[-1] == "10/10"
    assert ad.while_loop(lambda v: v < 100, lambda v: v * 2, 1.0, progress="doubling") == 128.0
    assert told() == ["1", "7"]
    assert ad.jit(lambda n: ad.fori_loop(0, n, lambda i, v: v + i, 0, progress=True))(5) == 10
    assert told()[-1] == "5"


@pytest.mark.parametrize("function", [failing, ad.jit(failing), ad.grad(failing)], ids=["eager", "jit", "grad"])
def test_errors_close_the_bar(told, function):
    with pytest.raises(ValueError, match="too large"):
        function(0.0)
    assert told()[-1] == "3/10"
    for _ in ad.progress(range(1), "next"):
        pass
    assert told() == ["1/1"]


def test_switched_off(told):
    with config.override(progress=False):
        turns(0.5)
    assert told() == []


def test_wrong_names_are_refused():
    with pytest.raises(TypeError, match="progress must be a string"):
        turns(0.5, 3)
