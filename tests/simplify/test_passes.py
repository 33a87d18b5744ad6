"""Simplified programs compute what they did, with fewer equations, and are not simplified further by a second run."""

import warnings

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
from adjoint.base.errors import ProgramError
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify import passes, simplify
from tests.program.test_random import MANY, searching
from tests.support.steps import steps
from tests.support.strategies import COMPLEX_STEPS, programs


@pytest.fixture(autouse=True)
def checked(monkeypatch) -> None:
    monkeypatch.setattr(passes, "CHECKED", True)


def fresh(program: Program) -> Program:
    """The same program, not known to be simple."""
    return Program(program.inputs, program.equations, program.outputs, program.constants)


def agree(before: Program, args, rtol=1e-12, atol=1e-12) -> Program:
    """The simplified program: well formed, of the same types, with the same values, and as simple as it gets."""
    after = check(simplify(before))
    assert [(t.shape, t.dtype) for t in after.output_types] == [(t.shape, t.dtype) for t in before.output_types]
    same_values(before, after, args, rtol, atol)
    assert str(simplify(fresh(after))) == str(after)
    return after


def same_values(before: Program, after: Program, args, rtol, atol) -> None:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = after(*args), before(*args)
    for a, b in zip(found, expected, strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])


@hypothesis.settings(searching, max_examples=MANY or 40)
@given(programs(), st.integers(0, 2**20))
def test_values_and_gradients_stay(program, seed) -> None:
    """Also where some of the arguments are NaN, infinite or zero."""
    x = program.inputs
    argnums = tuple(range(len(x)))
    both = lambda *xs: (program.pool(*xs), ad.grad(program, argnums=argnums)(*xs))
    before = ad.trace(both)(*x).program
    after = agree(before, x, rtol=1e-11, atol=1e-11)
    rng = np.random.default_rng(seed)
    mixed = [np.where(rng.random(np.shape(a)) < 0.6, a, rng.choice(SPECIAL, np.shape(a)))[()] for a in x]
    same_values(before, after, mixed, 1e-11, 1e-11)


@hypothesis.settings(searching, max_examples=MANY or 20)
@given(programs(most_steps=4))
def test_second_derivatives_batches_and_single_precision(program) -> None:
    x = program.inputs
    gradient = ad.grad(program, argnums=tuple(range(len(x))))
    second = lambda *xs: ad.jvp(gradient, xs, tuple(np.ones_like(a) for a in x))
    agree(ad.trace(second)(*x).program, x, rtol=1e-10, atol=1e-10)
    stacked = [np.stack([a, 0.5 * a]) for a in x]
    agree(ad.trace(ad.vmap(gradient))(*stacked).program, stacked, rtol=1e-10, atol=1e-10)
    single = [np.asarray(a, np.float32)[()] for a in x]
    agree(ad.trace(lambda *xs: (program.pool(*xs), gradient(*xs)))(*single).program, single, rtol=2e-4, atol=2e-4)


@hypothesis.settings(searching, max_examples=MANY or 20)
@given(programs(steps=COMPLEX_STEPS, complex_inputs=True, most_steps=5))
def test_complex_programs(program) -> None:
    x = program.inputs

    def both(*xs):
        z, pullback = ad.vjp(program.pool, *xs)
        return z, pullback([np.ones(y.shape, y.dtype) for y in z])

    agree(ad.trace(both)(*x).program, x, rtol=1e-10, atol=1e-10)


def rosenbrock(x):
    a, b = x[:-1], x[1:]
    t = b - a * a
    return np.sum(100.0 * t * t + (1.0 - a) ** 2)


def scalar(x):
    c = x**2 + np.exp(x**2)
    return np.sqrt(c) + np.cos(c)


def layers(p, x, y):
    h = np.maximum(x @ p["w"] + p["b"], 0)
    z = h @ p["v"]
    m = z.max(axis=1, keepdims=True)
    return (np.sum(np.log(np.exp(z - m).sum(axis=1)) + m[:, 0]) - np.sum(z[np.arange(4), y])) / 4


def logistic(w, x, y):
    return np.mean(np.log1p(np.exp(-y * (x @ w)))) + 0.0005 * np.sum(w * w)


def recurrent(w, b, x):
    h, hs = ad.scan(lambda h, a: (np.tanh(w @ h + a),) * 2, np.zeros(3), x + b)
    return 0.5 * np.mean(hs**2) + h[0]


def chain(e, a):
    """The logarithm of the sum over all paths."""

    def total(m):
        top = m.max(0)
        return np.log(np.exp(m - top).sum(0)) + top

    return total(ad.scan(lambda al, x: (x + total(al[:, None] + a), None), e[0], e[1:])[0])


