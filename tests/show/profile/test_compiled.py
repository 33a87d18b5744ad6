"""Compiled functions: measured as a whole, shared out by line as an estimate that says so."""

import json

import numpy as np
import pytest

import adjoint as ad


def loss(x, matrix):
    small = np.sin(x[0, 0])
    return np.sum(np.tanh(matrix @ x)) * small


def values(n):
    return np.full((n, n), 0.01), np.full((n, n), 0.01)


def line(found, text):
    (one,) = [one for one in found.lines if text in one.line]
    return one


@pytest.fixture(scope="module")
def found():
    return ad.profile(ad.jit(loss), seconds=0.05)(*values(200))


def test_the_estimates_make_the_measured_whole(found) -> None:
    made = found.compiled
    assert made is not None
    assert made.how == "compiled"
    parts = [(one.compiled_forward or 0) + (one.compiled_backward or 0) for one in found.lines]
    assert sum(parts) == pytest.approx(made.seconds)
    assert made.seconds > 0.2 * made.value_seconds > 0
    assert made.first_call > made.seconds
    assert made.steps


def test_a_product_of_matrices_outweighs_a_number(found) -> None:
    product, number = line(found, "matrix @ x"), line(found, "np.sin")
    assert product.compiled_forward > 10 * (number.compiled_forward or 0)
    assert product.compiled_backward > 10 * (number.compiled_backward or 0)


def test_estimates_are_marked(found) -> None:
    text = str(found)
    assert "~compiled" in text
    assert "estimates" in text
    assert "machine code: matmul" in text
    assert found.as_dict()["compiled"]["how"] == "compiled"


def test_speedscope_has_the_estimates_apart(found, tmp_path) -> None:
    found.speedscope(tmp_path / "found.json")
    last = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))["profiles"][-1]
    assert "estimates" in last["name"]
    assert last["endValue"] == pytest.approx(found.compiled.seconds)


def test_gradients_that_are_compiled_or_of_what_is_compiled() -> None:
    for function in (ad.jit(ad.grad(loss)), ad.grad(ad.jit(loss))):
        found = ad.profile(function, seconds=0.0)(*values(20))
        assert found.gradient
        assert found.compiled is not None
        assert line(found, "matrix @ x").compiled_backward > 0


def test_on_request_and_not() -> None:
    assert ad.profile(loss, seconds=0.0)(*values(5)).compiled is None
    assert ad.profile(ad.jit(loss), compiled=False, seconds=0.0)(*values(5)).compiled is None
    assert ad.profile(np.sin, compiled=True, seconds=0.0)(1.0).compiled is not None


def test_what_the_model_does_not_know_is_timed_apart() -> None:
    def f(matrix):
        values = np.linalg.eigvalsh(matrix)
        return np.sum(values**2)

    found = ad.profile(f, compiled=True, seconds=0.0)(np.eye(30))
    assert found.compiled.measured > 0
    assert line(found, "eigvalsh").compiled_forward > line(found, "values**2").compiled_forward


def test_functions_that_run_as_plain_python_say_so(recwarn) -> None:
    def f(x):
        return np.sum(x) if len(str(x.sum() > 0)) else 0.0

    found = ad.profile(f, compiled=True, seconds=0.0)(np.ones(3))
    assert found.compiled is not None
