"""Loops that a trace wrote out, written as loops again: the same numbers, in any length of code that is not longer."""

from itertools import product

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import CheckError
from adjoint.ops.control.scan import Scan
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll.driver import FEWEST, reroll
from tests.simplify.loop_cases import CASES
from tests.support.sweeps import sampled

# A stack that is transposed is laid out otherwise in memory, and np.sum adds in the order of memory.
ROUNDED = {"stacked_last"}


def traced(f, args):
    return drop_dead_code(ad.trace(f)(*args).program)


def plain(args):
    return [np.asarray(a)[()] for a in args]


def bits(values):
    return [(np.asarray(v).dtype, np.shape(v), np.asarray(v).tobytes()) for v in values]


def same(name, program, rolled, args):
    check(rolled)
    ours, theirs = (interpret(p, plain(args)) for p in (rolled, program))
    if name in ROUNDED:
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    else:
        assert bits(ours) == bits(theirs)


@pytest.mark.parametrize("name, T", sampled(product(CASES, [1, 2, 7, 8, 9, 13, 40]), every=3))
def test_values_are_the_same_in_every_bit(name, T):
    f, args = CASES[name](T)
    program = traced(f, args)
    same(name, program, reroll(program, least=8), args)


@pytest.mark.parametrize("name, T", sampled(product(CASES, [2, 9, 20]), every=2))
def test_gradients_are_the_same_in_every_bit(name, T):
    f, args = CASES[name](T)
    program = traced(ad.value_and_grad(f, argnums=tuple(range(len(args)))), args)
    same(name, program, reroll(program, least=8), args)


def lengths(name, transform=lambda f, args: f):
    found = []
    for T in (26, 30):
        f, args = CASES[name](T)
        found.append(len(reroll(traced(transform(f, args), args)).equations))
    return found


@pytest.mark.parametrize("name", sampled(CASES, every=3))
def test_the_code_does_not_grow_with_the_number_of_iterations(name):
    first, second = lengths(name)
    assert first == second < 30


def second_derivatives(f, args):
    tangents = tuple(np.ones_like(a) for a in args)
    return lambda *xs: ad.jvp(ad.grad(f, argnums=tuple(range(len(xs)))), xs, tangents)


def batched(f, args):
    return lambda *xs: ad.vmap(ad.grad(f))(*[np.stack([x, x * 0.5]) for x in xs])


OTHERS = ["recurrent_network", "two_scalars", "second_order_filter", "windows", "loops_in_a_loop", "double_sum"]


@pytest.mark.parametrize("transform", [second_derivatives, batched])
@pytest.mark.parametrize("name", OTHERS)
def test_other_transformations_are_loops_too(name, transform):
    f, args = CASES[name](18)
    program = traced(transform(f, args), args)
    rolled = reroll(program)
    same(name, program, rolled, args)
    assert len(rolled.equations) < len(program.equations) / 3


@pytest.mark.parametrize("name", sampled(CASES, every=3))
def test_the_code_of_a_gradient_does_not_grow_with_the_number_of_iterations(name):
    first, second = lengths(name, lambda f, args: ad.value_and_grad(f, argnums=tuple(range(len(args)))))
    assert first == second < 180


def test_few_iterations_stay_written_out():
    f, args = CASES["recurrent_network"](FEWEST - 1)
    program = traced(f, args)
    assert reroll(program) is program


def scans(program):
    return [eq for eq in program.equations if isinstance(eq.op, Scan)]


def test_rows_written_one_by_one_are_the_stack_of_the_loop():
    f, args = CASES["recurrent_network"](50)
    (eq,) = scans(reroll(traced(f, args)))
    assert len(eq.op.body.equations) == 3
    assert eq.op.length == 50


def test_the_backward_pass_is_a_loop_in_the_other_direction():
    f, args = CASES["recurrent_network"](50)
    forward, back = scans(reroll(traced(ad.value_and_grad(f), args)))
    assert not forward.op.reverse
    assert back.op.reverse


