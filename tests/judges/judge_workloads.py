"""The benchmarks' programs, each library's own text of them at the smallest size: all give the reference's answers."""

from __future__ import annotations

import importlib.util

import pytest

from benchmarks.peers.contender import relative_error
from benchmarks.peers.workloads import WORKLOADS

PEERS = ("jax", "torch", "casadi", "autograd", "numba")
TASKS = [
    (name, contender)
    for name, workload in WORKLOADS.items()
    for contender in workload.contenders
    if contender.startswith(PEERS) and (workload.tiny, contender) not in workload.left_out
]


def test_every_peer_is_there() -> None:
    assert [peer for peer in PEERS if importlib.util.find_spec(peer) is None] == []
    assert {contender.split()[0] for _, contender in TASKS} == set(PEERS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, contender", TASKS)
def test_answers(name: str, contender: str) -> None:
    workload = WORKLOADS[name]
    problem = workload.problem(workload.tiny)
    peer = workload.contenders[contender](problem)
    single = any(getattr(argument, "dtype", None) == "float32" for argument in problem.arguments)
    assert relative_error(peer.answers(peer.build()()), workload.reference(problem)) < (1e-4 if single else 1e-9)
