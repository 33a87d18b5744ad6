"""The programs of the comparison: derivatives by hand against the complex step, and adjoint against those by hand."""

import numpy as np
import pytest

import adjoint as ad
from benchmarks.peers.contender import Workload, relative_error
from benchmarks.peers.rounds import library_of
from benchmarks.peers.targets import FAST_CALLS, FASTER_THAN_PEERS
from benchmarks.peers.workloads import WORKLOADS
from tests.support.sweeps import sampled

BY_HAND_IN_PYTHON = {"numpy by hand"}
OURS = [(w, name) for w in WORKLOADS.values() for name in w.contenders if library_of(name) == "adjoint"]
BY_NAME = [pytest.param(w, name, id=f"{w.name}-{name}") for w, name in OURS]
WITH_DERIVATIVES = [w for w in WORKLOADS.values() if w.problem(w.tiny).active]


def error_of(workload: Workload, contender: str) -> float:
    problem = workload.problem(workload.tiny)
    made = workload.contenders[contender](problem)
    call = made.build()
    call()
    return relative_error(made.answers(call()), workload.reference(problem))


@pytest.mark.parametrize("workload", WITH_DERIVATIVES, ids=lambda w: w.name)
def test_derivatives_by_hand_agree_with_the_complex_step(workload: Workload) -> None:
    assert workload.reference_error(workload.problem(workload.tiny)) < 1e-14


def test_the_check_sees_a_wrong_derivative() -> None:
    workload = WORKLOADS["elementwise"]
    wrong = Workload(**{**vars(workload), "by_hand": lambda x: (workload.value(x), 1.001 * workload.by_hand(x)[1])})
    assert wrong.reference_error(wrong.problem(wrong.tiny)) > 1e-6


@pytest.mark.filterwarnings("ignore:jit of .* changes inside")
@pytest.mark.parametrize("workload, contender", sampled(BY_NAME, every=3))
def test_adjoint_agrees_compiled(workload: Workload, contender: str) -> None:
    assert error_of(workload, contender) < 1e-13


@pytest.mark.parametrize("workload, contender", BY_NAME)
def test_adjoint_agrees_without_compiling(workload: Workload, contender: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ad, "jit", lambda function: function)
    assert error_of(workload, contender) < 1e-13


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda w: w.name)
def test_code_by_hand_is_what_it_is_compared_with(workload: Workload) -> None:
    for name in BY_HAND_IN_PYTHON & set(workload.contenders):
        assert error_of(workload, name) == 0.0


def test_single_precision_is_compared_in_double() -> None:
    problem = WORKLOADS["elementwise"].problem("f32 9")
    value, gradient = WORKLOADS["elementwise"].reference(problem)
    assert problem.arguments[0].dtype == np.float32
    assert gradient.dtype == np.float64
    assert value.dtype == np.float64


def test_targets_name_sizes_that_exist() -> None:
    for name, size in [*FASTER_THAN_PEERS, *FAST_CALLS]:
        assert size in WORKLOADS[name].sizes


@pytest.mark.parametrize("found", [[np.array([1.0, np.nan])], [np.array([1.0, np.inf])]], ids=["nan", "inf"])
def test_an_answer_that_is_not_finite_is_wrong(found: list[np.ndarray]) -> None:
    assert relative_error(found, [np.array([1.0, 2.0])]) == np.inf
