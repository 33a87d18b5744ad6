"""Functions with rules of their own, in autograd's manner."""

import autograd
import autograd.extend
import autograd.numpy as anp
import numpy as np
import pytest

import adjoint as ad
import adjoint.compat.autograd as ours
from adjoint.base.errors import RuleError, TraceError, UnsupportedError
from adjoint.compat.autograd import extend
from adjoint.compat.autograd.numpy.numpy_vjps import unbroadcast_f

X = np.array([0.3, 1.2, -0.7])


def softened(lib, np_):
    """A function that insists on plain arrays, with a rule."""

    @lib.primitive
    def soft(x, scale=1.0):
        assert type(x) is np.ndarray
        return np.log(np.sum(np.exp(x * scale))) / scale

    lib.defvjp(soft, lambda ans, x, scale=1.0: lambda g: g * np_.exp((x - ans) * scale))
    return soft


def test_a_rule_is_used_and_can_be_differentiated_again() -> None:
    theirs, mine = softened(autograd.extend, anp), softened(extend, np)
    np.testing.assert_allclose(ours.grad(mine)(X), autograd.grad(theirs)(X))
    np.testing.assert_allclose(
        ours.grad(lambda x: mine(x, scale=2.0))(X), autograd.grad(lambda x: theirs(x, scale=2.0))(X)
    )
    np.testing.assert_allclose(ours.hessian(mine)(X), autograd.hessian(theirs)(X))
    assert mine.fun(X) == mine(X)


def test_rules_serve_every_transformation() -> None:
    """Forward mode follows from the reverse rule; under vmap and jit the function still sees plain arrays."""
    soft = softened(extend, np)
    plain = lambda x: np.log(np.sum(np.exp(x)))
    np.testing.assert_allclose(ad.jvp(soft, (X,), (X,)), ad.jvp(plain, (X,), (X,)))
    np.testing.assert_allclose(
        ad.vmap(ad.grad(soft))(np.stack([X, 2 * X])), ad.vmap(ad.grad(plain))(np.stack([X, 2 * X]))
    )
    compiled = ad.jit(ad.value_and_grad(soft))
    for x in (X, -X):
        np.testing.assert_allclose(np.hstack(compiled(x)), np.hstack(ad.value_and_grad(plain)(x)))


def test_complex_rules_have_autograds_convention() -> None:
    def made(lib):
        product = lib.extend.primitive(lambda a, b: a * b)
        lib.extend.defvjp(product, lambda ans, a, b: lambda g: g * b, lambda ans, a, b: lambda g: g * a)
        lib.extend.defjvp(product, "same", lambda g, ans, a, b: a * g)
        return product

    for f in (lambda m, n: lambda z: n.real(m(z, z * 2j)), lambda m, n: lambda z: n.imag(m(m(z, z), z))):
        expected, found = f(made(autograd), anp), f(made(ours), np)
        np.testing.assert_allclose(ours.grad(found)(0.3 + 0.8j), autograd.grad(expected)(0.3 + 0.8j))
        np.testing.assert_allclose(ours.make_jvp(found)(0.3 + 0.8j)(1j), autograd.make_jvp(expected)(0.3 + 0.8j)(1j))


def test_arrays_made_inside_are_plain() -> None:
    """The function may use autograd's numpy, whose new arrays are traced inside of a transformation elsewhere."""
    import adjoint.compat.autograd.numpy as anp

    @extend.primitive
    def total(x):
        filled = anp.zeros(3)
        filled[:] = x
        assert type(filled) is np.ndarray
        return anp.array([filled[0], filled[1]]).sum() + filled[2]

    extend.defvjp(total, lambda ans, x: lambda g: g * anp.array([1.0, 1.0, 1.0]))
    np.testing.assert_allclose(ours.grad(lambda x: total(x) ** 2)(X), 2 * np.sum(X))
    np.testing.assert_allclose(ours.make_jvp(total)(X)(X)[1], np.sum(X))


