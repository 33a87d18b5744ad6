"""Operations written out by simpler ones: they compute the same, also where sizes are one or nothing."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.expand import expand_program
from adjoint.ops.arrays.logsumexp import LogSumExp
from adjoint.ops.arrays.norm import Length
from adjoint.program.check import check
from adjoint.program.program import interpret
from tests.random_programs.running import agrees
from tests.simplify.programs import program_of, titles

rng = np.random.default_rng(7)


def array(*shape, dtype="float64"):
    return (rng.normal(size=shape) * 2).astype(dtype)


def same(f, *args):
    program, flat = program_of(f, *args)
    after = check(expand_program(program))
    for a, b in zip(interpret(after, flat), interpret(program, flat), strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    return after


SPECS = [
    ("ij,jk->ik", (5, 6), (6, 7)), ("ij,kj->ki", (5, 6), (7, 6)), ("bij,bjk->bik", (3, 4, 5), (3, 5, 6)),
    ("ij,ij->", (4, 5), (4, 5)), ("ii->i", (4, 4)), ("ij->j", (4, 5)), ("i,j->ji", (3,), (4,)),
    ("ij,jk,k->i", (8, 9), (9, 7), (7,)), ("ijk,k->ij", (4, 5, 6), (6,)), ("abc,cd,bd->ad", (3, 4, 5), (5, 6), (4, 6)),
    ("ij,jk->ik", (0, 6), (6, 7)), ("ij,jk->ik", (5, 0), (0, 7)), ("...i,...i->...", (2, 3, 4), (1, 3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("spec, shapes", [(s[0], s[1:]) for s in SPECS], ids=lambda x: str(x))
def test_contractions(spec, shapes) -> None:
    xs = [array(*s) for s in shapes]
    after = same(lambda *xs: np.einsum(spec, *xs), *xs)
    if len(xs) > 1:
        assert "einsum" not in titles(after)


def test_products_of_integers_and_of_mixed_dtypes() -> None:
    for dtype in ("int8", "uint16", "int64"):
        a, b, v = (array(*s, dtype="int64").astype(dtype) for s in ((3, 4), (4, 2), (4,)))
        assert "matmul" not in titles(same(lambda a, b, v: [a @ b, a @ v, v @ b, v @ v, a[None] @ b], a, b, v))
    a, b = array(3, 4, dtype="float32"), array(4, 2)
    agrees(lambda a, b: [a @ b, b.T @ a.T, np.arange(4) @ b], a, b)


def test_reductions_and_positions() -> None:
    x = array(3, 5)
    x[1, 2] = x[1].max() + 1
    x[1, 4] = x[1, 2]
    y = x.copy()
    y[0, 3] = np.nan
    y[2] = np.inf
    for z in (x, x.astype("float32"), y, np.array([[-np.inf, -np.inf], [np.inf, 1.0]])):
        rounding = 1e-5 if z.dtype == "float32" else 1e-12
        agrees(lambda z: [LogSumExp((1,))(z), LogSumExp((0, 1))(z), Length((0,))(z)], z, rounding=rounding)
        agrees(lambda z: [np.argmax(z, axis=1), np.argmin(z, axis=0), np.argmax(z), np.count_nonzero(z > 0)], z)
    integers = rng.integers(0, 3, (4, 6))
    agrees(lambda z: [np.argmax(z, axis=0), np.argmin(z, axis=1), np.count_nonzero(z, axis=1)], integers)
    agrees(lambda z: [np.argmax(z, axis=0), np.argmin(z)], integers > 1)


def test_programs_inside_loops_are_written_out_and_others_stay() -> None:
    x = array(4, 6)
    after = same(lambda x: ad.scan(lambda c, r: (c + np.einsum("i,i->", r, r), np.argmax(r)), 0.0, x), x)
    (loop,) = [eq for eq in after.equations if eq.op.title == "scan"]
    assert not {"einsum", "argmax"} & set(titles(loop.op.body))
    program, _ = program_of(lambda x: np.sin(x) @ x.T, x)
    assert expand_program(program) is program


def test_what_is_written_out_shares_a_factorization_that_is_there() -> None:
    """A least squares solution asks for singular values, and so does the pseudo-inverse inside it."""
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(30, 4)), rng.normal(size=30)
    f = ad.jit(lambda a, b: np.linalg.lstsq(a, b, rcond=None))
    for got, want in zip(f(a, b), np.linalg.lstsq(a, b, rcond=None), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)
    assert str(f.report()).count("kernel     svd") == 1
