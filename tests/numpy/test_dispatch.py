"""The holes of NumPy's dispatch: a function is converted from its source, or the error names the call and a remedy."""

import math

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.base.errors import AdjointError, TraceError, UnsupportedError
from adjoint.coverage import REFUSED
from adjoint.coverage.numpy import NUMPY
from adjoint.ops.operators import find_function

PLAIN, MATRIX = np.arange(3.0), np.eye(3)


def assigned(x):
    z = np.zeros(3)
    z[0] = x[0]
    return np.sum(z)


def assigned_slice(x):
    z = np.zeros(3)
    z[:2] = x[:2]
    return np.sum(z)


def assigned_by_list(x):
    z = np.zeros(3)
    z[[0, 2]] = x[:2]
    return np.sum(z)


def assigned_all(x):
    z = np.zeros(3)
    z[...] = x
    return np.sum(z)


def added_to_element(x):
    z = np.zeros(3)
    z[0] += x[0]
    return np.sum(z)


def added(x):
    z = np.zeros(3)
    z += x
    return np.sum(z)


def assigned_complex(x):
    z = np.zeros(3, complex)
    z[0] = x[0] * 1j
    return np.sum(z.real)


HOLES = {
    "float": (lambda x: float(x[0]), r"float\(\)", "NumPy's functions"),
    "math": (lambda x: math.sin(x[0]), "math", r"np\.sin"),
    "complex": (lambda x: abs(complex(x[0])), r"complex\(\)", "NumPy's functions"),
    "asarray": (lambda x: np.asarray(x).sum(), r"np\.asarray", r"np\.stack"),
    "array": (lambda x: np.array([x[0], x[1]]).sum(), r"np\.array", r"adjoint\.numpy\.array"),
    "array of arrays": (lambda x: np.array([x, x]).sum(), r"np\.array", r"np\.stack"),
    "sum of a list": (lambda x: np.sum([x[0], x[1]]), r"np\.sum", r"np\.stack"),
    "diag of a list": (lambda x: np.diag([x[0], x[1]]).sum(), r"np\.diag", r"adjoint\.numpy"),
    "r_": (lambda x: np.r_[x, 1.0].sum(), r"np\.r_", r"adjoint\.numpy"),
    "plain.dot": (lambda x: MATRIX.dot(x).sum(), "a method of a plain array", r"np\.dot"),
    "plain[x]": (lambda x: PLAIN[x[0]], "NumPy", r"adjoint\.numpy"),
    "plain.take": (lambda x: PLAIN.take(x), "a method of a plain array", r"adjoint\.numpy"),
    "pad": (lambda x: np.pad(PLAIN, 1, constant_values=x[0]).sum(), r"np\.pad", r"adjoint\.numpy"),
    "full": (lambda x: np.full(3, x[0]).sum(), r"np\.full", r"adjoint\.numpy"),
    "full_like": (lambda x: np.full_like(PLAIN, x[0]).sum(), r"np\.full_like", r"adjoint\.numpy"),
    "nan_to_num": (lambda x: np.nan_to_num(PLAIN * np.nan, nan=x[0]).sum(), r"nan_to_num", r"adjoint\.numpy"),
    "assigned": (assigned, r"z\[0\] = x\[0\]", r"adjoint\.numpy\.zeros"),
    "assigned slice": (assigned_slice, r"z\[:2\] = x\[:2\]", r"adjoint\.numpy\.zeros"),
    "assigned by list": (assigned_by_list, r"z\[\[0, 2\]\] = x", r"adjoint\.numpy\.zeros"),
    "assigned all": (assigned_all, r"z\[\.\.\.\] = x", r"adjoint\.numpy\.zeros"),
    "added to element": (added_to_element, r"z\[0\] \+= x\[0\]", r"adjoint\.numpy\.zeros"),
    "added": (added, r"z \+= x", r"adjoint\.numpy\.zeros"),
    "assigned complex": (assigned_complex, r"z\[0\] = x", r"adjoint\.numpy\.zeros"),
    "operand list": (lambda x: np.sum(x * [x[0], x[1], x[2]]), "multiply", r"np\.stack"),
    "np.vectorize": (lambda x: np.vectorize(lambda t: t)(x).sum(), "NumPy", r"adjoint\.numpy"),
    "fromiter": (lambda x: np.fromiter((t for t in x), float).sum(), "plain", r"adjoint\.numpy"),
    "item": (lambda x: x.item(0), r"\.item\(\)", "x\\[i\\]"),
    "tolist": (lambda x: sum(x.tolist()), r"\.tolist\(\)", r"np\.stack"),
    "list beside an array": (lambda x: np.sum(np.ones(2) * [x[0], x[1]]), "NumPy", r"np\.stack"),
    "ufunc of a list": (lambda x: np.sum(np.exp([x[0], x[1]])), "NumPy", r"np\.stack"),
    "reduction of a list": (lambda x: np.multiply.reduce([x[0], x[1]]), "NumPy", r"np\.stack"),
    "fsum": (lambda x: math.fsum(x), "math", "NumPy"),
    "where of lists": (lambda x: np.sum(np.where([True], [x[0]], 0.0)), "NumPy", r"adjoint\.numpy"),
    "copyto": (lambda x: np.copyto(PLAIN, x), r"np\.copyto", r"adjoint\.numpy"),
    "norm of a list": (lambda x: np.linalg.norm([x[0], x[1]]), "NumPy", r"adjoint\.numpy"),
}
X = np.array([0.5, 1.5, 2.5])
TRANSFORMATIONS = {
    "grad": lambda f: ad.grad(f)(X),
    "vjp": lambda f: ad.vjp(f, X),
    "jvp": lambda f: ad.jvp(f, (X,), (X,)),
    "linearize": lambda f: ad.linearize(f, X),
    "vmap": lambda f: ad.vmap(f)(np.stack([X, X + 1])),
    "jet": lambda f: ad.jet(f, (X,), [[X, X]]),
    "hessian": lambda f: ad.hessian(f)(X),
    "jacobian": lambda f: ad.jacobian(f)(X),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([X, X + 1])),
    "grad of vmap": lambda f: ad.grad(lambda x: np.sum(ad.vmap(f)(x)))(np.stack([X, X + 1])),
    "linear_transpose": lambda f: ad.linear_transpose(f, X)(1.0),
    "scan": lambda f: ad.scan(lambda c, x: (c + f(x), None), 0.0, np.stack([X, X])),
    "cond": lambda f: ad.grad(lambda x: ad.cond(x[0] > 0, f, f, x))(X),
    "checkpoint": lambda f: ad.grad(ad.checkpoint(f))(X),
}


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("hole", HOLES)
def test_holes(hole, transformation) -> None:
    f, call, remedy = HOLES[hole]
    with config.override(convert=False), pytest.raises(TraceError, match=f"(?s){call}") as caught:
        TRANSFORMATIONS[transformation](f)
    assert caught.match(f"(?s){remedy}")
    assert caught.match("test_dispatch.py:"), "the message shows the user's line"
    np.testing.assert_array_equal(PLAIN, [0.0, 1.0, 2.0])


