"""Stores of converted code: what NumPy's own assignment does to plain arrays."""

from collections import defaultdict

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import TraceError

X = np.array([1.0, 2.7])
LABELS = np.arange(80) % 7


def element(x):
    k = np.zeros(2, int)
    k[0] = x[1]
    return np.sum(x) * k[0]


def whole(x):
    k = np.zeros(2, int)
    k[:] = x
    return np.sum(x) * k[1]


def in_a_list(x):
    k = np.zeros(2, int)
    k[[1]] = [x[1]]
    k[0] += int(x[1])
    return np.sum(x) * k[0] * k[1] / 2


@pytest.mark.parametrize("f", [element, whole, in_a_list])
def test_an_array_of_whole_numbers_takes_whole_parts(f) -> None:
    """k[i] = x cuts x off, as NumPy does: k has no slope, and f is 2 Σ x around here."""
    assert f(X) == pytest.approx(2 * 3.7)
    for found in (ad.grad(f)(X), ad.jit(ad.grad(f))(X), ad.vmap(ad.grad(f))(np.stack([X, X]))[0]):
        np.testing.assert_array_equal(found, [2.0, 2.0])
    assert ad.jvp(f, (X,), (X,))[1] == pytest.approx(2 * 3.7)
    assert ad.scan(lambda c, x: (c + f(x), None), 0.0, np.stack([X, X]))[0] == pytest.approx(4 * 3.7)


def scaled_and_written(x, t):
    y = x * 1.0
    y[1] = t * y[0]
    return np.sum(y * y)


def negated_and_written(x, t):
    y = -x
    y[1] = -t * y[0]
    return np.sum(y * y)


@pytest.mark.parametrize("f", [scaled_and_written, negated_and_written])
def test_a_result_of_an_operator_takes_values_of_the_transformation_that_runs(f) -> None:
    """x is traced further out than t; the array that is written to was made inside."""
    x, s = np.array([0.3, 0.5, 0.9]), np.array([1.0, 2.0])
    batched = lambda x: ad.vmap(lambda t: f(x, t))(s)
    np.testing.assert_allclose(ad.jit(batched)(x), [f(x, t) for t in s])
    slopes = [2 * 0.3 * (2 + np.sum(s * s)), 0.0, 4 * 0.9]
    for gradient in (ad.grad(lambda x: np.sum(batched(x))), ad.jit(ad.grad(lambda x: np.sum(batched(x))))):
        np.testing.assert_allclose(gradient(x), slopes)


def _listed_views(x):
    x, s = x.copy(), x[0, 0] + 2.0
    while s > 0.1:
        seen = [x.T, x[1:]]
        x[0] = 0.5 * seen[0][1] + np.sum(seen[1][:, 0])
        s = s * 0.5
    return x


def _views_in_branches(x):
    x = x.copy()
    for i in range(6):
        if x[i % 4, 0] > 0:
            rows = {"all": x.T, "first": x[0]}
            x[i % 4] = np.tanh(rows["all"][i % 4] + rows["first"])
        else:
            x[i % 4] += 0.3
    return x


@pytest.mark.parametrize("f", [_listed_views, _views_in_branches], ids=lambda f: f.__name__)
def test_views_that_a_container_holds_while_their_array_is_written_to(f) -> None:
    """A body is traced until its types settle: views of an attempt before are none of this one."""
    x = np.random.default_rng(1).normal(size=(4, 4))
    np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-13)
    gradient = ad.grad(lambda x: np.sum(np.sin(f(x))))
    np.testing.assert_allclose(ad.jit(gradient)(x), gradient(x), rtol=1e-12, atol=1e-14)


READERS = {  # functions of an array that read it by its own name, too
    "scan": lambda x, b: ad.scan(lambda c, k: (0.5 * c + x * k, None), x, np.arange(2.0))[0],
    "fori_loop": lambda x, b: ad.fori_loop(0, 2, lambda k, c: 0.3 * c * x, x),
    "cond": lambda x, b: ad.cond(b > 0.2, lambda z: z * 1.0, lambda z: 2 * z + np.tanh(x), x),
    "checkpoint": lambda x, b: ad.checkpoint(lambda z: z * x)(x),
    "grad": lambda x, b: ad.grad(lambda z: np.sum(0.5 * z * z * x))(x),
    "vmap of cond": lambda x, b: ad.vmap(lambda z: ad.cond(z > 0.3, lambda z: z * x[0], lambda z: z + x[1], z))(x),
}


def _pulled(x, b):
    """The derivative at what x held, not at what it holds."""
    _, pull = ad.vjp(lambda z: np.sum(z * z * x * x), x)
    x[1] += 1.0
    return pull(0.1)[0]


@pytest.mark.parametrize("reader", [*READERS.values(), _pulled], ids=[*READERS, "vjp"])
def test_a_function_inside_a_loop_reads_what_was_written(reader) -> None:
    def f(x, b):
        x, n = x.copy(), 0
        while n < 5 + 0 * b:
            s = reader(x, b)
            x[n % 2] = np.tanh(s[n % 2])
            n += 1
        return x

    for b in (-1.0, 1.0):
        np.testing.assert_allclose(ad.jit(f)(X, b), f(X, b), rtol=1e-13)
    stacked = ad.jit(ad.vmap(f, in_axes=(None, 0)))(X, np.array([-1.0, 1.0]))
    np.testing.assert_allclose(stacked, [f(X, -1.0), f(X, 1.0)], rtol=1e-13)


