"""The idioms that dispatch cannot reach, in every transformation, against differences."""

from __future__ import annotations

import bisect
import cmath
import functools
import heapq
import math
import numbers
import statistics
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import TraceError


def filled(x: Any) -> Any:
    z = np.zeros(4)
    for i in range(3):
        z[i] = x[i] ** 2
    z[1:3] *= x[0]
    z[3] = math.exp(-x[1])
    z[0] += z[3]
    return np.sum(z * np.arange(1.0, 5.0))


def matrix(x: Any) -> Any:
    a, b, c = x
    m = np.array([[a, 1.0], [2.0, b]])
    np.fill_diagonal(m, m.diagonal() * c)
    m[:, 0] -= 0.5 * b
    return np.linalg.det(m) + m[0, 1]


def in_place(x: Any) -> Any:
    z = np.ones(3)
    np.add.at(z, [0, 1, 1], x)
    np.multiply(z, x, out=z)
    np.put(z, [2], x[0] * x[1])
    w = np.empty_like(z)
    np.copyto(w, z)
    z[:] = 0.0
    return np.sum(w * w) + np.sum(z)


def mathematics(x: Any) -> Any:
    a, b, c = (float(v) for v in x)
    angle = math.atan2(a, b) + math.hypot(a, c) + math.log(c, 2.0) + math.fabs(a - 3.0)
    return angle + math.fsum([a, b, c]) + math.prod([a, b]) + math.erf(a) + math.gamma(c) + divmod(c, 0.7)[1]


def complexes(x: Any) -> Any:
    z = cmath.exp(complex(0.0, 1.0) * x[0]) * cmath.sqrt(x[1] + 0j)
    return abs(z * z + x[2]) + z.real + cmath.phase(z)


def library(x: Any) -> Any:
    values = [v * v for v in x]
    middle = statistics.mean(values) + statistics.stdev(values) + statistics.median(values)
    total = functools.reduce(lambda p, q: p + 0.5 * q, values, 0.0)
    return middle + total + sorted(values)[0] + round(x[1], 3) * 0.0 + max(values) + min(x)


def containers(x: Any) -> Any:
    """Order decides what becomes of an element: such containers ask, and are guards while a function compiles."""
    heap: list[Any] = []
    for v in x:
        heapq.heappush(heap, v * v)
    ordered = sorted(heap, key=lambda v: -v)
    bisect.insort(ordered, x[0] + 5.0)
    return heapq.heappop(heap) * ordered[0] + ordered[-1] ** 2


def scalars(x: Any) -> Any:
    y = x[0] * np.ones(4) if np.isscalar(x[0]) else x[0]
    z = 2.0 if isinstance(x, np.ndarray) else 3.0
    w = 5.0 if isinstance(x[1], float) and isinstance(x[1], numbers.Number) else 7.0
    u = 1.0 if hasattr(x, "__len__") and not hasattr(x[0], "__len__") else 0.0
    v = 1.5 if type(x) is np.ndarray and not callable(x) else 0.0
    try:
        float(x[2])
        t = 1.0
    except TypeError:
        t = 100.0
    return np.sum(y) * z + w * x[1] + u * v * x[2] ** 2 * t


def texts(x: Any) -> Any:
    names = {f"value {i}": v for i, v in enumerate(x)}
    label = "large" if f"{1.0:.1f}" == "1.0" else "small"
    assert x[0] > -10, f"{x[0]:.3f} is too small"
    return names["value 0"] * names["value 1"] + len(label) * x[2]


class Particle:
    def __init__(self, position: Any, speed: Any) -> None:
        self.position, self.speed = position, speed
        self.path = [position]

    @property
    def energy(self) -> Any:
        return 0.5 * math.pow(self.speed, 2)

    def step(self, h: float) -> None:
        if self.position > 1.0 or self.position < -1.0:
            self.speed = -self.speed
        self.speed -= h * math.sin(self.position)
        self.position += h * self.speed
        self.path.append(self.position)

    def __rmul__(self, factor: Any) -> Particle:
        return Particle(factor * self.position, math.tanh(factor) * self.speed)