REFUSED_STILL = {"copyto"}
INVALID = {"plain[x]", "plain.take"}  # for NumPy too: an index that is no whole number
GRADIENTS = {
    "grad": lambda f: ad.grad(f)(X),
    "vjp": lambda f: ad.vjp(f, X)[1](1.0)[0],
    "jvp": lambda f: [ad.jvp(f, (X,), (e,))[1] for e in np.eye(3)],
    "linearize": lambda f: [ad.linearize(f, X)[1](e) for e in np.eye(3)],
    "jet": lambda f: [ad.jet(f, (X,), [[e]])[1][0] for e in np.eye(3)],
    "jacobian": lambda f: ad.jacobian(f)(X),
    "vmap of grad": lambda f: ad.vmap(ad.grad(f))(np.stack([X + 1, X]))[1],
    "grad of vmap": lambda f: ad.grad(lambda x: np.sum(ad.vmap(f)(x)))(np.stack([X + 1, X]))[1],
    "scan": lambda f: ad.grad(lambda x: ad.scan(lambda c, x: (c + f(x), None), 0.0, np.stack([x, x]))[0])(X) / 2,
    "cond": lambda f: ad.grad(lambda x: ad.cond(x[0] > 0, f, f, x))(X),
    "switch": lambda f: ad.grad(lambda x: ad.switch(1, [np.sum, f], x))(X),
    "checkpoint": lambda f: ad.grad(ad.checkpoint(f))(X),
    "jit": lambda f: ad.jit(ad.grad(f))(X),
}


