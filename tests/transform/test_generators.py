"""Random generators through every transformation: the numbers of a plain loop, the caller's moved on as by it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import adjoint as ad
from adjoint.base.errors import RuleError, ShapeError, TraceError, TreeError


def rng(seed=30):
    return ad.random.default_rng(seed)


def walk(scale, r, steps=4):
    """A plain loop: the oracle."""
    x, path = 0.0, []
    for _ in range(steps):
        x = x + r.normal(0.0, scale) * np.cos(x)
        path.append(x)
    return x, np.stack(path)


def scanned(scale, r, steps=4):
    def body(carry, _):
        g, x = carry
        x = x + g.normal(0.0, scale) * np.cos(x)
        return (g, x), x

    (_, x), path = ad.scan(body, (r, 0.0), length=steps)
    return x, path


def looped(scale, r, steps=4):
    def body(state):
        i, g, x = state
        return i + 1, g, x + g.normal(0.0, scale) * np.cos(x)

    return ad.while_loop(lambda s: s[0] < steps, body, (0, r, 0.0))[2], None


def counted(scale, r, steps=4):
    return ad.fori_loop(0, steps, lambda i, s: (s[0], s[1] + s[0].normal(0.0, scale) * np.cos(s[1])), (r, 0.0))[1], None


def recomputed(scale, r, steps=4):
    step = ad.checkpoint(lambda x, scale, r: x + r.normal(0.0, scale) * np.cos(x))
    x = 0.0
    for _ in range(steps):
        x = step(x, scale, r)
    return x, None


FORMS = [scanned, looped, counted, recomputed]


@pytest.mark.parametrize("form", FORMS)
def test_loops_draw_what_a_plain_loop_draws(form):
    ours, plain = rng(), rng()
    assert_allclose(form(1.3, ours)[0], walk(1.3, plain)[0], rtol=1e-14)
    assert ours.counter == plain.counter == 4
    assert ours.random() == plain.random()  # and goes on from there


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("derivative", [
    lambda f: ad.grad(f)(1.3), lambda f: ad.jvp(f, (1.3,), (1.0,))[1], lambda f: ad.hessian(f)(1.3),
    lambda f: ad.jet(f, (1.3,), ([1.0, 0.0, 0.0],))[1][2], lambda f: ad.vmap(ad.grad(f))(np.array([1.3, 0.4])),
    lambda f: ad.linearize(f, 1.3)[1](1.0), lambda f: ad.grad(ad.checkpoint(f))(1.3),
])  # fmt: skip
def test_derivatives_through_loops(form, derivative):
    found = derivative(lambda s: form(s, rng())[0])
    assert_allclose(found, derivative(lambda s: walk(s, rng())[0]), rtol=1e-11)


@pytest.mark.parametrize("form", [walk, *FORMS])
def test_lanes_have_streams_of_their_own(form):
    scales = np.array([0.5, 1.0, 2.0])
    found = ad.vmap(lambda s, r: form(s, r)[0])(scales, rng())
    expected = [walk(s, r)[0] for s, r in zip(scales, rng().split(3), strict=True)]
    assert_allclose(found, expected, rtol=1e-13)
    # a stack that was made before is moved on, lane by lane
    stack = rng().split(3)
    assert_allclose(ad.vmap(lambda s, r: form(s, r)[0])(scales, stack), expected, rtol=1e-13)
    assert_array_equal(stack.counter, [4, 4, 4])
    # not mapped: the same numbers for all
    ours, plain = rng(), rng()
    shared = ad.vmap(lambda s, r: form(s, r)[0], in_axes=(0, None))(scales, ours)
    assert_allclose(shared, [walk(s, rng())[0] for s in scales], rtol=1e-13)
    walk(1.0, plain)
    assert ours.counter == plain.counter


def test_a_mapped_generator_is_split_and_moved_on():
    r = rng()
    first = ad.vmap(lambda r: r.random())
    assert_array_equal(ad.vmap(lambda x, r: r.random())(np.zeros(3), r), [g.random() for g in rng().split(3)])
    assert r.counter == 3
    once, again = ad.vmap(lambda r: r.random(), axis_size=2)(r), ad.vmap(lambda r: r.random(), axis_size=2)(r)
    assert not np.any(once == again)
    with pytest.raises(ShapeError, match="axis_size"):
        ad.vmap(lambda r: r.random(), in_axes=None)(r)
    with pytest.raises(ShapeError, match="no axis 0"):
        first(r)
    with pytest.raises(ShapeError, match="along its first axis"):
        ad.vmap(lambda r: r.random(), in_axes=-1)(rng().split(2))
    nested = ad.vmap(lambda x, r: ad.vmap(lambda y, r: r.random())(np.zeros(2), r))(np.zeros(3), rng())
    assert nested.shape == (3, 2)
    assert len(set(nested.ravel().tolist())) == 6
    assert_array_equal(nested[1], [g.random() for g in rng().split(3)[1].split(2)])
    keywords = ad.vmap(lambda x, r: x + r.random())(np.zeros(3), r=rng())
    assert_array_equal(keywords, [g.random() for g in rng().split(3)])


def test_returned_generators_stay_in_step_with_the_callers():
    r = rng()
    (same, _), _ = ad.scan(lambda c, _: ((c[0], c[1] + c[0].random()), None), (r, 0.0), length=3)
    assert same.counter == r.counter == 3
    assert same.random() != r.random()
    assert same.counter == r.counter == 5
    lanes = ad.vmap(lambda x, r: (x * r.random(), r))(np.ones(2), rng())[1]
    assert_array_equal(lanes.counter, [1, 1])


def test_a_carry_that_is_replaced_is_never_used_again():
    r = rng()

    def body(g, _):
        g, other = g.spawn(2)
        return g, other.random()

    last, ys = ad.scan(body, r, length=3)
    again = ad.scan(body, r, length=3)[1]
    assert not set(ys.tolist()) & {*again.tolist(), last.random(), r.random(), *[g.random() for g in r.spawn(2)]}


def test_streams_along_a_scan():
    stack, plain = rng().split(3), rng().split(3)
    ys = ad.scan(lambda c, g: (c, g.random(2)), 0.0, stack)[1]
    assert_array_equal(ys, [g.random(2) for g in plain])
    assert_array_equal(stack.counter, [2, 2, 2])
    assert_array_equal(ad.map(lambda g: g.random(), stack), [g.random(3)[2] for g in plain])


def test_branches():
    def branch(x, r):
        return ad.cond(x > 0, lambda x, r: x * r.normal(), lambda x, r: x - r.normal() - r.normal(), x, r)

    xs = np.array([1.0, -1.0, 2.0])
    expected = [branch(x, g) for x, g in zip(xs, rng().split(3), strict=True)]
    assert_array_equal(ad.vmap(branch)(xs, rng()), expected)
    r = rng()
    assert_array_equal(ad.vmap(branch, in_axes=(0, None))(xs, r), [branch(x, rng()) for x in xs])
    assert r.counter == 2  # as far as the furthest lane
    r = rng()
    assert ad.grad(branch)(1.0, r) == rng().normal()
    assert r.counter == 1
    returned = ad.vmap(lambda x, r: ad.cond(x > 0, lambda r: r, lambda r: r, r).random(), in_axes=(0, None))
    assert_array_equal(returned(xs, rng()), np.full(3, rng().random()))
    with pytest.raises(TreeError, match="different generator"):
        ad.vmap(lambda x, r: ad.cond(x > 0, lambda r: r, lambda r: r.spawn(1)[0], r).random())(xs, rng())


def test_lanes_that_go_different_ways_begin_in_the_same_state():
    def path(x, r):
        z = r.normal()
        if x > 0:
            return z * x
        return z + r.normal() if x < -1 else z - 1.0

    xs = np.array([1.0, -1.0, 2.0, -3.0])
    expected = [path(x, rng()) for x in xs]
    closed_over = rng()
    assert_array_equal(ad.vmap(lambda x: path(x, closed_over))(xs), expected)
    assert closed_over.counter == 2
    given = rng()
    assert_array_equal(ad.vmap(path, in_axes=(0, None))(xs, given), expected)
    assert given.counter == 2
    assert_array_equal(ad.vmap(path)(xs, rng()), [path(x, g) for x, g in zip(xs, rng().split(4), strict=True)])
    closed_over = rng()
    slopes = ad.vmap(ad.grad(lambda x: path(x, closed_over)))(xs)
    assert_array_equal(slopes, [rng().normal(), 0.0, rng().normal(), 0.0])
    inner = rng()  # inside another map
    nested = ad.vmap(lambda y: ad.vmap(lambda x: path(x, inner) + y)(xs))(np.zeros(2))
    assert_array_equal(nested, [expected, expected])
    assert inner.counter == 2


def test_checkpoints_draw_the_same_numbers_again():
    r, drawn = rng(), []

    def noisy(x, r):
        z = r.normal(size=3)
        drawn.append(z)
        return np.sum(np.sin(x * z))

    slope = ad.grad(lambda x: ad.checkpoint(noisy)(x, r) + ad.checkpoint(noisy)(x, r))(0.7)
    z = rng().normal(size=6)
    assert_allclose(slope, np.sum(z * np.cos(0.7 * z)), rtol=1e-13)
    assert r.counter == 6
    closed_over = rng()
    slope = ad.grad(ad.checkpoint(lambda x: noisy(x, closed_over)))(0.7)
    assert_allclose(slope, np.sum(z[:3] * np.cos(0.7 * z[:3])), rtol=1e-13)
    assert closed_over.counter == 3


def test_generators_among_differentiated_arguments():
    def f(arguments):
        return arguments["x"] * arguments["rng"].normal()

    r = rng()
    found = ad.grad(f)({"x": 2.0, "rng": r})
    assert found["x"] == rng().normal()
    assert r.counter == 1
    y, pullback = ad.vjp(lambda x, r: x * r.normal(), 2.0, r)
    assert r.counter == 2
    assert pullback(1.0)[0] == rng().normal(size=2)[1] == y / 2.0


def test_programs_move_the_generator_on():
    program = ad.trace(lambda s, r: r.normal(0.0, s, size=2))(1.0, rng())
    r = rng()
    found = np.concatenate([program(1.0, r), program(2.0, r)])
    assert_array_equal(found, rng().normal(size=4) * [1, 1, 2, 2])
    assert r.counter == 4
    assert len(program.output_types) == 1
    assert_array_equal(ad.grad(lambda s: program(s, rng())[1])(1.0), rng().normal(size=2)[1])


def test_saved_programs(tmp_path):
    program = ad.trace(lambda s, r: r.normal(0.0, s, size=2))(1.0, rng())
    program.save(tmp_path / "draws")
    loaded = ad.load(tmp_path / "draws", classes=[ad.random.Generator])
    r = rng()
    assert_array_equal(loaded(1.0, r), rng().normal(size=2))
    assert r.counter == 2


def test_refusals():
    r = rng()
    with pytest.raises(TreeError, match="vmap: the same Generator stands in two places"):
        ad.vmap(lambda a, b: a.random() + b.random(), axis_size=2)(r, r)
    with pytest.raises(TreeError, match="two places"):
        ad.scan(lambda c, _: (c, None), [r, r], length=2)
    with pytest.raises(TraceError, match="the condition drew random numbers"):
        ad.while_loop(lambda s: s[1] < s[0].random(), lambda s: (s[0], s[1] + 1.0), (r, 0.0))
    rule = ad.custom_rule(lambda x, r: x * r.random(), vjp=lambda x, r: (x, lambda ct: (ct, None)))
    with pytest.raises(RuleError, match="takes no random generator"):
        ad.grad(rule)(1.0, r)
    assert r.counter == 0


def test_everything_inside_everything():
    def body(carry, _):
        r, t = carry
        z = ad.vmap(lambda y, r: y + r.normal())(np.zeros(2), r)
        t = ad.cond(t > 0, lambda r, t: t - r.random(), lambda r, t: t + r.random() + r.random(), r, t)
        return (r, t), z

    def ours(t, r):
        (_, t), zs = ad.scan(body, (r, t), length=3)
        return t, zs

    def plain(t, r):
        zs = []
        for _ in range(3):
            zs.append([g.normal() for g in r.split(2)])
            t = t - r.random() if t > 0 else t + r.random() + r.random()
        return t, zs

    ts, stack, expected = np.array([0.3, -0.2, -4.0]), rng().split(3), rng().split(3)
    t, zs = ad.vmap(ours)(ts, stack)
    lanes = list(expected)
    for lane, x in enumerate(ts):
        found = plain(x, lanes[lane])
        assert_allclose(t[lane], found[0], rtol=1e-14)
        assert_array_equal(zs[lane], found[1])
    assert_array_equal(stack.counter, [g.counter for g in lanes])
    assert_array_equal(ad.vmap(ad.grad(lambda t, r: ours(t, r)[0]))(ts, rng()), np.ones(3))


@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian"])
def test_a_derivative_draws_as_often_as_the_function(name):
    r = rng()
    getattr(ad, name)(lambda x, r: np.sin(x * r.normal()))(1.0, r)
    assert r.counter == 1
