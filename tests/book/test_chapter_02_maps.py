"""Linear maps as objects, their adjoints, and bilinear maps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import adjoint as ad
from adjoint import linear, tree
from adjoint.testing import check_linear
from tests.book.recording import recorded, shapes
from tests.linear.examples import MAPS

RNG = np.random.default_rng(31)
M, P = 5, 4
a, u = RNG.normal(size=(2, M))
b, v = RNG.normal(size=(2, P))


@pytest.mark.row("2.3.3", "B2.3.e")
def test_a_map_of_rank_one():
    """l[v] = (a bᵀ) v is (bᵀ v) a, its adjoint (aᵀ u) b; no M × P array is made unless it is asked for."""
    l = linear.low_rank(a, b)
    assert_allclose(l @ v, (b @ v) * a, rtol=1e-14)
    assert_allclose(l.adjoint @ u, (a @ u) * b, rtol=1e-14)
    assert_allclose(l.to_dense(), np.outer(a, b), rtol=1e-14)
    for f, x in ((l, v), (l.adjoint, u)):
        assert (M, P) not in shapes(recorded(f, x))
        assert max(np.prod(shape, initial=1) for shape in shapes(recorded(f, x))) <= max(M, P)
    check_linear(l, v)


@pytest.mark.row("2.3.3", "B2.3.e")
@pytest.mark.parametrize("name", MAPS)
def test_adjoints_of_all_kinds_of_maps(name):
    """⟨l[v], u⟩ = ⟨v, l*[u]⟩, and l** = l."""
    l = MAPS[name]()
    v, u = l.domain.random(RNG), l.range.random(RNG)
    size = tree.norm(l(v)) * tree.norm(u)
    assert tree.vdot(l(v), u) == pytest.approx(tree.vdot(v, l.adjoint(u)), rel=1e-12, abs=1e-12 * size)
    assert_allclose(l.range.ravel(l.adjoint.adjoint(v)), l.range.ravel(l(v)), rtol=1e-12, atol=1e-12)


@pytest.mark.row("2.3.3", "B2.3.e")
def test_sums_and_compositions_of_maps():
    """(l₁ ∘ l₂)* = l₂* ∘ l₁*, (l₁ + l₂)* = l₁* + l₂*; for a matrix the adjoint is its transpose."""
    A, B, C = RNG.normal(size=(M, P)), RNG.normal(size=(P, 3)), RNG.normal(size=(M, P))
    first, second, third = linear.matrix(A), linear.matrix(B), linear.matrix(C)
    assert_allclose(first.adjoint.to_dense(), A.T)
    assert_allclose((first @ second).to_dense(), A @ B, rtol=1e-13)
    left, right = (first @ second).adjoint, second.adjoint @ first.adjoint
    assert_allclose(left @ u, right @ u, rtol=1e-13)
    assert_allclose((first + 2 * third).adjoint @ u, A.T @ u + 2 * C.T @ u, rtol=1e-12)
    # the derivative of a composition is the composition of derivatives
    f, g = (lambda x: np.sin(A @ x)), (lambda y: np.tanh(y) * y[::-1])
    composed = linear.jacobian(g)(f(v)) @ linear.jacobian(f)(v)
    assert_allclose(composed.to_dense(), ad.jacobian(lambda x: g(f(x)))(v), rtol=1e-11)
    assert_allclose(composed.adjoint @ u, ad.vjp(lambda x: g(f(x)), v)[1](u)[0], rtol=1e-11)


@pytest.mark.row("B2.4.d")
def test_bilinear_maps():
    """b[v, v'] = ΣΣ vᵢ v'ⱼ b[eᵢ, eⱼ], and it is linear in each slot."""
    T = RNG.normal(size=(2, 3, P))
    b = linear.bilinear(lambda x, y: np.einsum("kij,i,j->k", T, x, y), 3, P)
    x, y = RNG.normal(size=3), RNG.normal(size=P)
    table = {(i, j): b(np.eye(3)[i], np.eye(P)[j]) for i in range(3) for j in range(P)}
    assert_allclose(b(x, y), sum(x[i] * y[j] * entry for (i, j), entry in table.items()), rtol=1e-12)
    check_linear(lambda x: b(x, y), x)
    check_linear(lambda y: b(x, y), y)
    check_linear(b.fix_first(x), y)
    assert_allclose(b.to_dense(), T)
    # a form: b[v, v'] = ⟨v, A v'⟩
    A = RNG.normal(size=(3, P))
    form = linear.bilinear_form(linear.matrix(A))
    assert form(x, y) == pytest.approx(x @ A @ y, rel=1e-13)
    assert_allclose(form.as_map().to_dense(), A)
