"""Sums in carries: products are added up behind the loop, sums of sums are one sum."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify.loops.accumulate import move_sums_out
from adjoint.simplify.loops.interface import simplify_interfaces
from adjoint.simplify.loops.liveness import prune_dead_parts
from adjoint.simplify.loops.order import simplify_loops
from tests.simplify.programs import loop_of, loops_of, program_of, same_results, titles
from tests.simplify.recurrent import motion_arguments, network, network_arguments, prey_and_predators

rng = np.random.default_rng(7)
US, VS = rng.standard_normal((10, 9)), rng.standard_normal((10, 8))
FORMS = {
    "product of column and row": lambda u, v: np.reshape(u, (9, 1)) @ np.reshape(v, (1, 8)),
    "broadcast column": lambda u, v: u[:, None] * v,
    "broadcast column and row": lambda u, v: u[:, None] * v[None, :],
    "einsum": lambda u, v: np.einsum("i,j->ij", u, v),
    "outer": np.outer,
    "transposed": lambda u, v: np.outer(v, u).T,
    "times numbers": lambda u, v: 0.85 * (np.outer(v, u) * 2.0).T,
    "computed factors": lambda u, v: np.outer(np.sin(u), v * v),
    "several": lambda u, v: np.outer(u, v) + np.outer(np.sin(u), v) * 1.0 + np.outer(u, np.cos(v)),
}


def moved(f, *args) -> Program:
    before, arguments = program_of(f, *args)
    after = check(prune_dead_parts(check(move_sums_out(simplify_interfaces(before)))))
    same_results(before, after, arguments)
    return after


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("reverse", [False, True])
def test_outer_products_are_one_product(form: str, sign: float, reverse: bool) -> None:
    def f(us, vs):
        def body(s, row):
            term = FORMS[form](*row)
            return (s + term if sign > 0 else s - term), None

        return ad.scan(body, np.ones((9, 8)), (us, vs), reverse=reverse)[0]

    program = moved(f, US, VS)
    assert titles(program).count("matmul") >= 1
    assert all(eq.op.carries == 0 or form == "several" for eq in loops_of(program))


def test_products_of_lower_precision_are_added_up_in_that_of_the_sum() -> None:
    def f(us, vs):
        body = lambda s, row: (s + np.outer(row[0], row[1]) * np.float64(0.85), None)
        return ad.scan(body, np.ones((9, 8)), (us, vs))[0]

    assert loop_of(moved(f, US.astype(np.float32), VS.astype(np.float32))).op.carries == 1


def test_products_with_a_short_shared_axis() -> None:
    a, b = rng.standard_normal((12, 2, 9)), rng.standard_normal((12, 2, 10))
    for term in (
        lambda x, y: x.T @ y,
        lambda x, y: (y.T @ x).T,
        lambda x, y: np.tanh(x).T @ np.sin(y),
        lambda x, y: np.sin(x.T) @ y,
    ):
        program = moved(lambda a, b, t=term: ad.scan(lambda s, r: (s + t(*r), None), np.ones((9, 10)), (a, b))[0], a, b)
        assert "matmul" in titles(program)


def test_the_gradient_of_a_network() -> None:
    before, arguments = program_of(ad.value_and_grad(network, argnums=(0, 1, 2, 3)), *network_arguments(20, 12, 3))
    after = check(simplify_loops(before))
    same_results(before, after, arguments)
    back = loops_of(after)[1]
    assert all(v.type.shape != (12, 12) for v in back.outputs)


@pytest.mark.parametrize(
    "body",
    [
        lambda s, r: (s + np.outer(*r), s[0, 0]),  # read by a stack
        lambda s, r: (s + np.outer(r[0] * s[0, 0], r[1]), None),  # read by its own term
        lambda s, r: (2.0 * (s + np.outer(*r)), None),  # no sum
        lambda s, r: (np.outer(*r) - s, None),  # no sum
        lambda s, r: (s + np.outer(*r) * np.outer(r[0], r[1]), None),  # no product
    ],
)
def test_what_is_no_sum_of_products_stays(body) -> None:
    program = moved(lambda us, vs: ad.scan(body, np.ones((9, 8)), (us, vs)), US, VS)
    assert loop_of(program).op.carries == 1


def test_small_sums_and_short_loops_stay() -> None:
    def f(us, vs):
        return ad.scan(lambda s, r: (s + np.outer(*r), None), np.zeros((us.shape[1], vs.shape[1])), (us, vs))[0]

    assert loop_of(moved(f, US[:, :3], VS[:, :3])).op.carries == 1
    assert loop_of(moved(f, US[:5], VS[:5])).op.carries == 1


def test_sums_of_which_only_the_sum_is_read_are_one() -> None:
    def f(us, vs):
        def body(s, r):
            return (s[0] + r[0][0], s[1] - r[1][0], s[2] - r[0][1] * r[1][1]), None

        a, b, c = ad.scan(body, (1.0, 2.0, 3.0), (us, vs))[0]
        return (a + b) + c

    program = moved(f, US, VS)
    assert loop_of(program).op.carries == 1


def test_sums_that_are_read_by_themselves_stay() -> None:
    def f(us, vs):
        (a, b), _ = ad.scan(lambda s, r: ((s[0] + r[0][0], s[1] + r[1][0]), None), (0.0, 0.0), (us, vs))
        return a + b, a

    assert loop_of(moved(f, US, VS)).op.carries == 2


def test_the_gradient_of_an_equation_of_motion() -> None:
    before, arguments = program_of(ad.value_and_grad(prey_and_predators, argnums=(0, 1)), *motion_arguments())
    after = check(simplify_loops(before))
    same_results(before, after, arguments)
    assert loops_of(after)[1].op.carries == 6  # two of the state, one for each parameter


def test_nothing_to_do() -> None:
    program, _ = program_of(lambda us: ad.scan(lambda s, u: (s * u, None), us[0], us)[0], US)
    assert move_sums_out(program) is program
