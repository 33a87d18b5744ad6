"""Invariants of loops run once, unless that would cost more, act, or fail where the loop takes no iteration."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.check import check
from adjoint.simplify.loops.hoist import hoist_invariants
from adjoint.simplify.loops.interface import simplify_interfaces
from tests.simplify.programs import loop_of, program_of, same_results, titles

X = np.array([0.6, 0.9, 0.35])


def in_body(f, *args):
    """The program of a scan over f, with f's equations inside: x enters as a carry that stays."""

    def g(x, *rest):
        return ad.scan(lambda c, t: ((c[0], c[1] + f(c[0], *rest) * t), None), (x, 0.0 * f(x, *rest)), np.arange(3.0))[
            0
        ][1]

    before, arguments = program_of(g, *args)
    plain = simplify_interfaces(before)
    after = check(hoist_invariants(plain))
    same_results(before, after, arguments, rounding=0.0)
    return plain, after


def test_what_reads_constants_alone_moves_out() -> None:
    plain, after = in_body(lambda x: np.sin(x) * np.exp(x), X)
    assert "sin" in titles(loop_of(plain).op.body)
    assert set(titles(loop_of(after).op.body)) == {"add", "multiply"}


def test_views_stay_inside() -> None:
    big = np.arange(400.0).reshape(20, 20)
    _plain, after = in_body(lambda x: x.T, big)
    assert "transpose" in titles(loop_of(after).op.body)


def test_a_large_array_that_is_cheaply_made_stays_inside() -> None:
    v = np.arange(30.0)
    _, cheap = in_body(lambda x: np.reshape(x, (30, 1)) + x, v)
    assert titles(loop_of(cheap).op.body).count("add") == 2
    _, dear = in_body(lambda x: np.sin(np.reshape(x, (30, 1)) + x), v)
    assert "sin" not in titles(loop_of(dear).op.body)


def test_what_may_fail_stays_in_a_loop_that_may_take_no_iteration() -> None:
    def f(x, a):
        def body(s):
            return s[0], s[1] + np.sum(np.linalg.cholesky(s[0])), s[2] + np.sum(np.sin(s[0]))

        return ad.while_loop(lambda s: s[1] < x, body, (a, 0.0, 0.0))[1:]

    before, _ = program_of(f, 3.0, np.eye(3))
    after = check(hoist_invariants(simplify_interfaces(before)))
    body = titles(loop_of(after).op.body)
    assert "cholesky" in body
    assert "sin" not in body
    same_results(before, after, [3.0, np.eye(3)], rounding=0.0)
    same_results(before, after, [-1.0, -np.eye(3)], rounding=0.0)  # no iteration, no error
    with pytest.raises(np.linalg.LinAlgError):
        after(3.0, -np.eye(3))


def test_effects_stay() -> None:
    def loud(x):
        ad.debug.print("{}", x[0])
        return np.sin(x)

    _, after = in_body(loud, X)
    assert "print" in titles(loop_of(after).op.body)