@pytest.mark.parametrize("transformation", GRADIENTS)
@pytest.mark.parametrize("hole", [hole for hole in HOLES if hole not in REFUSED_STILL | INVALID])
def test_converted_functions_have_no_holes(hole, transformation) -> None:
    f = HOLES[hole][0]
    differences = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(GRADIENTS[transformation](f), differences, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(PLAIN, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("hole", sorted(REFUSED_STILL))
def test_no_source_helps(hole, transformation) -> None:
    f, call, _ = HOLES[hole]
    with pytest.raises(TraceError, match=f"(?s){call}"):
        TRANSFORMATIONS[transformation](f)
    np.testing.assert_array_equal(PLAIN, [0.0, 1.0, 2.0])


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("hole", sorted(INVALID))
def test_invalid_indices(hole, transformation) -> None:
    with pytest.raises((TraceError, IndexError), match=r"index|indices|plain value"):
        TRANSFORMATIONS[transformation](HOLES[hole][0])


def test_truncation_into_whole_numbers_is_numpys() -> None:
    def f(x):
        k = np.zeros(2, int)
        k[0] = x[1]
        return np.sum(x) * k[0]

    np.testing.assert_array_equal(ad.grad(f)(np.array([1.0, 2.7])), [2.0, 2.0])


def test_every_function_of_numpy_answers_or_says_why() -> None:
    """A function of NumPy that has no rule is one that the table of coverage refuses."""
    handed_over = {name: f for name in np.__all__ if hasattr(f := getattr(np, name), "_implementation")}
    unknown = {name for name, f in handed_over.items() if find_function(f) is None}
    assert unknown <= set(NUMPY.named(REFUSED))
    with pytest.raises(
        UnsupportedError, match=r"numpy\.busday_count cannot take a traced value.*dates are never traced"
    ):
        ad.grad(lambda x: np.sum(np.busday_count(x, x)))(X)
    with pytest.raises(UnsupportedError, match=r"center has no derivative rule.*custom_rule"):
        ad.grad(lambda x: np.strings.center(x, 3))(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sort(x, order="f"),
        lambda x: np.einsum("i->i", x, wrong=1),
        lambda x: np.pad(x, 1, mode="mean", end_values=1),
        lambda x: np.quantile(x, 0.5, weights=x),
        lambda x: np.partition(x, 1, order="f"),
        lambda x: np.concatenate([x], wrong=2),
        lambda x: np.clip(x, 0, 1, wrong=1),
        lambda x: np.sum(x, wrong=3),
        lambda x: np.zeros_like(x, device="gpu"),
    ],
)
def test_unsupported_keywords_raise(call) -> None:
    with pytest.raises((AdjointError, TypeError, ValueError)):
        ad.grad(lambda x: np.sum(call(x)))(X)


def test_masked_and_foreign_operands() -> None:
    masked = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(TypeError, match="masked"):
        ad.grad(lambda x: np.sum(x * masked))(X)
    with pytest.raises(TypeError):
        ad.grad(lambda x: np.sum(x + "text"))(X)
    with pytest.raises(TypeError):
        ad.grad(lambda x: np.sum(x * np.array(["a", "b", "c"])))(X)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_no_operand() -> None:
    """Its * is a product of matrices, which an element by element one must not replace."""
    matrix = np.matrix(MATRIX)
    for f in (lambda x: matrix * x[:, None], lambda x: x[None] * matrix, lambda x: matrix @ x, lambda x: x + matrix):
        with pytest.raises(TypeError, match="matrix"):
            ad.jvp(f, (X,), (X,))


def test_whole_parts_of_traced_numbers() -> None:
    f = lambda t: t * (math.floor(t) + 10 * math.ceil(t) + 100 * math.trunc(t))
    assert ad.grad(f)(2.5) == 2 + 30 + 200
    np.testing.assert_allclose(ad.vmap(f)(np.array([2.5, -1.5, 2.25])), [f(2.5), f(-1.5), f(2.25)])


def test_functions_of_types_alone_see_a_stand_in():
    def f(x):
        assert np.can_cast(x.dtype, "f4") is False
        assert np.common_type(x, np.float32(1)) is np.float64
        assert np.isrealobj(x)
        assert not np.iscomplexobj(x)
        assert np.einsum_path("ij,jk->ik", x, x)[0] == ["einsum_path", (0, 1)]
        rows, columns = np.tril_indices_from(x)
        return np.sum(x[rows, columns]) + np.sum(x[np.diag_indices_from(x)])

    assert ad.grad(f)(np.ones((2, 2))).tolist() == [[2.0, 0.0], [1.0, 2.0]]


def test_refused_functions_say_why_by_either_name():
    x = np.ones(3)
    with pytest.raises(
        UnsupportedError, match=r"numpy\.save cannot take a traced value.*loses its derivative\. Return"
    ):
        ad.grad(lambda x: np.save("never_written", x))(x)
    with pytest.raises(UnsupportedError, match=r"numpy\.require cannot take.*adjoint\.numpy\.asarray"):
        ad.grad(lambda x: np.sum(ad.numpy.require(x)))(x)
    with pytest.raises(TraceError, match=r"np\.require was asked.*adjoint\.numpy\.asarray"):
        ad.grad(lambda x: np.sum(np.require(x)))(x)
    with pytest.raises(UnsupportedError, match=r"vectorized.*arrays of objects\. Use adjoint\.numpy\.vectorize"):
        ad.grad(lambda x: np.sum(np.frompyfunc(lambda t: t, 1, 1)(x)))(x)
    assert ad.numpy.require([1.0, 2.0], float).tolist() == [1.0, 2.0]