def test_all_forms_of_rules() -> None:
    scaled = extend.primitive(lambda x, k: x * k)
    extend.defvjp(scaled, lambda ans, x, k: unbroadcast_f(x, lambda g: g * k), None)
    found = ours.grad(lambda x, k: np.sum(scaled(x, k)), (0, 1))(X, 2.0)
    np.testing.assert_allclose(found[0], 2.0)
    assert found[1] == 0.0
    linear = extend.primitive(lambda x, y: np.dot(x, y))
    extend.def_linear(linear)
    np.testing.assert_allclose(ours.grad(lambda x: linear(x, x))(X), 2 * X)
    by_number = extend.primitive(lambda x, y: x * y)
    extend.defvjp_argnum(by_number, lambda argnum, ans, args, kwargs: lambda g: g * args[1 - argnum])
    extend.defjvp_argnum(by_number, lambda argnum, g, ans, args, kwargs: g * args[1 - argnum])
    np.testing.assert_allclose(ours.grad(lambda x: np.sum(by_number(x, x)))(X), 2 * X)
    np.testing.assert_allclose(ours.make_jvp(lambda x: by_number(x, x))(X)(X)[1], 2 * X**2)
    at_once = extend.primitive(lambda x, y: x * y)
    extend.defvjp_argnums(at_once, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - i] for i in argnums])
    np.testing.assert_allclose(ours.grad(lambda x: np.sum(at_once(x, x) * at_once(X, x)))(X), 3 * X**3)
    held = extend.primitive(np.sign)
    extend.register_notrace(extend.VJPNode, held)
    np.testing.assert_allclose(ours.grad(lambda x: np.sum(held(x) * x))(X), np.sign(X))
    rounded = extend.notrace_primitive(np.round)
    np.testing.assert_allclose(ours.grad(lambda x: np.sum(rounded(x) * x))(X), np.round(X))


def test_older_forms_warn() -> None:
    twice = ours.primitive(lambda x: 2.0 * x)
    with pytest.warns(DeprecationWarning, match="defvjp"):
        twice.defvjp(lambda g, ans, vs, gvs, x: 2.0 * g)
    assert ours.grad(twice)(1.0) == 2.0
    with pytest.warns(DeprecationWarning, match="defgrad"):
        twice.defgrad(lambda ans, x: lambda g: 2.0 * g)
    assert ours.grad(twice)(1.0) == 2.0
    with pytest.warns(DeprecationWarning, match="is_zero"):
        twice.defvjp_is_zero()
    assert ours.grad(twice)(1.0) == 0.0


def test_what_is_missing_is_said() -> None:
    bare = extend.primitive(np.linalg.cond)
    with pytest.raises(NotImplementedError, match="cond: its derivative in argument 0"):
        ours.grad(bare)(np.eye(2))
    first = extend.primitive(lambda x, y: x * y)
    extend.defvjp(first, lambda ans, x, y: lambda g: g * y)
    assert ours.grad(first)(2.0, 3.0) == 3.0
    with pytest.raises(NotImplementedError, match="in argument 1"):
        ours.grad(first, 1)(2.0, 3.0)
    with pytest.raises(TraceError, match="keyword argument y is traced"):
        ours.grad(lambda y: first(2.0, y=y))(3.0)
    with pytest.raises(RuleError, match="none of its arguments"):
        ours.grad(lambda x: _closing(x))(2.0)
    with pytest.raises(RuleError, match="not a primitive"):
        extend.defvjp(np.sin, None)
    with pytest.raises(RuleError, match="no function"):
        extend.defvjp(first, 3)
    for register in (extend.VSpace.register, extend.Box.register):
        with pytest.raises(UnsupportedError, match=r"adjoint\.tree\.register"):
            register(set)


def _closing(x):
    inner = extend.primitive(lambda y: x * y)
    extend.defvjp(inner, lambda ans, y: lambda g: g)
    return inner(x)


def test_vector_spaces() -> None:
    for value in (X, 1.0, 1j, [X, 2.0], {"a": X, "b": (1j, 2.0)}):
        mine, theirs = extend.vspace(value), autograd.extend.vspace(value)
        assert mine.size == theirs.size
        for a, b in zip(ad.tree.leaves(mine.ones()), ad.tree.leaves(theirs.ones()), strict=True):
            np.testing.assert_allclose(a, b)
        assert len(list(mine.standard_basis())) == mine.size
        drawn = mine.randn()
        assert mine.inner_prod(drawn, drawn) == pytest.approx(theirs.inner_prod(drawn, drawn))
        double = ad.tree.leaves(mine.add(drawn, drawn))
        np.testing.assert_allclose(
            np.hstack([*map(np.ravel, double)]),
            np.hstack([*map(np.ravel, ad.tree.leaves(mine.scalar_mul(drawn, 2.0)))]),
        )
        assert mine == extend.vspace(drawn)
    assert extend.vspace(X) != extend.vspace(X[:2])
    with pytest.raises(TypeError, match="no vector"):
        extend.vspace("text")


def test_boxes() -> None:
    seen = []

    def f(x):
        seen.extend(
            [isinstance(x, extend.Box), ours.isinstance(x, np.ndarray), ours.isinstance(x[0], float), ours.type(x)]
        )
        return np.sum(x) * ours.dict(a=x)["a"][0] + ours.list((x[0], 1.0))[1] + ours.tuple([x])[0][1]

    np.testing.assert_allclose(ours.grad(f)(X), np.sum(X) * np.array([1.0, 0, 0]) + X[0] + np.array([0, 1.0, 0]))
    assert seen == [True, True, True, np.ndarray]
    assert not isinstance(X, extend.Box)
    assert ours.isinstance([X], list)
