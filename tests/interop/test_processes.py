"""Processes, threads, tasks and pickles: derivatives are computed in all of them, and no trace is seen from outside."""

import asyncio
import copy
import multiprocessing
import pickle
import threading
from collections import OrderedDict
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import joblib
import numpy as np
import pytest

import adjoint as ad
from adjoint.base import errors
from adjoint.base.errors import LeakError

X = np.array([0.3, -0.7, 1.1])


def energy(x):
    """A function that processes can find by its name."""
    return np.sum(np.tanh(x) * x) + np.prod(np.cos(x))


def everything(seed):
    """Some of all transformations, as plain numbers."""
    x = np.random.default_rng(seed).normal(size=4)
    return (
        ad.grad(energy)(x).tolist(),
        ad.hessian(energy)(x).tolist(),
        ad.vmap(ad.grad(np.sin))(x).tolist(),
        ad.jvp(energy, (x,), (x,))[1].tolist(),
        [float(d) for d in ad.jet(energy, (x,), ((x, x, x),))[1]],
        ad.grad(lambda x: ad.scan(lambda c, v: (np.sin(c * v), c), 1.0, x)[0])(x).tolist(),
    )


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children(method) -> None:
    if method not in multiprocessing.get_all_start_methods():
        assert method != "spawn"
        return
    ad.grad(energy)(X)  # the parent has used the library before
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        assert list(pool.map(everything, range(3))) == [everything(seed) for seed in range(3)]
        slopes = pool.map(ad.grad(energy), [X, 2 * X])
        np.testing.assert_array_equal(list(slopes), [ad.grad(energy)(X), ad.grad(energy)(2 * X)])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_inside_a_transformation() -> None:
    """A child born inside a traced function works for itself."""

    def f(x):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            slope = pool.submit(ad.grad(energy), X).result()
        return np.sum(x * slope)

    np.testing.assert_array_equal(ad.grad(f)(X), ad.grad(energy)(X))


def test_joblib() -> None:
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(ad.grad(energy))(X * k) for k in range(3))
    np.testing.assert_array_equal(found, [ad.grad(energy)(X * k) for k in range(3)])
    found = joblib.Parallel(n_jobs=2, prefer="threads")(joblib.delayed(everything)(k) for k in range(3))
    assert found == [everything(k) for k in range(3)]
    assert joblib.hash(ad.grad(energy)) == joblib.hash(ad.grad(energy))


def test_eight_threads() -> None:
    """Different functions at once, many times over: the same numbers as one after another."""
    work = {
        0: lambda k: ad.grad(energy)(X * k),
        1: lambda k: ad.hessian(energy)(X + k),
        2: lambda k: ad.vmap(ad.grad(lambda x: np.exp(-x) * x))(X * k),
        3: lambda k: ad.jacobian(lambda x: np.outer(x, x))(X - k),
        4: lambda k: np.array(ad.jet(np.sin, (0.1 * k,), ((1.0, 0.0, 0.0, 0.0),))[1]),
        5: lambda k: ad.grad(lambda x: ad.scan(lambda c, v: (c * v, c), x, X)[0])(0.5 + k),
        6: lambda k: ad.vmap(lambda x: x**2 if x > 0 else -x)(X * (k + 1)),
        7: lambda k: ad.grad(ad.grad(ad.grad(np.tanh)))(0.1 * k),
    }
    expected = {(i, k): f(k) for i, f in work.items() for k in range(10)}
    barrier = threading.Barrier(8)

    def run(i):
        barrier.wait()
        return {(i, k): work[i](k) for k in range(10)}

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(run, range(8)):
            for key, value in found.items():
                np.testing.assert_array_equal(value, expected[key])


def test_one_function_in_many_threads() -> None:
    """One transformed function, one pullback, one program, shared by all."""
    slope, (_, pullback), program = ad.grad(energy), ad.vjp(np.sin, X), ad.trace(ad.grad(energy))(X)
    with ThreadPoolExecutor(8) as pool:
        for k, found in enumerate(pool.map(lambda k: (slope(X * k), pullback(X * k)[0], program(X * k)), range(40))):
            expected = ad.grad(energy)(X * k)
            np.testing.assert_array_equal(found[0], expected)
            np.testing.assert_array_equal(found[1], X * k * np.cos(X))
            np.testing.assert_allclose(found[2], expected, rtol=1e-14)


def test_a_traced_value_in_another_thread() -> None:
    def f(x):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: np.sum(x * 2.0)).result()

    for call in (
        lambda: ad.grad(f)(X),
        lambda: ad.jvp(f, (X,), (X,)),
        lambda: ad.vmap(f)(np.stack([X, X])),
        lambda: ad.jet(f, (X,), ((X,),)),
        lambda: ad.trace(f)(X),
    ):
        with pytest.raises(LeakError, match="another thread"):
            call()


def test_tasks_that_take_turns() -> None:
    """Tasks interleave between awaits; a transformation runs within one turn."""

    async def work(k):
        found = []
        for step in range(3):
            await asyncio.sleep(0)
            found.append(ad.grad(lambda x: energy(x) * k)(X + step))
        return found

    async def run():
        return await asyncio.gather(*[work(k) for k in range(4)])

    for k, found in enumerate(asyncio.run(run())):
        np.testing.assert_allclose(found, [k * ad.grad(energy)(X + step) for step in range(3)])