def objects(x: Any) -> Any:
    particle = x[2] * Particle(x[0], x[1])
    for _ in range(20):
        particle.step(0.1)
    return particle.position + particle.energy + 0.1 * np.mean(np.array(particle.path))


def loops(x: Any) -> Any:
    total, n = 0.0, 0
    for i, (a, b) in enumerate(zip(np.linspace(0.1, 1.0, 12), reversed(np.linspace(0.2, 0.9, 12)))):
        if i % 3 == 1:
            continue
        y = a * x[0] + b
        while y > 0.2:
            y = y * 0.6 - 0.01 * x[1]
            n += 1
        else:
            total += 0.5 * x[2]
        if total > 3.5:
            break
        total += y * i
    return total + 0.01 * n


def recursion(x: Any, depth: int = 4) -> Any:
    if depth == 0:
        return math.sin(x[0])
    left = recursion(x * 0.9, depth - 1)
    return left + x[1] * recursion(x + 0.1, depth - 1) if depth > 2 else left * x[2]


IDIOMS = [filled, matrix, in_place, mathematics, complexes, library, scalars, texts, objects, loops, recursion]
X = np.array([0.7, 0.4, 1.3])


def differences(f: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        e = np.eye(3)[i] * 1e-4
        coarse, fine = (f(X + e) - f(X - e)) / 2e-4, (f(X + e / 2) - f(X - e / 2)) / 1e-4
        out[i] = (4 * fine - coarse) / 3
    return out


@pytest.mark.parametrize("f", IDIOMS)
class TestIdioms:
    def test_gradient(self, f: Any) -> None:
        value, gradient = ad.value_and_grad(f)(X)
        np.testing.assert_allclose(value, f(X), rtol=1e-14)
        np.testing.assert_allclose(gradient, differences(f), rtol=1e-7, atol=1e-7)

    def test_tangent(self, f: Any) -> None:
        v = np.array([0.3, -1.0, 0.5])
        np.testing.assert_allclose(ad.jvp(f, (X,), (v,))[1], differences(f) @ v, rtol=1e-7, atol=1e-7)

    @pytest.mark.parametrize("branches", ["auto", "native", "guards"])
    def test_compiled(self, f: Any, branches: Any) -> None:
        fast = ad.jit(ad.value_and_grad(f), branches=branches)
        for x in (X, X * 1.01, X):
            value, gradient = fast(x)
            np.testing.assert_allclose(value, f(x), rtol=1e-12)
            np.testing.assert_allclose(gradient, ad.grad(f)(x), rtol=1e-9, atol=1e-12)

    def test_batch(self, f: Any) -> None:
        stack = np.stack([X, X * 0.8, X * 1.1])
        expected = [f(x) for x in stack]
        np.testing.assert_allclose(ad.vmap(f)(stack), expected, rtol=1e-12)
        np.testing.assert_allclose(ad.jit(ad.vmap(f))(stack), expected, rtol=1e-12)

    def test_in_a_body(self, f: Any) -> None:
        """As the body of a loop, of which only types are known."""
        stack = np.stack([X, X * 0.8, X * 1.1])
        last, values = ad.scan(lambda c, x: (c + f(x), f(x)), 0.0, stack)
        np.testing.assert_allclose(values, [f(x) for x in stack], rtol=1e-12)
        np.testing.assert_allclose(last, sum(f(x) for x in stack), rtol=1e-12)

    def test_second_order(self, f: Any) -> None:
        hessian = ad.jacfwd(ad.grad(f))(X)
        columns = [(ad.grad(f)(X + e) - ad.grad(f)(X - e)) / 2e-5 for e in 1e-5 * np.eye(3)]
        np.testing.assert_allclose(hessian, np.stack(columns, axis=1), rtol=1e-4, atol=1e-4)


def test_nothing_is_converted_when_nothing_is_refused() -> None:
    calls: list[str] = []

    def f(x: Any) -> Any:
        return np.sum(x**2)

    with config.override(convert=False):
        expected = ad.grad(f)(X)
    np.testing.assert_array_equal(ad.grad(f)(X), expected)
    assert calls == []


def test_effects_before_a_refusal_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        print("begun")
        seen.append(1.0)
        return math.sin(x)

    assert ad.grad(f)(0.0) == 1.0
    assert capsys.readouterr().out == "begun\n"
    assert len(seen) == 1


def test_a_write_into_an_array_of_the_caller_is_refused() -> None:
    outside = np.zeros(3)

    def f(x: Any) -> Any:
        outside[0] = x
        return x

    with pytest.raises(TraceError, match="has not made"):
        ad.grad(f)(1.0)
    np.testing.assert_array_equal(outside, 0.0)


def test_do_not_convert() -> None:
    @ad.do_not_convert
    def f(x: Any) -> Any:
        return math.sin(x)

    with pytest.raises(TraceError, match="math"):
        ad.grad(f)(0.0)


def test_an_exception_leaves_nothing_behind() -> None:
    class Box:
        value = 1.0

    box = Box()

    def f(x: Any) -> Any:
        box.value = 2.0
        z = np.zeros(2)
        z[0] = x
        if math.sin(x) < 2.0:
            raise KeyError("mine")
        return z[0]

    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            ad.grad(f)(1.0)
    assert ad.grad(lambda x: math.sin(x))(0.0) == 1.0


def test_containers_that_ask() -> None:
    value, gradient = ad.value_and_grad(containers)(X)
    np.testing.assert_allclose(value, containers(X), rtol=1e-14)
    np.testing.assert_allclose(gradient, differences(containers), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.grad(containers))(X), gradient, rtol=1e-12)


