"""Stacks that are known before the loop runs, and loops that count the rows of a stack."""

import numpy as np

import adjoint as ad
from adjoint.ops.control.scan import Scan
from adjoint.ops.control.while_loop import While
from adjoint.simplify import simplify
from adjoint.simplify.loops.constant_rows import know_constant_rows
from tests.simplify.programs import loop_of, program_of, same_results

X = np.array([0.6, 0.9, 0.35, 0.2])


def test_rows_that_follow_from_constants() -> None:
    def f(x):
        def body(c, i):
            return c + x[i], (2 * i + 1, np.where(i > 1, i, -i), c)

        return ad.scan(body, 0.0, np.arange(4))[1]

    before, arguments = program_of(f, X)
    after = know_constant_rows(before)
    same_results(before, after, arguments, rounding=0.0)
    assert len(loop_of(after).op.body.outputs) == 2  # the carry, and the rows that are it
    assert [np.asarray(v).tolist() for v in after.constants.values()][-2:] == [[1, 3, 5, 7], [0, -1, 2, 3]]


def sweeps(b):
    """Gauss-Seidel until nothing changes: a loop in a loop, with indices i - 1, i, i + 1."""
    n = len(b)
    u = np.zeros(n + 2)
    change = 1.0
    while change > 1e-9:
        change = 0.0
        for i in range(1, n + 1):
            new = (b[i - 1] + u[i - 1] + u[i + 1]) / 2.5
            change = max(change, abs(new - u[i]))
            u[i] = new
    return np.sum(u * u)


def test_a_linear_sweep_stores_nothing_but_the_number_of_sweeps() -> None:
    b = np.linspace(-1.0, 1.0, 12)
    program = simplify(ad.jit(ad.grad(sweeps)).lower(b).program)
    (forward,) = [eq for eq in program.equations if isinstance(eq.op, While)]
    stacks = forward.outputs[forward.op.carries :]
    assert [(v.type.dtype, v.type.ndim) for v in stacks] == [(np.dtype(bool), 1)]
    (backward,) = [eq for eq in program.equations if isinstance(eq.op, Scan)]
    assert backward.op.length is None
    h = 1e-6
    differences = [(sweeps(b + h * e) - sweeps(b - h * e)) / (2 * h) for e in np.eye(12)]
    np.testing.assert_allclose(ad.jit(ad.grad(sweeps))(b), differences, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ad.grad(sweeps)(b), differences, rtol=1e-6, atol=1e-8)