MAKING = {
    "ufunc": lambda x, b: np.sin(x),
    "subtract": lambda x, b: np.subtract(x, 1.0),
    "absolute": lambda x, b: abs(x),
    "tile": lambda x, b: np.tile(x, 2),
    "roll": lambda x, b: np.roll(x, 1),
    "row": lambda x, b: np.outer(x, x)[0],
    "index": lambda x, b: x[[2, 0, 1]],
    "mask": lambda x, b: x[np.array([True, False, True])],
    "draw": lambda x, b: np.random.default_rng(0).normal(size=3),
    "own": lambda x, b: own_function(x),
    "span": lambda x, b: np.linspace(0.0, 1.0, 3),
}


def own_function(x):
    y = np.cos(x)
    return np.exp(y) - 1.0


def written_by_name(x, b, make):
    z = make(x, b)
    z[0] = b * b
    z[1:] *= b
    return np.sum(z * z)


def written_by_view(x, b, make):
    w = make(x, b)
    z = w[1:]
    z -= b * x[0]
    z[0] = b
    return np.sum(w * w)


def written_in_a_loop(x, b, make):
    z = make(x, b)
    n = 0
    while n < 3:
        z -= b * z[0]
        n += 1
    return np.sum(z * z)


@pytest.mark.parametrize("make", MAKING.values(), ids=MAKING)
@pytest.mark.parametrize("f", [written_by_name, written_by_view, written_in_a_loop])
def test_an_array_that_a_call_or_an_index_made_takes_traced_values(f, make) -> None:
    """b is traced alone: what is made of x is plain, or of the compiled function around."""
    x, b, h = np.array([0.4, 1.3, 0.8]), 0.7, 1e-6
    expected = (f(x, b + h, make) - f(x, b - h, make)) / (2 * h)
    gradient = ad.grad(lambda b, x: f(x, b, make))
    for found in (gradient(b, x), ad.jit(gradient)(b, x), ad.vmap(gradient, in_axes=(0, None))(np.array([b]), x)[0]):
        assert found == pytest.approx(expected, rel=1e-7)


def test_an_array_that_somebody_else_holds_is_not_taken_for_new() -> None:
    class Holder:
        def __init__(self):
            self.array = np.zeros(3)

        def part(self):
            return self.array[:2]

    holder, kept = Holder(), [np.zeros(3)]
    for read in (lambda x: holder.array, lambda x: holder.part(), lambda x: kept[0], lambda x: np.asarray(x)):

        def f(b, x, read=read):
            z = read(x)
            z[0] = b
            return np.sum(z)

        for gradient in (ad.grad(f), ad.jit(ad.grad(f))):
            with pytest.raises(TraceError):
                gradient(0.7, np.ones(3))
    assert not holder.array.any()
    assert not kept[0].any()


def beside_a_number(x, b):
    y, n = x * 1.0, 0
    y += b
    return np.sum(y * y) + n


def beside_another(x, b):
    (y, z) = (np.copy(x), x + 0)
    for i in range(2):
        y[i] += b[i] * z[0]
        z[i] = y[i]
    return np.sum(y * z)


@pytest.mark.parametrize("f", [beside_a_number, beside_another])
def test_new_arrays_that_are_assigned_together_take_traced_values(f) -> None:
    """x is plain where b is traced, and a result of x alone is written to."""
    b, d = np.array([0.5, 0.3]), np.array([0.2, -0.7])
    expected = (f(X, b + 1e-6 * d) - f(X, b - 1e-6 * d)) / 2e-6
    for to_b in (ad.grad(f, argnums=1)(X, b), ad.jit(ad.grad(f, argnums=1))(X, b)):
        assert to_b @ d == pytest.approx(expected, rel=1e-8)


class Counter:
    count = 0


def count_by_class(x):
    Counter.count = 0
    for _ in range(40):
        Counter.count += 1
        x = x + np.sin(x) * 1e-3 * np.cos(x) * Counter.count
    return x


def test_attributes_of_classes_in_loops() -> None:
    """A compiled call would not write them: it runs as plain Python, and says so."""
    expected = count_by_class(0.3)
    slope = np.imag(count_by_class(0.3 + 1e-30j)) / 1e-30
    Counter.count = 7
    assert ad.grad(count_by_class)(0.3) == pytest.approx(slope, rel=1e-12)
    for function, result in ((count_by_class, expected), (ad.grad(count_by_class), slope)):
        Counter.count = 7
        compiled = ad.jit(function)
        with pytest.warns(RuntimeWarning, match=r"changes Counter\.count"):
            assert compiled(0.3) == pytest.approx(result, rel=1e-12)
        assert Counter.count == 40
        assert compiled(0.3) == pytest.approx(result, rel=1e-12)


def by_group(x):
    groups = defaultdict(list)
    for i, label in enumerate(LABELS):
        groups[int(label)].append(x[i])
    return sum(k * sum(values) for k, values in groups.items())


def by_methods(x):
    c = np.zeros(3)
    c.__setitem__(0, x[0])
    c.__iadd__(x[1])
    return np.sum(c * c)


@pytest.mark.parametrize("f", [by_group, by_methods])
def test_containers_and_arrays_written_otherwise(f) -> None:
    """What a defaultdict makes by itself; the methods behind the operators."""
    x = np.linspace(0.0, 1.0, 80)
    slope = lambda i: (f(x + 1e-6 * (np.arange(80) == i)) - f(x - 1e-6 * (np.arange(80) == i))) / 2e-6
    for gradient in (ad.grad(f), ad.jit(ad.grad(f))):
        assert gradient(x)[:9] == pytest.approx([slope(i) for i in range(9)], rel=1e-6, abs=1e-8)
    assert ad.jit(f)(x) == pytest.approx(f(x), rel=1e-14)
