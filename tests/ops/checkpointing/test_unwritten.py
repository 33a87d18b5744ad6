"""A buffer for states takes memory where it is written to."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.ops.checkpointing.unwritten import Undefined, Unwritten


def resident() -> int:
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * 4096


def test_rows_of_the_type_of_the_operand() -> None:
    assert Unwritten(3)(np.ones((2, 1), np.float32)).shape == (3, 2, 1)
    assert Unwritten(3)(np.ones((2, 1), np.float32)).dtype == np.float32
    assert ad.vmap(lambda x: Unwritten(3)(x))(np.ones((5, 2))).shape == (5, 3, 2)
    assert ad.vmap(lambda x: Undefined((3, 4), np.dtype(np.float32))(x))(np.ones((5, 2))).shape == (5, 3, 4)


@pytest.mark.parametrize("slots", [3, 100_000])
def test_a_loop_of_few_iterations_takes_little_memory(slots: int) -> None:
    def far(x):
        return ad.while_loop(lambda y: y[0] < 100.0, lambda y: y * x + np.sin(y), x, checkpoint=slots)[1]

    x = np.full(1000, 1.7)  # 100 000 slots would be 0.8 GB
    compiled = ad.jit(ad.grad(far))
    compiled(x)
    before = resident()
    found = compiled(x)
    assert resident() - before < 50e6
    np.testing.assert_allclose(found[1], ad.grad(lambda a: far(np.array([1.7, a])))(1.7), rtol=1e-14)