RNG = np.random.default_rng(0)
PARAMETERS = {"w": RNG.normal(size=(5, 3)), "b": RNG.normal(size=3), "v": RNG.normal(size=(3, 2))}
# (function, arguments, most equations of value and gradient, with those of programs inside)
WORK = [
    (rosenbrock, (RNG.normal(size=10),), 16),
    (scalar, (0.7,), 14),
    (layers, (PARAMETERS, RNG.normal(size=(4, 5)), np.array([0, 1, 1, 0])), 45),
    (logistic, (RNG.normal(size=3), RNG.normal(size=(6, 3)), np.sign(RNG.normal(size=6))), 20),
    (recurrent, (RNG.normal(size=(3, 3)), RNG.normal(size=3), RNG.normal(size=(4, 3))), 31),
    (chain, (RNG.normal(size=(5, 3)), RNG.normal(size=(3, 3))), 47),
]


def size(program: Program) -> int:
    """The number of equations, with those of programs inside."""
    inner = [p for eq in program.equations if hasattr(eq.op, "programs") for p in eq.op.programs().values()]
    return len(program.equations) + sum(map(size, inner))


@pytest.mark.parametrize("f, args, most", WORK, ids=[f.__name__ for f, _, _ in WORK])
def test_the_number_of_equations(f, args, most) -> None:
    traced = ad.trace(ad.value_and_grad(f))(*args)
    after = agree(traced.program, [np.asarray(a)[()] for a in ad.tree.leaves(args)])
    assert size(after) <= most


def test_the_hessian_of_rosenbrock_times_a_vector() -> None:
    x, v = RNG.normal(size=(2, 10))
    product = lambda x, v: ad.jvp(ad.grad(rosenbrock), (x,), (v,))[1]
    after = agree(ad.trace(product)(x, v).program, [x, v])
    assert size(after) <= 17


def test_work_grows_with_the_program() -> None:
    """Twice the equations, twice the function calls: nothing is looked for again and again."""

    def work(iterations: int) -> int:
        def f(x):
            h = x
            for _ in range(iterations):
                h = np.tanh(h * 1.01 + 0.1) * np.cos(h) + x
            return np.sum(h * h)

        program = ad.trace(ad.value_and_grad(f))(np.ones(4)).program
        passes.CHECKED = False  # the fixture puts it back
        simplify(fresh(program))
        return steps(lambda: simplify(fresh(program)))

    assert work(120) < 2.2 * work(60)


def test_equations_keep_their_lines() -> None:
    program = ad.trace(ad.value_and_grad(rosenbrock))(np.ones(4)).program
    origins = {(eq.location, eq.scope, eq.quiet, eq.pulled) for eq in program.equations}
    after = simplify(program)
    assert {(eq.location, eq.scope, eq.quiet, eq.pulled) for eq in after.equations} <= origins
    assert len({eq.location for eq in after.equations}) > 2


def test_a_program_that_was_simplified_is_not_simplified_again() -> None:
    program = simplify(ad.trace(scalar)(1.0).program)
    assert simplify(program) is program


def test_a_pass_that_breaks_a_program_is_named(monkeypatch) -> None:
    def forget_the_first_equation(program: Program) -> Program:
        return Program(program.inputs, program.equations[1:], program.outputs, program.constants)

    monkeypatch.setattr(passes, "PASSES", [*passes.PASSES, forget_the_first_equation])
    with pytest.raises(ProgramError, match="after forget_the_first_equation"):
        simplify(ad.trace(scalar)(1.0).program)


def test_loops_inside_branches_are_simplified() -> None:
    def f(x, n):
        loop = lambda x: ad.scan(lambda h, _: (h * 1.0 + np.zeros(3), None), x, None, length=3)[0]
        return ad.cond(n > 0, loop, lambda x: x + 0.0, x)

    after = agree(ad.trace(f)(np.ones(3), 1).program, [np.arange(3.0), np.int64(1)])
    text = str(after)
    assert "add" not in text
    assert "multiply" not in text


def test_equal_loops_are_one() -> None:
    def f(x):
        loop = lambda x: ad.scan(lambda h, _: (np.sin(h), None), x, None, length=3)[0]
        return loop(x) + loop(x)

    after = agree(ad.trace(f)(np.ones(3)).program, [np.arange(3.0)])
    assert sum(eq.op.title == "scan" for eq in after.equations) == 1


def test_equal_programs_inside_are_simplified_once():
    def root(a):
        return ad.while_loop(lambda x: np.abs(x * x - a) > 1e-9, lambda x: 0.5 * (x + 1.0 * a / x), a)

    def f(a):
        return root(a) + root(2.0 * a) + np.sqrt(a)

    made = simplify(ad.jit(f).lower(2.0).program)
    inside = [tuple(map(id, eq.op.programs().values())) for eq in made.equations if eq.op.programs()]
    assert len(inside) == 2
    assert inside[0] == inside[1]
    assert float(ad.jit(f)(2.0)) == pytest.approx(2 * np.sqrt(2.0) + 2.0)