def test_loops_inside_loops():
    f, args = CASES["loops_in_a_loop"](40)
    (outer,) = scans(reroll(traced(f, args)))
    (inner,) = scans(outer.op.body)
    assert (outer.op.length, inner.op.length) == (40, 12)


def test_a_second_time_there_is_nothing_to_do():
    for make in CASES.values():
        f, args = make(16)
        once = reroll(traced(ad.value_and_grad(f), args))
        assert reroll(once) is once


def test_effects_stay_in_order(capsys):
    def f(x):
        for i in range(12):
            ad.debug.print("{} {}", i, x)
            x = np.sin(x) * 1.1
        return x

    program = traced(f, (0.5,))
    rolled = reroll(program)
    assert len(scans(rolled)) == 1
    for p in (program, rolled):
        interpret(p, [np.float64(0.5)])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 24
    assert lines[:12] == lines[12:]


def test_a_check_that_fails_in_one_iteration_fails_in_the_loop():
    def f(x):
        for i in range(20):
            x = x + 1.0
            ad.check(x < 10.0 + 0.0 * i, "too large")
        return x

    rolled = reroll(traced(f, (0.5,)))
    assert len(scans(rolled)) == 1
    with pytest.raises(CheckError, match="too large"):
        interpret(rolled, [np.float64(0.5)])


def test_an_effect_in_one_iteration_only_keeps_its_position(capsys):
    def f(x):
        for i in range(40):
            x = np.sin(x) * 1.1 + x * 0.2
            if i == 20:
                ad.debug.print("half way {}", x)
        return x

    program = traced(f, (0.5,))
    rolled = reroll(program)
    assert [eq.op.title for eq in rolled.equations if not eq.outputs] == ["print"]
    for p in (program, rolled):
        interpret(p, [np.float64(0.5)])
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_guards_are_not_rolled():
    def f(x):
        for _ in range(40):
            x = x * 0.5 if x > 1.0 else x * 1.5
        return x

    program = ad.trace(f, concrete=True)(0.9).program
    assert not scans(reroll(program))


def test_layers_with_matrices_of_their_own_stay_written_out():
    def f(Ws, h):
        for W in Ws:
            h = np.tanh(W @ h)
        return h

    args = ([np.eye(32) for _ in range(12)], np.ones(32))
    program = traced(f, args)
    assert reroll(program) is program


def test_numbers_that_no_dtype_holds_stay_written_out():
    def f(x):
        for i in range(40):
            x = (x + 50 * i) % 7
        return x

    with pytest.raises(OverflowError):
        f(np.int8(3))
    f32 = traced(lambda x: f(x), (np.float32(3.0),))
    same("", f32, reroll(f32), (np.float32(3.0),))


def test_lines_are_those_of_the_first_iteration():
    f, args = CASES["two_scalars"](50)
    program = traced(f, args)
    (eq,) = scans(reroll(program))
    assert eq.op.body.equations[0].location is not None
    assert {e.location for e in eq.op.body.equations} <= {e.location for e in program.equations}


def iterations_of_qr(turns):
    """The QR iteration for eigenvalues: two equations a turn, whose machine code is long."""

    def f(a):
        s = a @ a.T
        for _ in range(turns):
            q, r = np.linalg.qr(s)
            s = r @ q
        return np.sum(np.diag(s) ** 0.5)

    return f, (np.cos(np.arange(81.0)).reshape(9, 9) + 3.0 * np.eye(9),)


@pytest.mark.parametrize("transform", [lambda f: f, ad.grad])
def test_few_equations_with_long_code_are_a_loop(transform):
    f, args = iterations_of_qr(20)
    program = traced(transform(f), args)
    rolled = reroll(program, least=128)
    assert len(rolled.equations) < 30
    same("qr", program, rolled, args)
    cheap = traced(lambda x: [x := np.tanh(x) + 0.1 for _ in range(20)][-1], (np.ones(9),))
    assert reroll(cheap, least=128) is cheap
