"""Residuals between loops: which are stored and which are computed again, with the same results to the last bit."""

import numpy as np

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Program
from adjoint.simplify.loops.interface import simplify_interfaces
from adjoint.simplify.loops.liveness import prune_dead_parts
from adjoint.simplify.loops.order import simplify_loops
from adjoint.simplify.loops.rematerialize import choose_residuals
from adjoint.simplify.passes import simplify
from tests.simplify.programs import loops_of, program_of, same_results, titles
from tests.simplify.recurrent import (
    chain,
    chain_arguments,
    motion_arguments,
    network,
    network_arguments,
    prey_and_predators,
)

X = np.array([0.6, 0.9, 0.35])


def chosen(f, *args) -> Program:
    before, arguments = program_of(f, *args)
    plain = prune_dead_parts(simplify_interfaces(before))
    after = check(choose_residuals(plain))
    same_results(before, after, arguments, rounding=0.0)
    return after


def stored(program: Program, carries: int) -> list[tuple[int, ...]]:
    """The shapes of one iteration of what the first loop of a program stacks."""
    return [v.type.shape[1:] for v in loops_of(program)[0].outputs[carries:]]


def motion(iterations: int) -> Program:
    return simplify_loops(
        program_of(
            ad.value_and_grad(lambda *a: prey_and_predators(*a, iterations=iterations), argnums=(0, 1)),
            *motion_arguments(),
        )[0]
    )


def test_of_an_equation_of_motion_the_states_of_the_stages_are_stored() -> None:
    chosen(ad.value_and_grad(prey_and_predators, argnums=(0, 1)), *motion_arguments())
    assert len(stored(motion(6), 2)) == 8  # of the sixteen residuals: x and y of four stages


def test_of_a_long_motion_only_the_state_is_stored() -> None:
    forward = loops_of(motion(1_000_000))[0]
    assert set(forward.op.body.outputs[2:]) == set(forward.op.body.inputs[-2:])  # the carries themselves


def test_of_a_network_only_the_state_is_stored() -> None:
    program = chosen(ad.value_and_grad(network, argnums=(0, 1, 2, 3)), *network_arguments())
    assert stored(program, 1) == [(3,), (3,)]  # hₜ, which is read outside as well, and hₜ₋₁
    assert "tanh" not in titles(loops_of(program)[1].op.body)


def test_of_a_chain_exponentials_are_stored_and_sums_computed_again() -> None:
    program = chosen(ad.value_and_grad(chain, argnums=(0, 1)), *chain_arguments())
    shapes = stored(program, 1)
    assert shapes.count((4, 4)) == 1  # exp(…), not the sum inside it
    back = titles(loops_of(program)[1].op.body)
    assert "exp" not in back
    assert "add" in back


def test_what_is_read_outside_as_well_is_not_computed_again() -> None:
    def f(x):
        last, (a, b) = ad.scan(lambda c, t: (np.sin(c * t) * t, (c * t, c)), x[0], x)
        return last * np.sum(a * a) * np.sum(b)

    program = chosen(ad.value_and_grad(f), X)
    assert len(stored(program, 1)) == 3  # c·t and c, which are read outside, and cos(c·t)


def test_a_residual_that_is_costly_is_stored() -> None:
    def f(x):
        return np.sum(ad.scan(lambda c, t: (np.linalg.inv(c) * t + c, None), np.outer(x, x) + np.eye(3), x)[0])

    program = chosen(ad.value_and_grad(f), X)
    assert titles(loops_of(program)[0].op.body).count("inv") == 1
    assert "inv" not in titles(loops_of(program)[1].op.body)


def test_random_numbers_are_drawn_once() -> None:
    def f(x):
        def body(carry, t):
            c, rng = carry
            z = rng.standard_normal()
            return (c * z * t, rng), None

        return ad.scan(body, (x[0], ad.random.default_rng(3)), x)[0][0]

    before, arguments = program_of(ad.value_and_grad(f), X)
    after = check(simplify_loops(before))
    same_results(before, after, arguments)
    assert str(after).count("randombits") == str(before).count("randombits")


def test_effects_are_not_repeated(capsys) -> None:
    def f(x):
        def body(c, t):
            ad.debug.print("{:.3f}", c)
            return np.square(c) * t, None

        return ad.scan(body, x[0], x)[0]

    program = chosen(ad.value_and_grad(f), X)
    capsys.readouterr()
    program(X)
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_while_loops() -> None:
    def f(x):
        def body(s):
            a = s * x[0] + 1.0
            b = a * x[1] + s
            return a * b * 0.3 + s

        return ad.while_loop(lambda s: s < 50.0, body, x[2])

    program = chosen(ad.value_and_grad(f), X)
    assert stored(program, 1) == [()]  # the carry
    assert loops_of(program)[1].op.length is None


def test_the_second_derivative() -> None:
    def f(theta):
        return prey_and_predators(theta, np.array([10.0, 5.0]), np.array([8.0, 3.0]))

    before, arguments = program_of(ad.grad(lambda t: np.sum(ad.grad(f)(t) ** 2)), motion_arguments()[0])
    after = check(simplify_loops(before))
    same_results(before, after, arguments)

    def memory(program: Program) -> int:
        return sum(v.type.size for eq in loops_of(program) for v in eq.outputs)

    assert memory(after) < 0.7 * memory(before)


def test_loops_inside_loops() -> None:
    def f(x):
        def outer(c, t):
            return ad.scan(lambda d, s: ((d + 1.0) * s * t, None), c, x)[0], None

        return ad.scan(outer, x[0], x)[0]

    before, arguments = program_of(ad.value_and_grad(f), X)
    after = check(simplify_loops(before))
    same_results(before, after, arguments)


