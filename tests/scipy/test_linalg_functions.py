"""Functions of matrices: SciPy's and mpmath's values, derivatives of any order, equal eigenvalues, edges."""

from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
import scipy.linalg

import adjoint as ad
from adjoint.base.errors import TraceError, UnsupportedError
from adjoint.scipy import linalg
from tests.numpy.checking import Case, check_first_order, check_second_order, complex_array, every_check, signed
from tests.scipy.matrices import adjoint, apart, compared, complex_apart, complex_regular, gram, hermitian, regular

A, Z = regular(3, 3), complex_regular(3, 3)
CASES = [
    Case("sqrtm", linalg.sqrtm, (A,)),
    Case("sqrtm stack", linalg.sqrtm, (complex_regular(2, 2, 2),)),
    Case("signm", linalg.signm, (A - np.diag([8.0, 0, 0]),)),
    Case("signm complex", linalg.signm, (Z - np.diag([8.0, 0, 0]),)),
    Case("funm", lambda a: linalg.funm(hermitian(a), np.sin), (apart(3, 3),)),
    Case("funm complex", lambda a: linalg.funm(hermitian(a), lambda w: np.exp(1j * w)), (complex_apart(3, 3),)),
    Case("cosm", linalg.cosm, (0.3 * complex_array(2, 2, 2),)),
    Case("sinm", linalg.sinm, (0.3 * signed(3, 3),)),
    Case("tanhm", linalg.tanhm, (0.3 * complex_array(2, 2),)),
    Case("expm_frechet", linalg.expm_frechet, (signed(2, 2), complex_array(2, 2))),
]
# SciPy's logarithm and powers take their time
BRIEF = [
    Case("logm", linalg.logm, (A[:2, :2],)),
    Case("logm stack", linalg.logm, (complex_regular(2, 2, 2),)),
    Case("power", linalg.fractional_matrix_power, (Z[:2, :2], np.float64(-1.3))),
    Case("tanm", linalg.tanm, (0.3 * signed(2, 2),)),
    Case("coshm", linalg.coshm, (signed(2, 2),)),
    Case("sinhm", linalg.sinhm, (signed(2, 2),)),
    Case("expm_cond", linalg.expm_cond, (signed(2, 2),)),
]


@every_check(CASES)
def test_derivatives(case, check) -> None:
    check(case)


