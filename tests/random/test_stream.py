"""The state of a generator: positions, children, copies, threads, and what happens under replays."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

import adjoint as ad
from adjoint.base.errors import ShapeError, TraceError
from adjoint.random.bits import random_bits


def rng(seed=10):
    return ad.random.default_rng(seed)


def test_every_number_takes_one_position():
    r = rng()
    for draw, count in [
        (lambda: r.random(), 1),
        (lambda: r.normal(size=(2, 3)), 6),
        (lambda: r.standard_gamma(0.5, size=4), 4),
        (lambda: r.integers(10**12, size=5), 5),
        (lambda: r.poisson(50.0, size=3), 3),
        (lambda: r.permutation(7), 7),
        (lambda: r.spawn(2), 2),
        (lambda: r.split(3), 3),
        (lambda: r.at(3), 0),
        (lambda: r.bytes(9), 2),
    ]:
        before = int(r.counter)
        draw()
        assert int(r.counter) - before == count


def test_uniforms_are_the_words_of_the_stream():
    r = rng()
    assert_array_equal(r.random(5), (random_bits(r.key, 0, 5) >> np.uint64(11)) * 2.0**-53)
    assert_array_equal(r.random(2), (random_bits(r.key, 5, 2) >> np.uint64(11)) * 2.0**-53)


def test_children_are_independent_and_never_the_same_again():
    r = rng()
    children = r.spawn(3) + r.spawn(2) + list(rng(11).spawn(2))
    draws = [c.random(2000) for c in [*children, r, rng(), r.at(0), r.at(1), r.at(0).at(0)]]
    assert len({d.tobytes() for d in draws}) == len(draws)
    correlations = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)
    assert stats.kstest(np.concatenate(draws), "uniform").pvalue > 1e-3
    assert_array_equal([c.random() for c in rng().spawn(3)], [c.random() for c in rng().split(3)])


def test_at_depends_on_the_key_and_the_step_alone():
    r = rng()
    expected = r.at(5).random(3)
    r.random(100)
    assert_array_equal(r.at(5).random(3), expected)
    assert_array_equal(r.at(np.uint8(5)).random(3), expected)
    assert r.counter == 100
    looped = ad.scan(lambda c, i: (c, r.at(i).random(3)), 0.0, np.arange(7))[1]
    assert_array_equal(looped[5], expected)
    assert_array_equal(ad.vmap(lambda i: r.at(i).random(3))(np.arange(7)), looped)
    with pytest.raises(TypeError, match="a step is an integer"):
        r.at(1.5)


def test_stacks():
    stack = rng().split(4)
    assert len(stack) == 4
    assert [g.random() for g in stack] == [stack[i].random() for i in range(4)]
    assert len(stack[1:3]) == 2
    assert "stack of (4,)" in repr(stack)
    with pytest.raises(ShapeError, match="stack of 4 generators"):
        stack.random()
    with pytest.raises(TypeError, match="no length"):
        len(rng())
    with pytest.raises(TypeError, match="cannot be indexed"):
        rng()[0]
    with pytest.raises(ValueError, match="split"):
        rng().split(-1)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_copies_go_their_own_way(copied):
    r = rng()
    r.random(3)
    other = copied(r)
    assert repr(other) == repr(r)
    expected = r.random(4)
    assert other.counter == 3
    assert_array_equal(other.random(4), expected)
    stack = rng().split(2)
    assert_array_equal(copied(stack)[1].random(3), stack[1].random(3))


def test_threads_never_draw_the_same_number():
    r = rng()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: r.random(size=5), range(400)))
    assert r.counter == 2000
    assert_array_equal(np.sort(np.concatenate(found)), np.sort(rng().random(2000)))


def test_text():
    assert repr(rng()) == "Generator(key=d5db44a7d21e77e9, counter=0)"
    seen = []
    ad.vmap(lambda r: seen.append(repr(r)) or r.random())(rng().split(2))
    assert "Tracer(uint64[]" in seen[0]


def test_a_program_that_runs_again_must_be_given_its_generator():
    r = rng()
    for call in (
        lambda: ad.scan(lambda c, x: (c + r.random(), None), 0.0, length=3),
        lambda: ad.fori_loop(0, 3, lambda i, c: c + r.normal(), 0.0),
        lambda: ad.while_loop(lambda c: c < 3.0, lambda c: c + r.random(), 0.0),
        lambda: ad.while_loop(lambda c: c < r.random(), lambda c: c + 1.0, 0.0),
        lambda: ad.map(lambda x: x + r.random(), np.zeros(3)),
        lambda: ad.vmap(lambda x: ad.cond(x > 0, lambda: r.random(), lambda: 0.0))(np.ones(2)),
        lambda: ad.trace(lambda x: x + r.random())(1.0),
        lambda: ad.trace(lambda x: x + r.random(), concrete=True)(1.0),
        lambda: ad.scan(lambda c, x: (c, r.spawn(2)[0].random()), 0.0, length=3),
        # a generator of the outer body, in the inner one
        lambda: ad.scan(
            lambda g, _: (g, ad.scan(lambda c, x: (c + g.random(), None), 0.0, length=2)[0]), rng(), length=2
        ),
    ):
        with pytest.raises(TraceError, match=r"a random generator was used .* but came from outside"):
            call()
    assert r.counter == 0
    with pytest.raises(TraceError, match="no seed"):
        ad.map(lambda x: x + ad.random.default_rng().random(), np.zeros(3))
    # one that the body makes itself from a seed is the same in every turn, as it is in a plain loop
    inside = ad.map(lambda x: x + ad.random.default_rng(4).random(), np.zeros(3))
    assert_array_equal(inside, np.full(3, ad.random.default_rng(4).random()))
    with pytest.raises(TraceError, match=r"rng.at\(seed\)"):
        ad.map(lambda i: ad.random.default_rng(i).random(), np.arange(3))