def test_a_loop_that_reads_a_range_of_rows_and_rows_read_by_themselves() -> None:
    xs = np.linspace(0.1, 1.0, 10)

    def f(xs):
        k = np.float64(2.0)
        _, (a, b, d) = ad.scan(lambda c, x: (np.sin(c) * x, (c * k, c * 3.0, c * 5.0 + xs[0])), 0.5, xs)
        total, _ = ad.scan(lambda s, r: (s * r[0] + r[1] - r[2], None), xs[2], (a[1:9], b[1:9], d[1:9]), reverse=True)
        return total * a[9] + b[0] * d[-1]

    program = chosen(f, xs)
    assert stored(program, 1) == [()]
    assert titles(loops_of(program)[1].op.body).count("multiply") == 4
    assert titles(program).count("multiply") == 2 + 3


def test_a_loop_that_was_written_out() -> None:
    def f(scores, moves):
        a = scores[0]
        for t in range(1, len(scores)):
            m = a[:, None] + moves
            a = scores[t] + np.log(np.exp(m).sum(0))
        return np.sum(a)

    before, arguments = program_of(ad.value_and_grad(f, argnums=(0, 1)), *chain_arguments(24, 5))
    after = check(simplify(before))
    same_results(before, after, arguments)
    forward, _ = loops_of(after)
    assert sum(v.type.shape[1:] == (5, 5) for v in forward.outputs) == 1


def steps_of_steps(x, outer: int, inner: int):
    def step(c, _):
        return ((c * x[0] + 1.0) * c + x[1]) * 0.3, None

    return ad.scan(lambda c, _: (ad.scan(step, c, None, length=inner)[0], None), x[2], None, length=outer)[0]


def test_a_loop_inside_is_run_again_when_memory_is_dear() -> None:
    before, arguments = program_of(ad.value_and_grad(lambda x: steps_of_steps(x, 3, 4)), X)
    after = check(simplify(before))
    same_results(before, after, arguments)
    assert (4,) in stored(after, 1)  # what each of its iterations needs
    program, _ = program_of(ad.value_and_grad(lambda x: steps_of_steps(x, 50_000, 100)), X)
    assert stored(simplify(program), 1) == [()]  # the carry around it


def test_rows_that_were_not_read_before_are_stored_when_shared_work_reads_them() -> None:
    """The second loop computes what the first one stacks, though it did not read that stack."""

    def k(u, b):
        z = u * 1.0
        for i in range(12):
            b = np.sin(np.sum(z[1:][:i]))
            z[1:] = np.tanh(np.sin(b)) + 0.3
        return np.sum(z) + b

    gradient = ad.grad(k, argnums=(0, 1))
    f = lambda u, b: ad.jvp(gradient, (u, b), (u, b))[1]
    u = np.array([0.1, 0.5, 0.9])
    for a, b in zip(ad.jit(f)(u, 0.3), f(u, 0.3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_rows_that_the_first_loop_hands_on_as_they_are() -> None:
    """They are read where it read them; the stack of copies is not made."""

    def f(x):
        _, (rows, halves) = ad.scan(lambda c, t: (c + t, (t, 0.5 * t)), 0.0, x)
        return ad.scan(lambda c, row: (c * row[0] + row[1], None), 1.0, (rows, halves))[0]

    before, arguments = program_of(f, X)
    after = check(choose_residuals(before))
    same_results(before, after, arguments, rounding=0.0)
    assert stored(prune_dead_parts(after), 1) == []


def test_rows_that_are_read_elsewhere_as_well_are_read_there() -> None:
    """A stack of what is scanned, and one of two stacks of the same: nothing is left that reads what is dropped."""

    def f(xs):
        _, (a, b, c, d) = ad.scan(lambda c, x: (np.sin(c) * x, (x, c, c, c * 2.0)), 0.5, xs)
        total, _ = ad.scan(lambda s, r: (s * r[0] + r[1] - r[2], None), xs[2], (a, c, d), reverse=True)
        return total * a[1] * np.sum(np.exp(b))

    before, arguments = program_of(f, np.linspace(0.1, 1.0, 10))
    after = check(choose_residuals(before))  # as it is: simpler interfaces of loops would hide both
    same_results(before, after, arguments, rounding=0.0)
    assert stored(after, 1) == [()]


def test_the_hessian_of_a_filter_with_small_matrices_compiles() -> None:
    A, C = np.array([[1.0, 0.1], [-0.1, 0.9]]), np.array([[1.0, 0.0]])
    observations = np.sin(np.arange(20.0))

    def likelihood(p):
        m, P, total = np.array([p[2], 0.0]), np.eye(2), 0.0
        for y in observations:
            m, P = A @ m, A @ P @ A.T + np.exp(p[0]) * np.eye(2)
            S = C @ P @ C.T + np.exp(p[1]) * np.eye(1)
            K, e = np.linalg.solve(S, C @ P).T, y - C @ m
            total = total - 0.5 * (e @ np.linalg.solve(S, e) + np.linalg.slogdet(S)[1])
            m, P = m + K @ e, P - K @ S @ K.T
        return total

    p = np.array([0.3, -0.2, 0.1])
    H = ad.testing.difference_jacobian(ad.grad(likelihood), p)
    np.testing.assert_allclose(ad.jit(ad.hessian(likelihood))(p), H, rtol=1e-6, atol=1e-6)
