"""Mistakes that newcomers make, and what they read: the operation, what it got, and the remedy."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.base.config import config

ad: Any = adjoint  # what is wrong on purpose is not for the type checker

X = np.array([1.0, 2.0, 3.0])
A = np.ones((2, 3))
FUNCTIONS = [name for name in ad.__all__ if inspect.isfunction(getattr(ad, name))]


def f(x: Any) -> Any:
    return np.sum(x**2)


def nothing(x: Any) -> Any:
    _ = 2 * x  # its return is missing


def rule(**rules: Any) -> Any:
    return ad.custom_rule(**rules)(lambda a, b: a * b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_keyword_that_does_not_exist(name: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}\(\) .*It is called as {name}\("):
        getattr(ad, name)(no_such_keyword=1)


CALLS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: ad.grad(f, argnum=0), TypeError, "Did you mean argnums?"),
    (lambda: ad.vmap(f, in_axis=0), TypeError, "Did you mean in_axes?"),
    (lambda: ad.custom_rule(vpj=f), TypeError, "Did you mean vjp?"),
    (lambda: ad.hvp(f)(X, X), TypeError, "It is called as hvp(function, primals, tangents, mode=…)."),
    (lambda: ad.hvp(f, X, X), TypeError, "hvp(f, (x,), (v,))"),
    (lambda: ad.jvp(f, X, X), TypeError, "Write jvp(f, (x,), …)"),
    (lambda: ad.jvp(f, (X,), X), TypeError, "Write jvp(f, (x,), (v,))"),
    (lambda: ad.grad(f, X), TypeError, "Arguments are given to the result: grad(f)(x)."),
    (lambda: ad.grad(f, argnums=0.0), TypeError, "by position or by name"),
    (lambda: ad.memory_report(f, X), TypeError, "memory_report(f)(x)"),
    (lambda: ad.grad(f(X)), TypeError, "Write grad(f)(x), not grad(f(x))."),
    (lambda: ad.memory_report(f(X)), TypeError, "Write memory_report(f)(x), not memory_report(f(x))."),
    (lambda: ad.jit(3), TypeError, "jit needs a function, not int"),
    (lambda: ad.grad(f, argnums=3)(X), TypeError, "argnums=3, but the function was called with 1 positional argument. "
     "Arguments count from 0: give position 0 or a name (x)."),
    (lambda: ad.grad(f)(), TypeError, "without x. Give it its arguments by position"),
    (lambda: ad.grad(lambda weights: f(weights), "weigths")(X), TypeError, "Did you mean weights?"),
]  # fmt: skip

RESULTS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: ad.grad(lambda x: x**2)(X), ValueError, "returned float64[3]. Sum it, or use jacobian"),
    (lambda: ad.grad(lambda x: None)(X), ValueError, "it returned None. Is its return missing?"),
    (lambda: ad.grad(lambda x: (f(x), x))(X), ValueError, "a tuple of 2. Return extra values with has_aux=True"),
    (lambda: ad.grad(f, has_aux=True)(X), TypeError, "returned a float64[]. Return value, aux, or leave has_aux out."),
    (lambda: ad.grad(lambda p: f(p["x"]))({"x": X, "name": "m"}), TypeError, "p['name'] is a str"),
    (lambda: ad.grad(f)([1.0, 2.0]), TypeError, "A list is a container of numbers and arrays, not an array"),
    (lambda: ad.grad(lambda x: nothing(x) * x)(1.0), TypeError, "'NoneType' and a traced array. One of them is None"),
    (lambda: ad.scan(lambda c, x: (c + nothing(x), None), 0.0, X), TypeError, "a traced array and 'NoneType'. One of"),
    (lambda: ad.vjp(f, X)[1](X), ValueError, "a cotangent that of the result"),
    (lambda: ad.vjp(f, X)[1](1.0, 2.0), TypeError, "pullback((u, v))"),
    (lambda: ad.jvp(f, (X,), (np.ones(2),)), ValueError, "A tangent has the shape of its argument"),
    (lambda: ad.jvp(f, (X,), (1j * X,)), TypeError, "Take its real part."),
    (lambda: ad.jet(f, (X,), ()), TypeError, "jet(f, (x,), ([v, w],))"),
    (lambda: ad.grad(rule(vjp=lambda a, b: (a * b, lambda ct: (ct * b,))))(1.0, 2.0), TypeError,
     "returned 1 cotangent for 2 arguments. Return a tuple with one for each; None stands for zero."),
    (lambda: ad.grad(rule(vjp=lambda a, b: a * b))(1.0, 2.0), TypeError, "vjp must return (y, pullback)"),
    (lambda: ad.jvp(rule(jvp=lambda p, t: p[0] * p[1]), (1.0, 2.0), (1.0, 1.0)), TypeError, "must return (y, dy)"),
]  # fmt: skip

BATCHES: list[tuple[Callable[[], Any], type, str]] = [
    (
        lambda: ad.vmap(lambda a, b: a + b)(X, np.ones(4)),
        ValueError,
        "argument a: 3, argument b: 4. Map axes of one",
    ),
    (lambda: ad.vmap(f, axis_size=4)(A), ValueError, "argument x: 2, axis_size: 4"),
    (lambda: ad.vmap(lambda a, b: a, in_axes=(0,))(X, X), TypeError, "1 entry, but the function was called with 2"),
    (lambda: ad.vmap(f, in_axes=3)(A), ValueError, "argument x has shape (2, 3), so it has no axis 3"),
    (lambda: ad.vmap(f, in_axes="0")(A), TypeError, "in_axes has '0' for argument x; an axis is an integer"),
    (lambda: ad.vmap(f, in_axes=None)(A), ValueError, "Give axis_size=…, or map an argument."),
    (lambda: ad.vmap(lambda a: a, out_axes=None)(A), ValueError, "Give the axis that they are to be stacked along."),
    (lambda: ad.vmap(lambda a: a, out_axes=5)(A), ValueError, "Give one from 0 to 1."),
]

LOOPS: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: ad.scan(0.0, lambda c, x: (c, c), X), TypeError, "body must be a function, not a float. Write scan(body,"),
    (lambda: ad.scan(lambda c, x: c + x, 0.0, X), ValueError, "it returned float64[]. Return carry, None"),
    (lambda: ad.scan(lambda c: (c, c), 0.0, X), TypeError, "the body of scan is called as body(carry, x)"),
    (lambda: ad.scan(lambda c, x: (c, x[0]), 0.0, (X, X[:2])), ValueError, "sizes 2 and 3. Every array in xs has one"),
    (lambda: ad.scan(lambda c, x: (c + x, c), 0, X), ValueError, "start with a value of type float64[] (e.g. 0.0)"),
    (lambda: ad.scan(lambda c, x: (c, c), 0.0), ValueError, "the number of iterations"),
    (lambda: ad.fori_loop(0, 3, 1.0, lambda i, c: c), TypeError, "Write fori_loop(lower, upper, body, init)."),
    (lambda: ad.fori_loop(0, 3, lambda c: c, 1.0), TypeError, "the body of fori_loop is called as body(i, value)"),
    (lambda: ad.fori_loop(0, 3.5, lambda i, c: c, 1.0), TypeError, "upper must be an integer; got 3.5."),
    (lambda: ad.while_loop(1.0, f, f), TypeError, "Write while_loop(condition, body, init)."),
    (lambda: ad.while_loop(lambda c: c < 3, lambda c: c + 1, X), ValueError, "bool[3]. Use np.any or np.all"),
    (lambda: ad.cond(f, f, True, 1.0), TypeError, "false_branch must be a function, not a bool. Write cond(predicate,"),
    (lambda: ad.cond(f, f, f, 1.0), TypeError, "the predicate is a truth value, not a function"),
    (lambda: ad.cond(X > 0, f, f, X), ValueError, "Use np.where to choose by element."),
]

MISSING: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: ad.vjp(f), TypeError, "vjp is given the arguments of the function too, here x: write vjp(f, x)."),
    (lambda: ad.linearize(f), TypeError, "write linearize(f, x)."),
    (lambda: ad.linear_transpose(f)(1.0), TypeError, "write linear_transpose(f, x)."),
    (lambda: ad.jvp(f, (), ()), TypeError, "write jvp(f, (x,), …)."),
    (lambda: ad.hessian(lambda x: np.argmax(x))(X), TypeError, "hessian: the function returned int64[]"),
    (lambda: ad.hessian(f, chunk_size=0), ValueError, "hessian: chunk_size is an integer above zero"),
    (lambda: ad.vmap(lambda x: np.require(x[None])[0])(X), TypeError, "It may differ between the elements of a batch."),
    (lambda: ad.vmap(ad.grad(lambda x: np.require(x[None])[0]))(X), TypeError, "Its derivative would be lost."),
]

B = np.ones(2)
SHAPES: list[tuple[Callable[[Any], Any], Any, str]] = [
    (lambda x: np.sum(A @ x), B, "matmul (@): float64[2,3] has 3 columns but float64[2] has 2 rows. Transpose one"),
    (lambda x: np.sum(np.dot(A, x)), B, "np.dot: matmul (@): float64[2,3] has 3 columns but float64[2] has 2 rows."),
    (lambda x: np.sum(x + np.ones(4)), X, "add: the shapes of float64[3], float64[4] do not broadcast: axis -1 has "
     "sizes 3 and 4. Axes are matched from the last one and must be equal or 1"),
    (lambda x: np.sum(np.where(np.ones(2) > 0, x, 0)), X, "do not broadcast: axis -1 has sizes 2 and 3."),
    (lambda x: np.sum(np.linalg.solve(np.eye(2), x)), X, "has 2 columns, but the right side float64[3,1] has 3 rows"),
    (lambda x: np.sum(np.concatenate([x, A])), X, "differ in an axis other than axis 0. Reshape one of them, or join"),
    (lambda x: np.sum(np.stack([x, np.ones(2)])), X, "np.stack, at test_messages.py"),
    (lambda x: np.sum(np.reshape(x, (2, 2))), X, "np.reshape, at test_messages.py"),
]  # fmt: skip


@pytest.mark.parametrize("call, kind, words", [*CALLS, *RESULTS, *BATCHES, *LOOPS, *MISSING])
def test_mistakes(call: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as raised:
        call()
    assert words in str(raised.value)


@pytest.mark.parametrize("function, x, words", SHAPES)
def test_shapes_that_do_not_fit(function: Callable[[Any], Any], x: Any, words: str) -> None:
    transformations: list[Callable[[Any], Any]] = [
        ad.grad(function),
        lambda x: ad.jvp(function, (x,), (x,)),
        lambda x: ad.vmap(function)(np.stack([x, x])),
        ad.jit(function),
        ad.jit(ad.grad(function)),
        ad.grad(ad.jit(function)),
        lambda x: ad.scan(lambda c, t: (c + function(t), None), 0.0, np.stack([x, x])),
    ]
    for transformed in transformations:
        with pytest.raises(ValueError) as raised:
            transformed(x)
        assert words.partition(": ")[2] in str(raised.value)
        assert str(raised.value).lower().count("at test_messages.py:") == 1


def test_errors_of_matrices_keep_their_class() -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"np\.linalg\.inv of float64\[2,3\], at .*: Last 2 dimensions"):
        ad.grad(lambda x: np.sum(np.linalg.inv(x)))(A)
    with pytest.raises(np.linalg.LinAlgError, match=r"np\.linalg\.cholesky of float64\[2,2\].* not positive definite"):
        ad.grad(lambda x: np.sum(np.linalg.cholesky(x)))(-np.eye(2))


def test_errors_of_the_users_own_are_left_alone() -> None:
    def raises(x: Any) -> Any:
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        ad.grad(raises)(X)
    with pytest.raises(TypeError, match=r"takes 1 positional argument but 2 were given$"):
        ad.grad(f)(X, X)


def test_words_are_added_once_where_calls_stand_inside_each_other() -> None:
    with pytest.raises(TypeError) as caught:
        adjoint.optimize.minimize(lambda x: np.sum((x - 1.5) ** 2), [1.0, 2.0])
    assert str(caught.value).count("container of numbers") == 1


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_names_begin_sentences_as_they_are_written() -> None:
    with pytest.raises(TypeError, match=r"lost\. np\.matrix gives"):
        ad.grad(lambda x: np.sum(np.matrix(x)))(A)


def test_classes_of_numpy_are_named() -> None:
    message = r"^np\.vectorize was asked .* Use adjoint\.numpy\.vectorize"
    with config.override(convert=False), pytest.raises(TypeError, match=message):
        ad.grad(lambda x: np.sum(np.vectorize(lambda a: 2 * a)(x)))(X)