def test_ranges_with_ends_that_differ_from_item_to_item() -> None:
    """The end of the inner loop is an entry of a plain array, and not known while the outer one is traced once."""
    counts = np.array([3, 9, 0, 14, 1, 2, 7, 5, 11, 4])

    def f(x: Any) -> Any:
        total = 0.0
        for i in range(len(counts)):
            y = x
            for k in range(counts[i]):
                y = math.sin(y) + 0.1 * k
            total += y
        return total

    compiled = ad.jit(ad.value_and_grad(f))
    np.testing.assert_allclose(compiled(0.7), ad.value_and_grad(f)(0.7), rtol=1e-12)
    assert "unrolled" not in str(compiled.report())


def test_functions_of_math_compute_in_double_precision() -> None:
    x = np.array([0.3, 0.7], np.float32)
    f = lambda x: math.hypot(x[0], x[1]) + math.sin(x[0])
    for value, gradient in (ad.value_and_grad(f)(x), ad.jit(ad.value_and_grad(f))(x)):
        assert value == f(x)
        assert gradient.dtype == np.float32


@pytest.mark.parametrize(
    "function, x",
    [
        (math.sin, 0.3),
        (scipy.special.logsumexp, np.array([0.3, 0.7])),
        (functools.partial(scipy.special.logsumexp, b=2.0), np.array([0.3, 0.7])),
        (scipy.linalg.det, np.array([[2.0, 0.1], [0.3, 1.5]])),
        (scipy.stats.norm.logpdf, 0.3),
        (scipy.optimize.rosen, np.array([0.3, 0.7])),
    ],
    ids=["math", "special", "partial", "linalg", "stats", "optimize"],
)
def test_functions_of_libraries_are_transformed_as_they_stand(function: Any, x: Any) -> None:
    slope = np.zeros(np.shape(x))
    for index in np.ndindex(np.shape(x)):
        step = np.zeros(np.shape(x))
        step[index] = 1e-6
        plain = [function(float(v) if np.ndim(v) == 0 else v) for v in (x + step, x - step)]
        slope[index] = (plain[0] - plain[1]) / 2e-6
    many = np.stack([x, 2.0 * np.asarray(x)])
    for gradient in (ad.grad(function), ad.jit(ad.grad(function))):
        np.testing.assert_allclose(gradient(x), slope, rtol=1e-7)
    np.testing.assert_allclose(ad.vmap(function)(many)[0], function(x), rtol=1e-12)
