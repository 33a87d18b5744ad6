"""Primitives and transformations from outside the tree: a few lines, and everything works with them."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import extend


@extend.primitive
class Squash(extend.Elementwise):
    """z = x / (1 + |x|)."""

    def evaluate(self, *xs):
        return xs[0] / (1.0 + np.abs(xs[0]))

    def partials(self, xs, z):
        return ((1.0 - np.abs(z)) ** 2,)


@extend.primitive
class Mirror(extend.Linear):
    """The last axis back to front, with an alternating sign: its own adjoint."""

    def evaluate(self, *xs):
        return self.expand(xs[0])

    def expand(self, x):
        return np.flip(x, -1) * (-1.0) ** np.arange(x.shape[-1])

    def result_type(self, *types):
        return ad.ArrayType(types[0].shape, np.result_type(types[0].dtype, np.float64))

    def transpose(self, ct, xs):
        return (np.flip(ct * (-1.0) ** np.arange(ct.shape[-1]), -1),)

    def batch(self, xs, mapped, size):
        return self(xs[0])


@extend.primitive
class Kepler(extend.Pointwise, extend.Implicit):
    """z solves z + z³ = x, element by element."""

    @property
    def ufunc(self):
        return np.arctan

    def evaluate(self, *xs):
        return self.expand(xs[0])

    def expand(self, x):
        z = x / (1.0 + x * x) ** (1 / 3)
        for _ in range(30):
            z = z - (z + z**3 - x) / (1 + 3 * z**2)
        return z

    def push(self, xs, z, dxs):
        return dxs[0] / (1 + 3 * z**2)

    def pull(self, ct, xs, z, wanted):
        return (ct / (1 + 3 * z**2),)


@extend.primitive
class Iterate(extend.Composite):
    """A function, `times` times."""

    step: object
    times: int

    def expand(self, *xs):
        return (ad.fori_loop(0, self.times, lambda i, x: self.step(x, *xs[1:]), xs[0]),)


def logistic_step(x, rate):
    return rate * x * (1 - x)


X = np.array([-1.5, -0.2, 0.3, 2.0])
FUNCTIONS = {
    "smooth": (lambda x: Squash()(x), lambda x: x / (1 + np.abs(x))),
    "linear": (lambda x: Mirror()(x), lambda x: np.flip(x, -1) * (-1.0) ** np.arange(x.shape[-1])),
    "implicit": (lambda x: Kepler()(x), lambda x: np.sinh(np.arcsinh(x * 1.5 * math.sqrt(3)) / 3) * 2 / math.sqrt(3)),
    "control": (
        lambda x: Iterate(logistic_step, 3)(0.2 * x, 1.2)[0],
        lambda x: logistic_step(logistic_step(logistic_step(0.2 * x, 1.2), 1.2), 1.2),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_every_mode(name):
    f, reference = FUNCTIONS[name]
    np.testing.assert_allclose(f(X), reference(X), rtol=1e-12)
    loss = lambda g: lambda x: np.sum(np.cos(g(x)) * np.arange(1.0, 5.0))
    np.testing.assert_allclose(ad.grad(loss(f))(X), ad.grad(loss(reference))(X), rtol=1e-10)
    np.testing.assert_allclose(ad.jvp(f, (X,), (X + 1,))[1], ad.jvp(reference, (X,), (X + 1,))[1], rtol=1e-10)
    np.testing.assert_allclose(ad.hessian(loss(f))(X), ad.hessian(loss(reference))(X), rtol=1e-9, atol=1e-10)
    rows = np.stack([X, 2 * X, X - 0.1])
    np.testing.assert_allclose(ad.vmap(f)(rows), np.stack([reference(r) for r in rows]), rtol=1e-12)
    mine, theirs = (ad.jet(g, (X,), ((np.ones(4), 0 * X, 0 * X),)) for g in (f, reference))
    np.testing.assert_allclose(np.stack(mine[1]), np.stack(theirs[1]), rtol=1e-8, atol=1e-9)
    ad.check_grads(loss(f), (X,))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_native_code_without_a_lowering(name):
    f, reference = FUNCTIONS[name]
    loss = lambda x: np.sum(np.cos(f(x)))
    fast = ad.jit(ad.value_and_grad(loss))
    value, gradient = fast(X)
    assert value == pytest.approx(np.sum(np.cos(reference(X))), rel=1e-12)
    np.testing.assert_allclose(gradient, ad.grad(lambda x: np.sum(np.cos(reference(x))))(X), rtol=1e-10)
    (made,) = fast.report().specializations
    assert made.how == "compiled"
    assert not made.callbacks


@pytest.mark.parametrize("name", FUNCTIONS)
def test_cost_memory_sparsity_and_explanation(name):
    f, _ = FUNCTIONS[name]
    cost = ad.cost(lambda x: np.sum(f(x)))(X)
    assert cost.value.flops + cost.value.calls > 3
    assert not cost.value.unmodeled
    assert ad.memory_report(lambda x: np.sum(f(x)))(X).peak > 0
    pattern = ad.sparse.pattern(f)(X).toarray()
    expected = np.eye(4)[::-1] if name == "linear" else np.eye(4)
    np.testing.assert_array_equal(pattern != 0, expected != 0)
    assert "x" in str(ad.explain(lambda x: np.sum(f(x)))(X))


def test_programs_with_such_primitives_print_save_and_load(tmp_path):
    program = ad.trace(lambda x: Squash()(x) * 2)(X)
    assert "squash" in str(program)
    program.save(tmp_path / "squash.program")
    np.testing.assert_array_equal(ad.load(tmp_path / "squash.program")(X), program(X))


def test_a_primitive_with_a_missing_rule_is_refused_where_it_is_declared():
    with pytest.raises(TypeError, match="Partial does not answer: batch, result_type, transpose"):

        @extend.primitive
        class Partial(extend.Linear):
            def evaluate(self, *xs):
                return xs[0]


def test_names_of_the_library_are_taken_and_others_may_be_declared_anew():
    with pytest.raises(TypeError, match=r"two primitives are called Scan: adjoint\.ops\.control\.scan has one"):

        @extend.primitive
        class Scan(extend.Elementwise):
            def evaluate(self, *xs):
                return xs[0]

            def partials(self, xs, z):
                return (1.0,)

    def declare(factor):
        @extend.primitive
        class Scaled(extend.Elementwise):
            def evaluate(self, *xs):
                return factor * xs[0]

            def partials(self, xs, z):
                return (factor,)

        return Scaled()

    first, second = declare(2.0), declare(3.0)
    assert ad.grad(first)(1.0) == 2.0
    assert ad.grad(second)(1.0) == 3.0
    assert extend.PRIMITIVES["Scaled"] is type(second)


def test_what_a_primitive_is_made_of_counts_for_the_line_that_calls_it():
    def loss(x):
        y = Squash()(x)
        return np.sum(y)

    first = loss.__code__.co_firstlineno
    lines = ad.cost(loss)(X).value.by_line
    assert [line.partition(",")[0] for line in lines] == [f"test_extend.py:{first + 1}", f"test_extend.py:{first + 2}"]


def test_expand_of_several_results_gives_a_tuple():
    @extend.primitive
    class Shifted(extend.Composite):
        def expand(self, *xs):
            return xs[0] + 1.0

    for transform in (lambda f: f, ad.grad, ad.jit, ad.vmap):
        with pytest.raises(TypeError, match=r"^shifted: expand returns a tuple of results.*return \(z,\)"):
            transform(lambda x: Shifted()(x)[0])(np.ones(3))
