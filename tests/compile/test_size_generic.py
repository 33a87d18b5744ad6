"""Programs that differ in sizes alone: one code, for all sizes that answer its comparisons alike."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.compile.expand import expand_program
from adjoint.compile.kernel import compile_program
from adjoint.compile.size_generic import Formulas, Reading, describe_reading
from tests.random_programs.running import agrees
from tests.simplify.programs import program_of

rng = np.random.default_rng(17)


def reading(f, *args):
    return Reading(program_of(f, *args)[0])


def test_a_skeleton_has_no_sizes() -> None:
    f = lambda x: np.sum(np.pad(x[1:], 2).reshape(1, -1), axis=1) * 0.5
    first, second = reading(f, np.ones(7)), reading(f, np.ones(20))
    assert first.skeleton == second.skeleton
    assert first.numbers != second.numbers
    assert first.literals == second.literals
    other = reading(lambda x: np.sum(np.pad(x[1:], 2).reshape(1, -1), axis=0) * 0.5, np.ones(7))
    assert other.skeleton != first.skeleton
    assert reading(f, np.ones(7, np.float32)).skeleton != first.skeleton


def test_formulas_explain_the_numbers_of_others() -> None:
    f = lambda x: np.concatenate([x, x[:, 1:]], axis=1).reshape(-1) + 1.0
    at = lambda n, m: reading(f, np.ones((n, m)))
    formulas = Formulas(at(3, 8), at(6, 13))
    for n, m in ((3, 8), (6, 13), (7, 2), (2, 31)):
        sizes = formulas.sizes(at(n, m))
        assert sizes is not None
        assert {n, m} <= set(sizes.values())
    wrong = at(4, 9)
    wrong.numbers[-1] += 1
    assert formulas.sizes(wrong) is None


def mixed(x, y):
    """Most of what can be done at any size."""
    s = np.sum(x * x) / len(x)
    z = np.concatenate([x[1:], y, x[:1]]) * s
    inner = z[1:-1] + z[2:] - z[:-2]
    w = np.where(inner > 0.1, np.exp(-inner), inner)
    return [np.pad(w, 1) + z, np.max(w), np.mean(z[::-1]), np.outer(x, y), w[None, :] * x[:, None], np.stack([x, x])]


def test_one_code_for_many_sizes() -> None:
    """Also small ones, and those where an axis has one element or the sizes happen to be equal."""
    seen = []
    for n, m in ((9, 5), (30, 12), (7, 7), (100, 3), (4, 1), (1, 6), (33, 64), (2, 2), (3, 2000)):
        kernel = agrees(mixed, rng.normal(size=n), rng.normal(size=m))
        seen.append(kernel.notes["any size"])
    assert seen[0] is False
    assert sum(seen) >= 4


def test_gradients_and_loops_at_many_sizes() -> None:
    def f(x, w):
        def step(c, row):
            return np.tanh(c * 0.5 + row * w), np.sum(c)

        last, ys = ad.scan(step, x[0], x)
        return np.sum(last) + np.sum(ys**2)

    gradient = ad.value_and_grad(f, argnums=(0, 1))
    for n, m in ((5, 7), (11, 40), (3, 17), (1, 8), (20, 33)):
        agrees(gradient, rng.normal(size=(n, m)), rng.normal(size=m))


def test_literals_that_follow_sizes_are_constants_of_the_code() -> None:
    f = lambda x: np.mean(x) + np.sum(x) / (2.5 * len(x))
    kernels = [agrees(f, rng.normal(size=n)) for n in (6, 14, 50, 51)]
    assert any(k.notes["any size"] for k in kernels)


def test_different_literals_are_not_confused() -> None:
    """The same skeleton with other numbers at one size: no code is shared that has the first number in it."""
    x = rng.normal(size=5)
    for c in (2.0, 3.0, -0.0, 0.0, np.float64(3.0), 4):
        program, _ = program_of(lambda x, c=c: [x * c, np.copysign(1.0, x * 0.0 + c)], x)
        actual = compile_program(program).run([x])
        np.testing.assert_array_equal(actual[0], x * c)
        np.testing.assert_array_equal(np.signbit(actual[1]), np.signbit(x * 0.0 + c))


@pytest.mark.parametrize("n", [3, 16, 17, 64, 65])
def test_windows_and_results_of_other_lengths_at_any_size(n) -> None:
    f = lambda x: [x[2:] - x[:-2], x * 2.0, np.cumsum(x), np.concatenate([x, x[::2]]), x[:3] + 1.0]
    agrees(f, rng.normal(size=40))
    agrees(f, rng.normal(size=25))
    agrees(f, rng.normal(size=n))


def test_what_lies_across_and_long_extrema_at_any_size() -> None:
    """Squares are transposed in registers, and extrema found side by side, in code for many sizes as well."""
    seen = []
    for n, m in ((20, 33), (40, 47), (64, 16), (3, 300), (17, 129)):
        x, y = rng.normal(size=(n, m)), rng.normal(size=(m, n))
        kernel = agrees(lambda x, y: [x.T + y, np.max(x), np.min(x.T * y), np.sum(x[0] * y[:, 0])], x, y)
        seen.append(kernel.notes["any size"])
    assert any(seen)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ad.random.default_rng(3).normal(size=4) * x[..., :1],
        lambda x: np.linalg.det(x @ x.T) + np.linalg.svd(x)[1][..., 0],
        lambda x: np.fft.rfft(x)[..., None, 1:],
        lambda x: np.convolve(x[0], x[1]),
    ],
    ids=["draws", "factors", "transforms", "convolution"],
)
def test_programs_written_out_have_a_text(f) -> None:
    """Machine code on disk is found by it."""
    program = expand_program(program_of(f, np.ones((5, 5)))[0])
    text = describe_reading(Reading(program))
    assert text is not None
    assert text == describe_reading(Reading(expand_program(program_of(f, np.ones((5, 5)))[0])))
