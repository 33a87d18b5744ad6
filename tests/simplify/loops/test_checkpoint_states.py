"""Loops that keep states, as plain loops: the same numbers compiled, in as much memory as the plan says."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.jit.pipeline import build_executable
from adjoint.simplify import simplify
from adjoint.simplify.loops.checkpoint_states import expand_checkpoints
from tests.simplify.programs import program_of, titles
from tests.support.checkpointed_loops import (
    FIRST,
    SCAN_PLANS,
    SECOND,
    STARTS,
    WHILE_PLANS,
    XS,
    H,
    W,
    agree,
    repeated,
    scanned,
)


def kernel_of(compiled):
    """The machine code of a function that was called once."""
    (guarded,) = compiled.guarded_programs
    kernel = build_executable(guarded.program).kernel
    assert kernel is not None
    return kernel


@pytest.mark.parametrize("plan", SCAN_PLANS)
def test_scans(plan) -> None:
    compiled = ad.jit(ad.value_and_grad(scanned(SCAN_PLANS[plan]), argnums=(0, 1, 2)))
    agree(compiled(W, H, XS), FIRST["value and gradient"](scanned(None), W, H, XS))
    called = [title for title, _ in kernel_of(compiled).notes["callbacks"]]
    assert called == (["checkpointed_reverse"] if "disk" in plan else [])


@pytest.mark.parametrize("use", ["forward over reverse", "reverse over reverse"])
def test_second_derivatives(use) -> None:
    compiled = ad.jit(lambda w, h, xs: SECOND[use](scanned(4), w, h, xs))
    agree(compiled(W, H, XS), SECOND[use](scanned(None), W, H, XS))
    assert not kernel_of(compiled).notes["callbacks"]


@pytest.mark.parametrize("plan", ["full", "3 slots", "online"])
def test_while_loops(plan) -> None:
    compiled = ad.jit(ad.value_and_grad(repeated(WHILE_PLANS[plan]), argnums=(0, 1, 2)))
    for h in STARTS:
        agree(compiled(W, h, XS), ad.value_and_grad(repeated(None), argnums=(0, 1, 2))(W, h, XS))
    assert not kernel_of(compiled).notes["callbacks"]


def test_batch_elements_that_end_at_different_iterations() -> None:
    compiled = ad.jit(ad.vmap(ad.grad(repeated(3)), in_axes=(None, 0, None)))
    agree(compiled(W, STARTS, XS), np.stack([ad.grad(repeated(None))(W, h, XS) for h in STARTS]))


@pytest.mark.parametrize("slots", [3, 10])
def test_memory_is_that_of_the_slots(slots) -> None:
    """S states, and the one that is being worked on, its cotangent, its next value: not one for each iteration."""
    n = 1000

    def f(x):
        return np.sum(ad.scan(lambda x, _: (np.sin(x) * 1.01, None), x, length=500, checkpoint=slots)[0] ** 2)

    compiled = ad.jit(ad.value_and_grad(f))
    x = np.linspace(0.1, 1, n)
    value, gradient = compiled(x)
    plain = ad.jit(ad.value_and_grad(lambda x: np.sum(ad.fori_loop(0, 500, lambda i, x: np.sin(x) * 1.01, x) ** 2)))
    agree((value, gradient), plain(x))
    kernel = kernel_of(compiled)
    assert kernel.workspace + sum(c.nbytes for c in kernel.constants) <= (slots + 5) * 8 * n
    assert kernel_of(plain).workspace >= 500 * 8 * n


def test_memory_of_a_while_loop_is_that_of_the_slots() -> None:
    n = 1000

    def f(x):
        return np.sum(ad.while_loop(lambda x: x[0] < 100.0, lambda x: x * 1.01, x, checkpoint=6) ** 2)

    compiled = ad.jit(ad.grad(f))
    x = np.linspace(1.0, 2.0, n)
    iterations = int(np.ceil(np.log(100.0) / np.log(1.01)))
    np.testing.assert_allclose(compiled(x), 2 * x * 1.01 ** (2 * iterations), rtol=1e-10)
    assert kernel_of(compiled).workspace <= (6 + 8) * 8 * n


def test_nothing_of_them_is_left() -> None:
    program, arguments = program_of(ad.grad(scanned(4)), W, H, XS)
    assert {"checkpointed_scan", "checkpointed_reverse"} <= set(titles(program))
    written = expand_checkpoints(program)
    assert not {"checkpointed_scan", "checkpointed_reverse"} & set(titles(written))
    for a, b in zip(written(*arguments), simplify(program)(*arguments), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert expand_checkpoints(written) is written
