"""Functions of eigenvalues and singular values that coincide: derivatives are right or NaN, in every mode and order.

The oracles have no eigenvalues: traces of powers, determinants, functions of a matrix.
"""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy import linalg

KINDS = pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
MODES = ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward")
ALWAYS_RIGHT = (MODES[0], MODES[2], MODES[3])


def draw(*shape, complex_=False, seed=0):
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    return x + 1j * rng.normal(size=shape) if complex_ else x


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian(x):
    return (x + adjoint(x)) / 2


def from_lower(x):
    """The Hermitian matrix whose lower triangle x holds."""
    low = np.tril(x, -1)
    return low + adjoint(low) + np.eye(x.shape[-1]) * np.real(x)


def with_eigenvalues(w, complex_):
    q = np.linalg.qr(draw(len(w), len(w), complex_=complex_))[0]
    return hermitian((q * np.array(w)) @ adjoint(q))


def with_singular_values(s, m, n, complex_):
    left, right = (np.linalg.qr(draw(k, k, complex_=complex_, seed=k))[0] for k in (m, n))
    return (left[:, : len(s)] * np.array(s)) @ adjoint(right)[: len(s)]


def entropy(a):
    w = np.linalg.eigvalsh(a)
    return np.sum(w * np.log(w)) + np.prod(w)


def entropy_of_matrix(a):
    return np.real(np.trace(linalg.funm(from_lower(a), lambda w: w * np.log(w))) + np.linalg.det(from_lower(a)))


def even_function(a):
    s = np.linalg.svdvals(a)
    return np.sum(s**4) + np.prod(1 + s**2)


def even_function_of_matrix(a):
    gram = adjoint(a) @ a
    return np.real(np.trace(gram @ gram) + np.linalg.det(np.eye(a.shape[-1]) + gram))


def modes(complex_):
    """Forward over forward has one lane for each real direction."""
    return MODES[:3] if complex_ else MODES


@KINDS
@pytest.mark.parametrize("w", [(1, 1, 1, 1), (1, 1, 2, 2), (1, 2, 2, 3)], ids=str)
def test_functions_of_equal_eigenvalues(w, complex_) -> None:
    a, v = with_eigenvalues(w, complex_), hermitian(draw(4, 4, complex_=complex_, seed=3))
    check_second_derivatives(entropy, entropy_of_matrix, a, v, complex_)


@KINDS
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3)], ids=str)
@pytest.mark.parametrize("s", [(2, 2, 1), (2, 2, 0), (2, 0, 0), (0, 0, 0)], ids=str)
def test_even_functions_of_equal_and_zero_singular_values(s, shape, complex_) -> None:
    a, v = with_singular_values(s, *shape, complex_), draw(*shape, complex_=complex_, seed=3)
    check_second_derivatives(even_function, even_function_of_matrix, a, v, complex_)


def check_second_derivatives(found, wanted, a, v, complex_):
    expected = ad.hvp(wanted, (a,), (v,))
    for mode in modes(complex_):
        second = ad.hvp(found, (a,), (v,), mode=mode)
        if mode in ALWAYS_RIGHT:
            np.testing.assert_allclose(second, expected, atol=1e-11, err_msg=mode)
        else:
            assert np.all(np.isnan(second[expected != 0]))
    zero = np.zeros_like(v)
    (_, terms), (_, true) = (ad.jet(f, (a,), [[v, zero, zero]]) for f in (found, wanted))
    np.testing.assert_allclose(terms, true, rtol=1e-10)


def test_whole_hessians_of_such_functions_are_nan() -> None:
    assert np.any(np.isnan(ad.hessian(entropy)(np.eye(3))))
    apart = np.diag([1.0, 2.0, 4.0])
    np.testing.assert_allclose(ad.hessian(entropy)(apart), ad.hessian(entropy_of_matrix)(apart), atol=1e-12)


def test_compiled_derivatives_are_the_same() -> None:
    a, v = with_eigenvalues((1, 2, 2), False), hermitian(draw(3, 3))
    expected = ad.hvp(entropy_of_matrix, (a,), (v,))
    for mode in MODES:
        second = ad.jit(lambda a, v, mode=mode: ad.hvp(entropy, (a,), (v,), mode=mode))(a, v)
        if mode in ALWAYS_RIGHT:
            np.testing.assert_allclose(second, expected, atol=1e-11, err_msg=mode)
        else:
            assert np.all(np.isnan(second[expected != 0]))
    b = with_singular_values((2, 0), 3, 2, False)
    second = ad.jit(lambda b, v: ad.hvp(even_function, (b,), (v,)))(b, draw(3, 2))
    np.testing.assert_allclose(second, ad.hvp(even_function_of_matrix, (b,), (draw(3, 2),)), atol=1e-11)


