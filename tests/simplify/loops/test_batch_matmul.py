"""Products with a constant matrix for all iterations at once, before or behind the loop."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify import simplify
from adjoint.simplify.loops.batch_matmul import batch_products
from adjoint.simplify.loops.liveness import prune_dead_parts
from adjoint.simplify.loops.order import simplify_loops
from tests.simplify.programs import loop_of, loops_of, program_of, same_results, titles

rng = np.random.default_rng(9)
W, XS, H = rng.standard_normal((20, 16)), rng.standard_normal((10, 16)), rng.standard_normal(20)


def moved(f, *args) -> Program:
    before, arguments = program_of(f, *args)
    after = check(prune_dead_parts(check(batch_products(before))))
    same_results(before, after, arguments)
    return after


BEFORE = {
    "matrix times vector": lambda w, x: w @ x,
    "vector times matrix": lambda w, x: x @ w.T,
    "matrix times column": lambda w, x: (w @ x[:, None])[:, 0],
    "row times matrix": lambda w, x: (x[None, :] @ w.T)[0],
    "einsum": lambda w, x: np.einsum("ij,j->i", w, x),
    "of something elementwise": lambda w, x: w @ np.sin(x * 2.0 + 1.0),
}


@pytest.mark.parametrize("form", BEFORE)
@pytest.mark.parametrize("reverse", [False, True])
def test_before_the_loop(form: str, reverse: bool) -> None:
    def f(w, xs, h):
        return ad.scan(lambda c, x: (np.tanh(c + BEFORE[form](w, x)), c), h, xs, reverse=reverse)

    program = moved(f, W, XS, H)
    body = titles(loop_of(program).op.body)
    assert "matmul" not in body
    assert "einsum" not in body
    outside = titles(program)
    assert outside.index("matmul" if form != "einsum" else "einsum") < outside.index("scan")


@pytest.mark.parametrize("form", BEFORE)
def test_behind_the_loop(form: str) -> None:
    def f(w, xs, h):
        return ad.scan(lambda c, x: (np.tanh(c * x), np.exp(0.1 * BEFORE[form](w, c)) + x[0]), h[:16], xs)

    program = moved(f, W, XS, H)
    body = titles(loop_of(program).op.body)
    assert "matmul" not in body
    assert "exp" not in body
    assert titles(program)[-1] == "add"


def test_products_that_the_carry_needs_stay() -> None:
    square = rng.standard_normal((16, 16)) / 4.0
    program = moved(lambda w, xs: ad.scan(lambda c, x: (np.tanh(w @ c + x), w @ c), xs[0], xs), square, XS)
    assert "matmul" in titles(loop_of(program).op.body)


def test_small_matrices_and_short_loops_stay() -> None:
    def f(w, xs):
        return ad.scan(lambda c, x: (c + np.sum(w @ x), None), 0.0, xs)[0]

    assert "matmul" in titles(loop_of(moved(f, W[:3, :3], XS[:, :3])).op.body)
    assert "matmul" in titles(loop_of(moved(f, W, XS[:4])).op.body)


def test_what_only_stacks_need_is_made_of_stacks_that_are_there() -> None:
    def f(xs):
        return ad.scan(lambda c, x: (c * x, (c, np.sqrt(np.abs(c)) + x)), xs[0], xs)

    program = moved(f, XS)
    assert titles(loop_of(program).op.body) == ["multiply"]


def test_short_rows_of_long_functions_are_stacked_for_it_and_long_rows_are_not() -> None:
    def f(xs):
        return ad.scan(lambda c, x: (c * x, np.sin(c)), xs[0], xs)[1]

    assert "sin" not in titles(loop_of(moved(f, XS[:, :3])).op.body)
    assert "sin" in titles(loop_of(moved(f, np.tile(XS, 5))).op.body)


def test_effects_stay(capsys) -> None:
    def f(w, xs):
        def body(c, x):
            y = w @ x
            ad.debug.print("{:.1f}", y[0])
            return c + 1.0, y

        return ad.scan(body, 0.0, xs)

    program, arguments = program_of(f, W, XS)
    after = check(batch_products(program))
    capsys.readouterr()
    program(*arguments)
    printed = capsys.readouterr().out
    after(*arguments)
    assert capsys.readouterr().out == printed
    assert len(printed.splitlines()) == 10


def test_all_derivatives_of_a_network_with_products_inside() -> None:
    def f(w, u, v, b, xs, targets):
        def step(h, x):
            h = np.tanh(w @ h + u @ np.sin(x) + b)
            return h, v @ h

        _, ys = ad.scan(step, b * 0.0, xs)
        return np.sum((ys - targets) ** 2)

    shapes = [(16, 16), (16, 20), (18, 16), (16,), (12, 20), (12, 18)]
    args = [0.2 * rng.standard_normal(s) for s in shapes]
    before, arguments = program_of(ad.value_and_grad(f, argnums=(0, 1, 2, 3, 4)), *args)
    after = check(simplify_loops(before))
    same_results(before, after, arguments)
    forward, back = loops_of(after)
    assert titles(forward.op.body).count("matmul") == 1  # W hₜ
    assert titles(back.op.body).count("matmul") == 1  # Wᵀ gₜ


def test_nothing_to_do() -> None:
    program, _ = program_of(lambda xs: ad.scan(lambda c, x: (c * x, c), xs[0], xs), XS)
    assert batch_products(program) is program


def test_a_stack_of_what_never_changes_has_a_row_for_every_iteration() -> None:
    f = lambda xs: ad.scan(lambda c, x: (c + x, np.pad(x[16:], 1)), xs[0], xs)
    program, arguments = program_of(f, XS)
    same_results(program, simplify(program), arguments)
