"""The model of operations against loops written out, and against the usual counts."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.audit.cost import count
from adjoint.audit.flops import FLOPS
from adjoint.ops.elementwise.pointwise import BY_NAME

RNG = np.random.default_rng(0)


def flops(f, *args):
    tally = count(ad.trace(f)(*args).program, args)
    assert not tally.unmodeled
    return tally.flops


class Counted:
    """A number that counts what is done with it."""

    done = 0

    def __init__(self, value):
        self.value = value

    def _new(self, value):
        Counted.done += 1
        return Counted(value)

    def __add__(self, other):
        return self._new(self.value + other.value)

    def __mul__(self, other):
        return self._new(self.value * other.value)


@pytest.mark.parametrize("spec", ["ij,jk->ik", "i,i->", "i,j->ij", "ij,ij->i"])
def test_products_against_numbers_that_count(spec):
    sizes = dict(zip("ijk", (3, 4, 5), strict=True))
    arrays = [RNG.normal(size=[sizes[c] for c in part]) for part in spec.split("->")[0].split(",")]
    counted = [np.vectorize(Counted, otypes=[object])(a) for a in arrays]
    Counted.done = 0
    if spec == "ij,jk->ik":
        counted[0] @ counted[1]
        assert flops(np.matmul, *arrays) == Counted.done
    elif spec == "i,i->":
        counted[0] @ counted[1]
    elif spec == "i,j->ij":
        np.multiply.outer(*counted)
    else:
        np.add.reduce(counted[0] * counted[1], axis=1)
    assert flops(lambda *xs: np.einsum(spec, *xs), *arrays) == Counted.done


@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: x + x, 9),
        (lambda x: x * 2.0 - x, 18),
        (np.sum, 8),
        (lambda x: np.max(x, axis=0), 6),
        (lambda x: x.T[1:], 0),
        (lambda x: np.where(x > 0, x, 0.0), 9),
        (lambda x: x @ x, 45),
        (np.linalg.cholesky, 9),
        (lambda x: np.linalg.solve(x, x[0]), 36),
        (lambda x: x**2, 9),
    ],
)
def test_usual_counts(f, expected):
    assert flops(f, np.eye(3) * 2.0) == expected


def test_elementary_functions_are_counted_apart():
    tally = count(ad.trace(lambda x: np.exp(x) * x)(np.ones(5)).program, [np.ones(5)])
    assert (tally.flops, tally.calls) == (5, 5)


def test_complex_arithmetic():
    z = np.array([1.0 + 2.0j, 3.0])
    assert flops(lambda z: z + z, z) == 4
    assert flops(lambda z: z * z, z) == 12


def test_a_primitive_without_model_is_named():
    x = np.eye(2)
    tally = count(ad.trace(lambda x: np.linalg.pinv(x))(x).program, [x])
    assert "pinv" in tally.unmodeled


def test_names_of_arithmetic_are_names_of_primitives():
    assert {name for name in set(FLOPS) if name not in BY_NAME} <= {"true_divide"}


def test_fourier_transforms_by_the_usual_count():
    for n in (8, 64):
        assert flops(np.fft.fft, np.ones(n) + 1j) == 5 * n * np.log2(n)
        assert flops(np.fft.rfft, np.ones(n)) == 2.5 * n * np.log2(n)
        assert flops(np.fft.irfft, np.ones(n // 2 + 1) + 1j) >= 2.5 * n * np.log2(n)
    assert flops(lambda z: np.fft.fft2(z), np.ones((4, 8)) + 1j) == 5 * 32 * 5
    assert flops(lambda x: np.fft.rfft(x, axis=0), np.ones((4, 8))) == 2.5 * 32 * 2
    assert flops(lambda x: np.fft.rfft2(x), np.ones((4, 8))) == 2.5 * 32 * 3 + 5 * 20 * 2
