"""Einsum and the products made of it."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from adjoint.program.record import record_program
from adjoint.program.types import type_of
from tests.numpy.checking import Case, array, complex_array, every_check

A, B, C = array(2, 3), array(3, 4, seed=1), array(4, 2, seed=2)
CASES = [
    *[
        Case(f"einsum {spec}", lambda *xs, spec=spec: np.einsum(spec, *xs), inputs)
        for spec, inputs in (
            ("ij,jk->ik", (A, B)),
            ("ij,jk", (A, B)),
            ("ij->ji", (A,)),
            ("ij->", (A,)),
            ("ij->j", (A,)),
            ("ii", (array(3, 3),)),
            ("ii->i", (array(3, 3),)),
            ("iij->j", (array(2, 2, 3),)),
            ("iijj->ij", (array(2, 2, 3, 3),)),
            ("...ij,...jk->...ik", (array(2, 2, 3), B)),
            ("i...->...", (array(2, 3),)),
            ("ij,jk,kl->il", (A, B, C)),
            ("ij,jk,ki->", (A, B, C)),
            ("a,b,c,d->abcd", (array(2), array(2, seed=1), array(2, seed=2), array(2, seed=3))),
            ("ij,j", (A, array(3))),
            ("i,i->", (array(3), array(3, seed=1))),
            ("ij,ij->ij", (A, A + 1)),
            ("i,j", (array(2), array(3))),
            ("ba,cb", (A, array(2, 2))),
            ("ij,kj->ik", (array(2, 1), array(2, 3, seed=1))),
            (" i j , j k -> k i ", (A, B)),
        )
    ],
    Case("einsum of lists of indices", lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), (A, B)),
    Case("einsum of lists, ellipsis", lambda a, b: np.einsum(a, [..., 0], b, [0, 1]), (A, B)),
    Case("einsum with options", lambda a, b: np.einsum("ij,jk->ik", a, b, optimize=True, dtype=np.float64), (A, B)),
    Case("einsum with out", lambda a, b: np.einsum("ij,jk->ik", a, b, out=np.zeros_like(a, shape=(2, 4))), (A, B)),
    Case(
        "einsum complex", lambda a, b: np.einsum("ij,jk->ki", a, b), (complex_array(2, 3), complex_array(3, 2, seed=1))
    ),
    Case("einsum same operand", lambda a: np.einsum("ij,kj->ik", a, a), (A,)),
    *[
        Case(f"dot {np.shape(a)} {np.shape(b)}", np.dot, (a, b))
        for a, b in (
            (array(3), array(3, seed=1)),
            (A, B),
            (A, array(3)),
            (array(2), A),
            (1.5, A),
            (A, 2.5),
            (array(2, 2, 3), array(2, 3, 4, seed=1)),
            (array(3), array(2, 3, 4)),
        )
    ],
    Case("vdot", np.vdot, (complex_array(2, 2), complex_array(2, 2, seed=1))),
    Case("inner", np.inner, (array(2, 3), array(4, 3, seed=1))),
    Case("inner of numbers", lambda a, b: np.inner(a, b), (1.5, A)),
    Case("outer", np.outer, (array(2, 2), array(3, seed=1))),
    Case("tensordot", np.tensordot, (array(2, 3, 4), array(3, 4, 2, seed=1))),
    Case("tensordot 1", lambda a, b: np.tensordot(a, b, 1), (A, B)),
    Case(
        "tensordot axes", lambda a, b: np.tensordot(a, b, axes=((0, -1), (1, 0))), (array(2, 3, 4), array(4, 2, seed=1))
    ),
    Case("kron", np.kron, (A, array(2, 2, seed=1))),
    Case("kron of other ndim", np.kron, (array(2), array(2, 3, seed=1))),
    Case("trace", lambda a: np.trace(a, offset=1), (array(3, 4),)),
    Case("trace axes", lambda a: np.trace(a, axis1=2, axis2=0), (array(2, 3, 2),)),
    Case("cross", np.cross, (array(3), array(3, seed=1))),
    Case("cross stack", lambda a, b: np.cross(a, b, axis=0), (array(3, 2), array(3, 2, seed=1))),
    Case("matmul", np.matmul, (array(2, 2, 3), array(3, 2, seed=1))),
    Case("matmul operator", lambda a, b: a @ b @ a, (array(2, 2), array(2, 2, seed=1))),
]


@every_check(CASES)
def test_products(case, check) -> None:
    check(case)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.einsum("ij,jk", x, np.ones((4, 2))),
        lambda x: np.einsum("ijk->i", x),
        lambda x: np.einsum("ij->ii", x),
        lambda x: np.einsum("ij->k", x),
        lambda x: np.einsum("ij,jk->ik", x),
        lambda x: np.tensordot(x, np.ones((2, 2)), 1),
        lambda x: np.dot(x, np.ones((4, 2, 2))),
        lambda x: np.cross(x, np.ones((2, 5))),
    ],
)
def test_wrong_shapes_raise(call) -> None:
    with pytest.raises(ValueError):
        ad.grad(lambda x: np.sum(call(x)))(np.ones((2, 3)))


@st.composite
def sums(draw):
    """An expression for einsum and shapes that fit it: repeated indices, ellipses, axes of length one, no output."""
    sizes = {"a": 2, "b": 3, "c": 4, "d": 1}
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.text("abcd", max_size=3))
        lead = draw(st.sampled_from([None, (), (2,), (3, 2), (1, 2)]))
        at = draw(st.integers(0, len(letters)))
        terms.append(letters if lead is None else f"{letters[:at]}...{letters[at:]}")
        shape = [sizes[c] for c in letters]
        shapes.append(tuple(shape if lead is None else [*shape[:at], *lead, *shape[at:]]))
    spec = ",".join(terms)
    if draw(st.booleans()):
        kept = draw(st.lists(st.sampled_from(sorted(set(spec) - set(".,")) or ["a"]), unique=True))
        spec += "->" + ("..." if "..." in spec else "") + "".join(c for c in kept if c in spec)
    return spec, shapes, draw(st.sampled_from([False, True, "greedy", "optimal", ("optimal", 100)]))


@settings(deadline=None, max_examples=150)
@given(sums())
def test_any_expression(expression) -> None:
    spec, shapes, optimize = expression
    arrays = tuple(np.random.default_rng(len(spec)).normal(size=shape) for shape in shapes)
    wanted = np.einsum(spec, *arrays)
    found = ad.jvp(lambda *xs: np.einsum(spec, *xs, optimize=optimize), arrays, arrays)[0]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    assert np.shape(found) == np.shape(wanted)


def test_a_path_is_followed() -> None:
    """(a b) c with a large product of a and b in between, because the caller says so."""
    a, b, c = array(9, 1), array(1, 9), array(9, 1)
    spec = "ij,jk,kl->il"
    path = ["einsum_path", (0, 1), (0, 1)]
    for given_path, largest in (
        (np.einsum_path(spec, a, b, c, optimize=path)[0], 81),
        (path, 81),
        (["einsum_path", (1, 2), (0, 1)], 9),
        (["einsum_path", (0, 1, 2)], 9),
        ("greedy", 9),
    ):
        f = lambda a, b, c, given_path=given_path: [np.einsum(spec, a, b, c, optimize=given_path)]
        program = record_program(f, [type_of(x) for x in (a, b, c)])[0]
        np.testing.assert_allclose(program(a, b, c)[0], a @ b @ c)
        assert max(out.type.size for eq in program.equations for out in eq.outputs) == largest
    with pytest.raises(TypeError, match="best"):
        ad.vjp(lambda a, b, c: np.einsum(spec, a, b, c, optimize="best"), a, b, c)


@pytest.mark.parametrize("size", [10, 5000])
@pytest.mark.parametrize("kind", [bool, np.uint8, np.int16, np.float16])
@pytest.mark.parametrize("spec", ["z,i->z", "z,i,i->z", "z,i,j->zj", "i,i->"])
def test_partial_sums_have_the_dtype_of_the_whole(spec: str, kind, size: int) -> None:
    """Operands of few bits that meet first, or are summed alone, wrap around in no order of contraction."""
    x, m = np.linspace(0, 3, size), (np.arange(size) % 7 * 40).astype(kind)
    args = {"z,i->z": (x, m), "i,i->": (x, m), "z,i,i->z": (x, m, m), "z,i,j->zj": (x[:30], m, m[:9])}[spec]
    f = lambda *arrays: np.einsum(spec, *arrays)
    expected = f(*[a.astype(float) for a in args])
    assert f(*args) == pytest.approx(expected, rel=1e-12)
    assert ad.jvp(lambda x: f(x, *args[1:]), args[:1], args[:1])[0] == pytest.approx(expected, rel=1e-12)
    assert ad.jit(f)(*args) == pytest.approx(expected, rel=1e-12)
    assert ad.vmap(f)(*[a[None] for a in args])[0] == pytest.approx(expected, rel=1e-12)