def test_lanes_and_stacks_have_their_own_frames() -> None:
    a = np.stack([np.eye(3), np.diag([1.0, 2.0, 2.0]), np.diag([1.0, 2.0, 4.0])])
    v = hermitian(draw(3, 3, 3))
    product = lambda f: ad.vmap(lambda a, v: ad.hvp(f, (a,), (v,)))
    np.testing.assert_allclose(product(entropy)(a, v), product(entropy_of_matrix)(a, v), atol=1e-11)
    found = ad.hvp(lambda a: np.sum(np.exp(np.linalg.eigvalsh(a))), (a,), (v,))
    wanted = ad.hvp(lambda a: np.sum(np.trace(linalg.expm(from_lower(a)), axis1=-2, axis2=-1)), (a,), (v,))
    np.testing.assert_allclose(found, wanted, atol=1e-11)


def test_single_values_beside_equal_ones() -> None:
    """What other values do not tell does not disturb a value that is alone."""
    a, v = np.diag([1.0, 2.0, 2.0, 2.0]), hermitian(draw(4, 4))
    lowest = lambda a: np.linalg.eigvalsh(a)[0] ** 2
    along = lambda t: lowest(a + t * v)
    h = 1e-3
    expected = (-along(2 * h) + 16 * along(h) - 30 * along(0) + 16 * along(-h) - along(-2 * h)) / (12 * h**2)
    for mode in MODES:
        np.testing.assert_allclose(np.sum(v * ad.hvp(lowest, (a,), (v,), mode=mode)), expected, rtol=1e-6, err_msg=mode)


def test_largest_of_equal_values_has_no_second_derivative() -> None:
    v = hermitian(draw(3, 3))
    largest = lambda a: np.linalg.eigvalsh(a)[-1]
    assert np.any(np.isnan(ad.hessian(largest)(np.diag([1.0, 2.0, 2.0]))))
    slope = ad.jvp(largest, (np.eye(3),), (v,))[1]
    np.testing.assert_allclose(slope, np.linalg.eigvalsh(v)[-1], atol=1e-12)  # but one along every line


def pushed(f, v):
    return lambda a: ad.jvp(f, (a,), (v,))[1]


def pulled(f, v):
    return lambda a: np.sum(ad.grad(f)(a) * v)


def replayed(f, v):
    return lambda a: ad.linearize(f, a)[1](v)


def unit(i, j):
    e = np.zeros((3, 3))
    e[i, j] = e[j, i] = 1
    return e


PAIRS = {
    "cubes": (
        lambda a: np.sum(np.linalg.eigvalsh(a) ** 3),
        lambda a: np.trace(np.linalg.matrix_power(from_lower(a), 3)),
    ),
    "flat at one": (
        lambda a: np.sum((np.linalg.eigvalsh(a) - 1) ** 3),
        lambda a: np.trace(np.linalg.matrix_power(from_lower(a) - np.eye(3), 3)),
    ),
    "singular": (lambda a: np.sum(np.linalg.svdvals(a) ** 4), lambda a: np.trace(a @ a.T @ a @ a.T)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_third_derivatives_are_right_or_nan(name) -> None:
    """Three directions, each by a transformation of its own; also such that only all three together give a term."""
    directions = [np.eye(3), unit(0, 1), unit(1, 2), unit(0, 2), hermitian(draw(3, 3)), np.diag([1.0, 2.0, 3.0])]
    points = (np.eye(3), np.diag([1.0, 1.0, 2.0]), np.diag([2.0, 0.0, 0.0]))
    every = list(itertools.product(itertools.product((pushed, pulled, replayed), repeat=3), points))
    rng = np.random.default_rng(4)
    right = 0
    for (first, second, third), a in (every[i] for i in rng.choice(len(every), 24, replace=False)):
        u, v, w = (directions[i] for i in rng.integers(len(directions), size=3))
        found, wanted = PAIRS[name]
        value, expected = third(second(first(found, u), v), w)(a), pushed(pushed(pushed(wanted, u), v), w)(a)
        if not np.isnan(value):
            np.testing.assert_allclose(value, expected, atol=1e-9)
            right += 1
    assert right > 4
