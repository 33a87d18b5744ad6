"""Memory that grows while a kernel runs: what is freed where the kernel is left."""

import re
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.compile.machine import optimize_text


def trajectory(x: Any) -> Any:
    """A loop whose iterations each run a loop of unknown length, with a solution that may fail in it."""

    def inner(state: Any) -> Any:
        y, matrix = state
        return np.linalg.solve(matrix, y), matrix

    def outer(y: Any, _: Any) -> Any:
        matrix = np.array([[2.0, 0.3], [0.1, 1.7]]) * x
        return ad.while_loop(lambda state: np.sum(state[0] ** 2) > 0.5, inner, (y + 2.0, matrix))[0], None

    return np.sum(ad.scan(outer, np.ones(2), None, length=4)[0])


def test_exits_hand_no_addresses_over() -> None:
    """What is freed at the end is read from memory: with φs, there would be exits · buffers moves."""
    second = ad.jit(ad.grad(ad.grad(trajectory)))
    text = optimize_text(second.lower(1.3).llvm)
    freed = re.findall(r"call void @free\(ptr (\S+)\)", text)
    assert len(freed) > 4
    assert all(re.search(rf"^\s*{re.escape(name)} = load volatile ptr", text, re.MULTILINE) for name in freed)


def test_memory_is_freed_after_failures_too() -> None:
    import resource

    gradient = ad.jit(ad.grad(lambda x: trajectory(x) + 0.0 * np.sum(np.linalg.inv(np.eye(2) * (x - 1.0)))))
    assert np.isfinite(gradient(1.3))
    for _ in range(50):
        try:
            gradient(1.0)
        except np.linalg.LinAlgError:
            continue
        raise AssertionError("a singular matrix was inverted")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(2000):
        try:
            gradient(1.0)
        except np.linalg.LinAlgError:
            continue
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KB; 2000 first rows are 8 MB