def test_an_event_loop_inside_a_function() -> None:
    async def later(x):
        await asyncio.sleep(0)
        return np.sum(x**2)

    async def both(x):
        return sum(await asyncio.gather(later(x), later(2 * x)))

    np.testing.assert_allclose(ad.grad(lambda x: asyncio.run(both(x)))(X), 10 * X)


def test_generators() -> None:
    """A generator inside the function works; one that outlives it holds a value that has leaked."""

    def powers(x):
        y = x
        while True:
            yield y
            y = y * x

    def f(x):
        source = powers(x)
        return sum(next(source) for _ in range(4))

    assert ad.grad(f)(2.0) == pytest.approx(1 + 4 + 12 + 32)
    kept = []

    def leaking(x):
        kept.append(powers(x))
        return next(kept[-1])

    calls = (lambda: ad.grad(leaking)(2.0), lambda: ad.jvp(leaking, (2.0,), (1.0,)), lambda: ad.vmap(leaking)(X))
    for call in calls:
        call()
        with pytest.raises(LeakError, match="outlived"):
            next(kept[-1])


def test_an_error_leaves_nothing_behind() -> None:
    def f(x):
        raise KeyError("mine")

    for call in (
        lambda: ad.grad(f)(1.0),
        lambda: ad.vmap(f)(X),
        lambda: ad.jet(f, (1.0,), ((1.0,),)),
        lambda: ad.trace(f)(1.0),
    ):
        with pytest.raises(KeyError, match="mine"):
            call()
        assert ad.grad(np.sin)(0.0) == 1.0
        assert type(ad.numpy.zeros(2)) is np.ndarray, "no trace is live any more"


def step(carry, x):
    return np.sin(carry * x), carry


def looped(x):
    return ad.scan(step, x, X)[0]


PUBLIC = {
    "grad": (ad.grad(energy), (X,)),
    "value_and_grad": (ad.value_and_grad(energy), (X,)),
    "vmap": (ad.vmap(np.tanh), (X,)),
    "vmap of grad": (ad.vmap(ad.grad(np.tanh)), (X,)),
    "jacobian": (ad.jacobian(np.sin), (X,)),
    "jacfwd": (ad.jacfwd(np.sin), (X,)),
    "jacrev": (ad.jacrev(np.sin), (X,)),
    "hessian": (ad.hessian(energy), (X,)),
    "checkpoint": (ad.checkpoint(energy), (X,)),
    "linear_transpose": (ad.linear_transpose(np.cumsum, X), (X,)),
    "custom rule": (ad.custom_rule(jvp=everything)(np.sin), (X,)),
    "grad of a loop": (ad.grad(looped), (0.5,)),
    "program": (ad.trace(energy)(X), (X,)),
    "program of a gradient": (ad.trace(ad.grad(energy))(X), (X,)),
    "program of a loop": (ad.trace(ad.grad(looped))(0.5), (0.7,)),
    "unravel": (ad.tree.ravel({"a": X, "b": (1.0, 2.0)})[1], (np.arange(5.0),)),
    "generator": (ad.random.default_rng(3).spawn(2)[1].normal, (1.0, 2.0)),
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_objects_pickle(name) -> None:
    thing, args = PUBLIC[name]
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(thing, protocol))
        found, expected = ad.tree.leaves(again(*args)), ad.tree.leaves(copy.deepcopy(thing)(*args))
        assert len(found) == len(expected) > 0
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)


@ad.jit
def jitted(x):
    return np.sum(x**2)


@ad.grad
def slope(x):
    return np.sum(x**3)


@ad.checkpoint
def kept(x):
    return np.sum(x**4)


@ad.custom_rule(jvp=everything)
def ruled(x):
    return np.sin(x)


class Holder:
    @ad.jit
    def method(self, x):
        return 3 * x

    @staticmethod
    @ad.jit
    def plain(x):
        return 4 * x


@pytest.mark.parametrize("thing", [jitted, slope, kept, ruled, Holder.method, Holder.plain])
def test_decorated_functions_pickle_by_name(thing) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(thing, protocol)) is thing


def test_values_pickle() -> None:
    for value in (
        ad.tree.structure({"a": [1, (2, None)], "b": OrderedDict(c=3)}),
        ad.ArrayType((2, 3), np.dtype(np.float32)),
        ad.trace(looped)(0.5),
    ):
        assert pickle.loads(pickle.dumps(value)) == value
    for name in errors.__all__:
        error = getattr(errors, name)("what went wrong")
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
    check = errors.CheckError("x must be positive", [(1,), (3,)])
    assert str(pickle.loads(pickle.dumps(check))) == str(check)


def test_what_does_not_pickle_says_why() -> None:
    with pytest.raises(TypeError, match="record of a run"):
        pickle.dumps(ad.vjp(energy, X)[1])
    with pytest.raises(TypeError, match="record of a run"):
        pickle.dumps(ad.linearize(energy, X)[1])
    with pytest.raises(TypeError, match="pickling of a traced"):
        ad.grad(lambda x: pickle.dumps(x) and np.sum(x))(X)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(ad.grad(lambda x: x))


class Model:
    """A class with methods made by transformations."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def loss(self, x):
        return np.sum(x**2) * self.scale

    slope = ad.grad(loss, argnums=1)


def test_methods_in_processes() -> None:
    model = Model(2.0)
    np.testing.assert_array_equal(model.slope(X), 4 * X)
    again = pickle.loads(pickle.dumps(ad.grad(model.loss)))
    np.testing.assert_array_equal(again(X), 4 * X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).slope(X), 4 * X)