@pytest.mark.parametrize("check", [check_first_order, check_second_order], ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", BRIEF, ids=lambda case: case.name)
def test_derivatives_to_second_order(case, check) -> None:
    check(case)


NAMES = "sqrtm logm signm cosm sinm tanm coshm sinhm tanhm expm_cond"


@pytest.mark.parametrize("name", NAMES.split())
def test_values_are_scipys(name) -> None:
    for a in (A / 4, Z / 4):
        compared(getattr(linalg, name)(a), getattr(scipy.linalg, name)(a))


def test_powers_and_directions_are_scipys() -> None:
    for t in (0.5, -1.7, 2.0, 3):
        compared(linalg.fractional_matrix_power(A, t), scipy.linalg.fractional_matrix_power(A, t))
    compared(linalg.expm_frechet(A, Z), scipy.linalg.expm_frechet(A, Z))
    compared(linalg.expm_frechet(A, Z, compute_expm=False), scipy.linalg.expm_frechet(A, Z, compute_expm=False))
    compared(linalg.funm(gram(A), np.sqrt), scipy.linalg.sqrtm(gram(A)))
    compared(linalg.funm(gram(Z), np.log), scipy.linalg.logm(gram(Z)))


def test_real_matrices_without_a_real_root_have_a_complex_one() -> None:
    a = np.diag([-4.0, 9.0])
    for f in (linalg.sqrtm, linalg.logm, lambda a: linalg.fractional_matrix_power(a, 0.5)):
        value = f(a)
        assert value.dtype.kind == "c"
        compared(ad.vjp(f, a)[0], value)
        compared(ad.jit(f)(a), value)
    compared(linalg.sqrtm(a), scipy.linalg.sqrtm(a))
    gradient = ad.grad(lambda a: np.sum(np.abs(linalg.sqrtm(a)) ** 2))(a)
    np.testing.assert_allclose(gradient, np.diag([-1.0, 1.0]), atol=1e-12)  # |√x|² = |x|


def test_where_values_are_not_known_they_are_nan() -> None:
    roots = ad.scan(lambda c, a: (c, linalg.sqrtm(a)), 0.0, np.stack([np.diag([-4.0, 9.0]), np.eye(2)]))[1]
    assert np.all(np.isnan(roots[0]))
    np.testing.assert_allclose(roots[1], np.eye(2))


REPEATED = [np.eye(3), np.diag([1.0, 1.0, 2.0]), np.diag([1.0, 1.0 + 1e-9, 2.0]), np.diag([1.0, 1.001, 1.002])]


@pytest.mark.parametrize("w", REPEATED, ids=lambda w: str(np.diagonal(w)))
@pytest.mark.parametrize("f, other", [(np.exp, "expm"), (np.sqrt, "sqrtm"), (np.log, "logm"), (np.sinh, "sinhm")])
def test_functions_of_equal_eigenvalues(w, f, other) -> None:
    """Value, gradient and second derivative of funm are those of the function with a rule of its own."""
    q = np.linalg.qr(complex_array(3, 3))[0]
    a, u, v = hermitian(q @ w @ adjoint(q)), complex_array(3, 3, seed=1), complex_array(3, 3, seed=2)
    ours = lambda a: np.sum(np.real(np.conj(u) * linalg.funm(a, f)))
    theirs = lambda a: np.sum(np.real(np.conj(u) * getattr(linalg, other)(a)))
    compared(ad.grad(ours)(a), ad.grad(theirs)(a))
    wanted = ad.hvp(theirs, (a,), (v,))
    for mode in ("forward-over-reverse", "reverse-over-reverse"):
        compared(ad.hvp(ours, (a,), (v,), mode=mode), wanted, 1e-10)


def test_third_derivative_of_a_spectral_function_by_mpmath() -> None:
    """d³/dt³ tr(u f(a + t v)) at equal eigenvalues, by differences in fifty digits."""
    a, u, v = np.diag([2.0, 2.0, 3.0]), hermitian(signed(3, 3)), hermitian(signed(3, 3, seed=1))
    f = lambda t: np.sum(u * linalg.funm(a + t * v, np.log))
    for _ in range(3):
        f = lambda t, g=f: ad.jvp(g, (t,), (1.0,))[1]
    with mpmath.workdps(50):
        exact = lambda t: sum(
            mpmath.mpf(float(u[i, j])) * matrix[i, j]
            for matrix in [mpmath.logm(mpmath.matrix(a) + t * mpmath.matrix(v))]
            for i in range(3)
            for j in range(3)
        )
        wanted = mpmath.diff(exact, 0, 3)
    np.testing.assert_allclose(f(0.0), float(mpmath.re(wanted)), rtol=1e-9)


def test_derivative_of_the_logarithm_of_a_badly_scaled_matrix_by_mpmath() -> None:
    a, v = np.array([[1e3, 20.0], [0.5, 1e-3]]) + np.eye(2), np.array([[1.0, -2.0], [0.3, 0.7]])
    found = ad.jvp(linalg.logm, (a,), (v,))[1]
    with mpmath.workdps(60):
        step = mpmath.mpf(10) ** -20
        above, below = (mpmath.logm(mpmath.matrix(a) + s * step * mpmath.matrix(v)) for s in (1, -1))
        wanted = (above - below) / (2 * step)
    wanted = np.array([[float(mpmath.re(wanted[i, j])) for j in range(2)] for i in range(2)])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_a_function_with_a_kink_keeps_its_slopes() -> None:
    """|A| of a matrix with eigenvalues on both sides of zero."""
    a, v = np.diag([-0.001, 0.003, 1.0]), hermitian(signed(3, 3))
    magnitude = lambda a: linalg.funm(hermitian(a), np.abs)
    found = ad.jvp(magnitude, (a,), (v,))[1]
    step = 1e-7
    root = lambda x: scipy.linalg.sqrtm(x @ x).real
    np.testing.assert_allclose(found, (root(a + step * v) - root(a - step * v)) / (2 * step), atol=1e-5)


def test_compiled_values_and_gradients_are_the_same() -> None:
    def f(a):
        return np.sum(linalg.sqrtm(a) * linalg.signm(a)) + np.sum(linalg.funm(hermitian(a), np.tanh) * linalg.cosm(a))

    for g in (f, ad.grad(f)):
        compared(ad.jit(g)(A), g(A), 1e-12)


def test_norms_are_estimated_without_disturbing_the_users_draws() -> None:
    """The matrix is large enough for SciPy to draw; values and gradients, compiled, traced, and in threads."""
    large = 5 * np.eye(5) + signed(5, 5)
    state = lambda: np.random.get_state(legacy=False)["state"]
    before = state()
    scipy.linalg.logm(np.triu(large))
    assert not same_state(state(), before)  # SciPy's own does draw
    before = state()
    for f in (linalg.logm, lambda a: linalg.fractional_matrix_power(a, 0.3)):
        for g in (f, ad.grad(lambda a, f=f: np.sum(f(a) ** 2))):
            wanted = g(large)
            compared(ad.jit(g)(large), wanted, 1e-12)
            compared(ad.trace(g)(large)(large), wanted, 1e-12)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(linalg.logm, [large] * 4))
    assert same_state(state(), before)


def same_state(first, second) -> bool:
    return first["pos"] == second["pos"] and np.array_equal(first["key"], second["key"])


@pytest.mark.parametrize("call, error, words", [
    (lambda: linalg.funm(A, np.exp), UnsupportedError, "not Hermitian.*expm"),
    (lambda: linalg.funm(gram(A), np.exp, disp=False), UnsupportedError, "disp"),
    (lambda: ad.grad(lambda s: np.sum(linalg.funm(gram(A), lambda w: w * s)))(2.0), TraceError, "closes over"),
    (lambda: linalg.logm(np.zeros((2, 2))), np.linalg.LinAlgError, "singular"),
    (lambda: ad.grad(lambda a: np.sum(linalg.sqrtm(a)))(np.zeros((2, 2))), np.linalg.LinAlgError, "sqrtm"),
    (lambda: linalg.signm(np.array([[0.0, 1.0], [-1.0, 0.0]])), np.linalg.LinAlgError, "imaginary axis"),
    (lambda: linalg.sqrtm(A, disp=False), UnsupportedError, "disp"),
    (lambda: linalg.fractional_matrix_power(A, A), ValueError, "number"),
    (lambda: linalg.expm_frechet(A, np.eye(2)), ValueError, "same shape"),
])  # fmt: skip
def test_wrong_calls_raise(call, error, words) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_matrix_without_a_root_gives_nan() -> None:
    assert np.all(np.isnan(linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))))


def test_where_symmetry_is_not_known_others_give_nan() -> None:
    stack = np.stack([gram(A), A])
    found = ad.scan(lambda c, a: (c, linalg.funm(a, np.exp)), 0.0, stack)[1]
    np.testing.assert_allclose(found[0], scipy.linalg.expm(gram(A)), rtol=1e-10)
    assert np.all(np.isnan(found[1]))
