"""What a loop on the backward pass computes again although the forward pass had it: stored where that is cheaper."""

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.simplify.loops.interface import simplify_interfaces
from adjoint.simplify.loops.liveness import prune_dead_parts
from adjoint.simplify.loops.rematerialize import choose_residuals
from adjoint.simplify.passes import simplify
from tests.simplify.programs import loops_of, program_of, same_results, titles

X = np.array([0.6, 0.9, 0.35, -0.2])
A = np.array([[0.3, -0.2, 0.5], [0.1, 0.4, -0.6], [0.2, 0.2, 0.7]])


def derivative_anew(x):
    return np.exp(np.sin(x)), lambda ct: (ct * np.cos(x) * np.exp(np.sin(x)),)


@ad.custom_rule(vjp=derivative_anew)
def wave(x):
    return np.exp(np.sin(x))


def repeated(x):
    return ad.scan(lambda c, t: (wave(c * t) + t, None), x[0], x)[0]


def log_partition(E, A):
    step = lambda a, e: (e + ad.scipy.special.logsumexp(a[:, None] + A, axis=0), None)
    return ad.scipy.special.logsumexp(ad.scan(step, E[0], E[1:])[0])


def test_the_parts_of_log_sum_exp_are_computed_once() -> None:
    program, arguments = program_of(ad.value_and_grad(log_partition, argnums=(0, 1)), np.sin(np.outer(X, X[:3])), A)
    after = check(simplify(program))
    same_results(program, after, arguments, rounding=1e-14)
    first, second = loops_of(after)
    assert titles(first.op.body).count("exp") == 1
    assert "exp" not in titles(second.op.body)
    assert "max" not in titles(second.op.body)


def test_a_loop_with_what_is_computed_twice_is_weighed_once() -> None:
    program, arguments = program_of(ad.value_and_grad(repeated), X)
    plain = prune_dead_parts(simplify_interfaces(simplify(program)))
    after = choose_residuals(plain)
    same_results(program, after, arguments, rounding=1e-14)
    assert choose_residuals(after) is after
    assert sum(titles(loop.op.body).count("sin") for loop in loops_of(after)) == 1


def test_what_a_checkpoint_forgets_is_computed_again() -> None:
    def f(x):
        return ad.scan(lambda c, t: (ad.checkpoint(lambda c: np.exp(np.sin(c * t)))(c), None), x[0], x)[0]

    program, arguments = program_of(ad.value_and_grad(f), X)
    after = simplify(program)
    same_results(program, after, arguments, rounding=1e-14)
    assert "exp" in titles(loops_of(after)[1].op.body)


def test_other_rows_are_not_the_same() -> None:
    def f(x):  # the second loop reads the rows one position on
        c, states = ad.scan(lambda c, t: (np.sin(c * t), np.exp(c)), x[0], x)
        d, _ = ad.scan(lambda d, r: (np.sin(d * r[0]) + np.exp(r[1]), None), c, (states[1:], x[:-1]))
        return d

    program, arguments = program_of(ad.value_and_grad(f), X)
    same_results(program, simplify(program), arguments, rounding=1e-14)
