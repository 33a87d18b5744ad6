"""jit: the same results as the function, for every kind of argument, on every way through it."""

import copy
import pickle
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import DtypeError, TraceError
from adjoint.jit import function


def same(found: Any, expected: Any) -> None:
    """Equal trees, equal shapes and dtypes, equal numbers."""
    a, s = ad.tree.flatten(found)
    b, t = ad.tree.flatten(expected)
    assert s == t
    for x, y in zip(a, b, strict=True):
        if isinstance(y, str | bool):
            assert x is y
            continue
        assert np.shape(x) == np.shape(y)
        assert np.asarray(x).dtype == np.asarray(y).dtype
        single = np.asarray(y).dtype.char in "fF"
        np.testing.assert_allclose(x, y, rtol=1e-6 if single else 1e-12, atol=1e-14)


x3 = np.array([0.3, -0.4, 1.2])


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Layer:
    weight: Any
    bias: Any
    name: str = "layer"


CALLS = {
    "number": (lambda x: x * 2, (1.5,)),
    "int": (lambda n: n * 2, (3,)),
    "complex": (lambda z: z * z, (1 + 2j,)),
    "array": (lambda x: np.sin(x) @ x, (x3,)),
    "float32": (lambda x: np.exp(x), (x3.astype(np.float32),)),
    "int array": (lambda i: i // 2, (np.arange(5),)),
    "bool array": (lambda m: ~m, (np.array([True, False]),)),
    "list": (lambda xs: xs[0] + xs[1], ([x3, 2.0],)),
    "dict": (lambda p: {"y": p["w"] @ p["x"]}, ({"w": x3, "x": x3},)),
    "named tuple": (lambda p: Pair(p.b, p.a * 2), (Pair(x3, 1.0),)),
    "dataclass": (lambda p, x: Layer(p.weight * x, p.bias + 1, p.name), (Layer(x3, 1.0), 2.0)),
    "empty": (lambda x: np.sum(x), (np.zeros(0),)),
    "none": (lambda x, y: (None, x), (x3, None)),
    "constants": (lambda x: (x, 3, "text", True, np.arange(2.0), None), (x3,)),
    "string": (lambda x, how: x + 1 if how == "up" else x - 1, (x3, "up")),
    "flag": (lambda x, up: x + 1 if up else x - 1, (x3, False)),
    "callable": (lambda f, x: f(x), (np.tanh, x3)),
    "argument itself": (lambda x: x, (x3,)),
    "twice": (lambda x: (x + 1, x + 1, x), (x3,)),
    "scalar": (lambda x: x + 1, (np.float32(3),)),
    "0-d": (lambda x: x + 1, (np.array(3.0),)),
    "transposed": (lambda x: x.T @ x, (np.arange(6.0).reshape(2, 3).T,)),
    "strided": (lambda x: x + 1, (np.arange(10.0)[::2],)),
    "big endian": (lambda x: x + 1, (np.arange(3.0).astype(">f8"),)),
    "large int": (lambda n: n // 2**70, (2**80,)),
    "assignment": (lambda x: ad.numpy.zeros(3) + x, (x3,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_the_function(name: str) -> None:
    function, args = CALLS[name]
    fast = ad.jit(function)
    for _ in range(3):
        same(fast(*args), function(*args))


def test_python_numbers_give_way_in_promotion_as_in_numpy() -> None:
    x = x3.astype(np.float32)
    function = lambda rate, n, x: ((rate / 2) * x, (n + 1) * x, rate**2 * x, -rate * x, abs(n) % 3 * x)
    same(ad.jit(function)(0.5, 2, x), function(0.5, 2, x))
    strong = lambda rate, x: np.sin(rate) * x  # a ufunc makes a NumPy scalar of it
    assert ad.jit(strong)(0.5, x).dtype == strong(0.5, x).dtype == np.float64


def test_python_numbers_give_way_inside_loops_and_branches() -> None:
    x = x3.astype(np.float32)

    def f(rate: float, n: int, x: Any) -> Any:
        y, _ = ad.scan(lambda c, b: (c + (rate / 2) * b, None), np.float32(0), x)
        z = ad.cond(y > 0, lambda x: -rate * x * n, lambda x: x * (n + 1), x)
        return y, z, ad.vmap(lambda x: x * (rate + 1))(x), ad.grad(lambda x: np.sum(x**2 * (2 * rate)))(x)

    same(ad.jit(f)(0.5, 2, x), f(0.5, 2, x))


def test_whole_numbers_of_pythons() -> None:
    power = ad.jit(lambda n, k: n**k)
    for n, k in ((3, 4), (2, -2), (10, 30), (3, 5), (2, 61), (2, 62), (-7, 3), (2, 200)):
        assert power(n, k) == n**k
        assert isinstance(power(n, k), int | np.integer) == isinstance(n**k, int)
    product = ad.jit(lambda n: n * n)
    assert [product(10**k) for k in (3, 12, 4, 18)] == [10**6, 10**24, 10**8, 10**36]
    divide = ad.jit(lambda n, m: (n // m, n % m, n / m))
    same(divide(-7, 2), (-4, 1, -3.5))
    with pytest.raises(ZeroDivisionError):
        divide(1, 0)
    assert divide(9, 4) == (2, 1, 2.25)


def test_results_are_new_memory() -> None:
    x, constant = np.arange(3.0), np.arange(2.0)
    fast = ad.jit(lambda x: (x, x[1:], np.reshape(x, (3, 1)), constant))
    before = fast(x)
    for part in before:
        assert not np.shares_memory(part, x)
        assert not np.shares_memory(part, constant)
        part[...] = 99.0
    np.testing.assert_array_equal(x, [0, 1, 2])
    np.testing.assert_array_equal(fast(x)[0], [0, 1, 2])
    np.testing.assert_array_equal(fast(x)[3], [0, 1])


@dataclass(slots=True)
class Slotted:
    weight: Any


def test_dataclasses_are_read_without_python_code() -> None:
    fast = ad.jit(lambda p, x: Layer(p.weight * x, p.bias, p.name))
    p = Layer(x3, 1.0)
    for _ in range(4):
        same(fast(p, 2.0), Layer(x3 * 2.0, 1.0))
    assert dict(fast.calls) == {0: 3}
    p.weight = x3 + 1
    same(fast(p, 2.0), Layer((x3 + 1) * 2.0, 1.0))
    p.name = "other"
    assert fast(p, 2.0).name == "other"
    same(fast(Layer(x3[:2], 1.0), 2.0), Layer(x3[:2] * 2.0, 1.0))
    slow = ad.jit(lambda p: p.weight * 2)
    for _ in range(2):
        same(slow(Slotted(x3)), x3 * 2)


def test_results_that_are_no_values_are_refused() -> None:
    with pytest.raises(DtypeError, match=r"result\[1\] is a object"):
        ad.jit(lambda x: (x, object()))(1.0)


def test_old_kinds_of_arguments_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function, "MOST_SIGNATURES", 3)
    fast = ad.jit(lambda how, x: x + len(how) - 1)
    for k in range(6):
        assert fast(str(k), 1.0) == 1.0
    assert len(fast.guarded_programs) == len(fast.specializations) == 3
    assert fast("0", 2.0) == 2.0


def test_programs_for_arrays_without_elements_are_matched() -> None:
    """How such an array lies in memory means nothing, also where a program depends on that of another argument."""
    fast = ad.jit(lambda x, empty: x.item() ** 2 + len(empty))
    for _ in range(2):
        assert fast(np.array([2.0]), np.zeros(0)) == 4.0
    assert len(fast.specializations) == 1


def test_keywords_and_defaults() -> None:
    def f(x: Any, y: Any = 2.0, *, z: Any = 3.0) -> Any:
        return x + 10 * y + 100 * z

    fast = ad.jit(f)
    assert fast(1.0) == f(1.0)
    assert fast(1.0, z=1.0) == f(1.0, z=1.0)
    assert fast(x=1.0, y=5.0) == f(x=1.0, y=5.0)
    assert fast.__name__ == "f"
    with pytest.raises(TypeError):
        fast()


class TestStatic:
    def test_names_and_numbers(self) -> None:
        def f(x: Any, n: int, how: Any = None) -> Any:
            assert isinstance(n, int)
            return x * n if how is None else how(x)

        for fast in (ad.jit(f, static_argnames="n"), ad.jit(f, static_argnums=1), ad.jit(f, static_argnums=(-2,))):
            assert fast(1.0, 3) == 3.0
            assert fast(1.0, n=4) == 4.0
            assert fast(2.0, 3, np.sqrt) == np.sqrt(2.0)

    def test_refusals(self) -> None:
        with pytest.raises(TypeError, match="no argument of that name"):
            ad.jit(lambda x: x, static_argnames="y")
        with pytest.raises(TypeError, match=r"sizes is static.*hashable"):
            ad.jit(lambda sizes: 1, static_argnames="sizes")([1, 2])
        with pytest.raises(DtypeError, match=r"argument x is a object.*static_argnames"):
            ad.jit(lambda x: x)(object())
        with pytest.raises(DtypeError, match=r"argument x has dtype .*extended precision"):
            ad.jit(lambda x: x)(np.ones(2, np.longdouble))
        with pytest.raises(TypeError, match="needs a function"):
            ad.jit(3.0)  # type: ignore[call-overload]

    def test_decorator_with_options(self) -> None:
        @ad.jit(static_argnames=("n",))
        def f(x: Any, n: int) -> Any:
            return np.sum(np.stack([x] * n))

        assert f(2.0, 3) == 6.0


class Model:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @ad.jit
    def __call__(self, x: Any) -> Any:
        return self.scale * x

    @ad.jit
    def branch(self, x: Any) -> Any:
        return self(x) if x > 0 else -x


def test_methods() -> None:
    a, b = Model(2.0), Model(3.0)
    assert (a(1.0), b(1.0), a.branch(2.0), b.branch(-2.0)) == (2.0, 3.0, 4.0, 2.0)
    same(ad.jit(a.branch)(4.0), 8.0)


def module_function(x: Any) -> Any:
    return np.sin(x) * 2.0


def test_pickle_and_copy() -> None:
    fast = ad.jit(module_function)
    fast(1.0)
    for other in (pickle.loads(pickle.dumps(fast)), copy.copy(fast), copy.deepcopy(fast)):
        assert other(1.0) == fast(1.0)
    made = ad.jit(ad.grad(module_function))
    assert pickle.loads(pickle.dumps(made))(1.0) == made(1.0)


def test_threads() -> None:
    traces = 0

    @ad.jit
    def f(x: Any) -> Any:
        nonlocal traces
        traces += 1
        return np.sum(np.sin(x) * np.cos(x)) if np.sum(x) > 0 else x[0]

    found: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            x = rng.standard_normal(5)
            expected = np.sum(np.sin(x) * np.cos(x)) if np.sum(x) > 0 else x[0]
            found.append(abs(f(x) - expected))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert max(found) < 1e-12
    assert traces == 2


def test_numpys_generators_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(TraceError, match=r"ad\.random"):
        ad.jit(lambda x: x + rng.normal())(1.0)


def test_random_generators_move_on_as_eagerly() -> None:
    def f(rng: Any, x: Any) -> Any:
        return x + rng.normal(size=3)

    fast = ad.jit(f)
    a, b = ad.random.default_rng(0), ad.random.default_rng(0)
    for _ in range(3):
        same(fast(a, x3), f(b, x3))
    assert a.counter == b.counter
    returned, _ = ad.jit(lambda rng, x: (rng, x))(a, 1.0)
    assert returned.shares(a)
