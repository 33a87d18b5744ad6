"""The programs behind an explanation compute what it shows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad

X = np.array([0.3, -0.2, 0.9])


def f(x):
    return np.sum(np.tanh(x) ** 2 * np.exp(-x))


@pytest.mark.parametrize("mode", ["reverse", "forward", "second"])
def test_every_stage_gives_the_same_numbers(mode):
    explained = ad.explain(f, mode=mode)(X)
    programs, model = explained.programs, explained.model
    assert_allclose(programs.value(X), [f(X)])
    assert_allclose(programs.simplified(X), [f(X)])
    last = {"reverse": "adjoint", "forward": "tangent", "second": "adjoint_tangent"}[mode]
    expected = getattr(model.outputs[0] if mode == "forward" else model.inputs[0], last)
    for program in (programs.derivative, programs.derivative_simplified):
        assert_allclose(program(X)[-1], expected, rtol=1e-13)


def test_kernels_and_llvm_are_those_of_the_derivative():
    programs = ad.explain(f)(X).programs
    assert len(programs.kernels) >= 1
    assert "define" in programs.llvm


def test_kinks_of_the_same_call():
    assert ad.explain(lambda x: np.abs(x) * 2)(0.0).kinks.verdict == "kink"
    assert ad.explain(f)(X).kinks.verdict == "smooth"


def test_kinks_and_costs_do_not_run_the_function_again():
    runs = []

    def f(x, y):
        runs.append(1)
        ad.debug.print("x is {}", x)
        return np.abs(x) * 2 if y > 0 else y

    explained = ad.explain(f)(0.0, 0.0)
    assert {one.primitive: one.kind for one in explained.kinks} == {"greater": "jump"}
    assert explained.cost.name == explained.kinks.name == "f"
    assert {one.primitive: one.kind for one in ad.explain(f)(0.0, 1.0).kinks} == {"absolute": "kink"}
    assert len(runs) == 2


def test_cost_by_line():
    def model(w, x):
        h = np.tanh(w @ x)
        return np.sum(h**2)

    cost = ad.explain(model)(np.eye(64), np.ones(64)).cost
    assert cost.gradient
    flops = {one.line.split(": ")[1]: one.flops for one in cost.lines}
    assert flops["h = np.tanh(w @ x)"] > 5 * flops["return np.sum(h**2)"]
    assert "flops" in str(cost)
    assert ad.explain(lambda x: x * 2, mode="forward")(np.ones(3)).cost.gradient is False
