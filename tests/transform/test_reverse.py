"""Reverse mode: the record, how it is read back, and what that costs."""

import tracemalloc

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.errors import NotLinear
from adjoint.program.trace import running
from adjoint.transform.tape import Tape


def by_differences(f, x, step=1e-5):
    """The gradient by central differences."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = step
        out[i] = (f(x + e) - f(x - e)) / (2 * step)
    return out


def recorded(f, *values) -> Tape:
    """The tape of one run."""
    tape = Tape()
    with running(tape):
        f(*[tape.input(v) for v in values])
    return tape


# ---- what is recorded ----


def kept(tape: Tape, k: int) -> tuple:
    """What the k-th entry keeps of x, y and z."""
    return tuple(v is not None for v in tape.entries[k][3:6])


@pytest.mark.parametrize(
    "f, keeps",
    [
        (np.exp, (False, False, True)),
        (np.sin, (True, False, False)),
        (np.tanh, (False, False, True)),
        (np.negative, (False, False, False)),
        (lambda x: x + 1.0, (False, False, False)),
        (lambda x: x * np.ones(3), (False, True, False)),
        (lambda x: np.ones(3) * x, (True, False, False)),
        (lambda x: np.ones(3) / x, (False, True, True)),
        (lambda x: x / np.ones(3), (False, True, False)),
    ],
)
def test_only_what_the_partials_read_is_kept(f, keeps) -> None:
    assert kept(recorded(f, np.linspace(1.0, 2.0, 3)), 1) == keeps


def test_what_depends_on_no_input_is_not_recorded() -> None:
    def f(x):
        c = np.zeros_like(x)
        for _ in range(10):
            c = np.sin(c) + 1.0
        return x * c

    assert len(recorded(f, np.ones(2)).entries) == 2  # the input and the product


def test_flat_functions_are_not_recorded() -> None:
    def f(x):
        n = np.argmax(x, axis=0) + np.sum(x > 0.5)
        return x * np.floor(x), n, np.argsort(x)

    assert len(recorded(f, np.linspace(0.1, 3.1, 4)).entries) == 2


def test_eager_values_of_flat_functions_are_plain() -> None:
    seen = []

    def f(x):
        seen.extend([np.argmax(x), x > 0, np.isnan(x), np.argsort(x)])
        return np.sum(x)

    ad.grad(f)(np.ones(3))
    assert all(isinstance(s, np.ndarray | np.generic) for s in seen)


# ---- accumulation ----


def test_fan_out_is_summed() -> None:
    def f(x):
        y = np.sin(x)
        return np.sum(y * y + y + x * y + np.exp(y) + y[::-1] * y + y.sum() * y)

    x = np.linspace(0.2, 1.0, 4)
    np.testing.assert_allclose(ad.grad(f)(x), by_differences(f, x), rtol=1e-8)


def test_accumulation_does_not_write_into_shared_cotangents() -> None:
    """The same cotangent array reaches several variables; adding to one must not change another."""

    def f(x, y):
        s = x + y  # one cotangent for both
        return np.sum(s * s + 3.0 * x + y[::-1])

    x, y = np.array([1.0, 2.0]), np.array([5.0, 7.0])
    gx, gy = ad.grad(f, argnums=(0, 1))(x, y)
    np.testing.assert_allclose(gx, 2 * (x + y) + 3)
    np.testing.assert_allclose(gy, 2 * (x + y) + 1)


def test_numbers_indexed_and_used_whole() -> None:
    """0-d arrays: NumPy's sums of them are scalars, which cannot be written to."""
    f = lambda x: np.flip(x) * 2.0 + x * x + x[...] * x[None][0] + x
    assert ad.grad(f)(1.5) == 2.0 + 4 * 1.5 + 1.0
    assert ad.jvp(ad.grad(f), (1.5,), (1.0,))[1] == 4.0
    np.testing.assert_array_equal(ad.vmap(ad.grad(f))(np.array([1.5, 2.0])), [9.0, 11.0])


def test_a_seed_is_not_changed() -> None:
    u = np.ones(3)
    _, pullback = ad.vjp(lambda x: (x, x * 1.0, x + x), np.arange(3.0))
    first = pullback((u, u, u))[0]
    first += 100.0
    np.testing.assert_array_equal(u, 1.0)
    np.testing.assert_array_equal(pullback((u, u, u))[0], 4.0)


def test_accumulated_sums_are_in_place() -> None:
    """Many contributions to one large variable need a bounded number of arrays."""
    x = np.ones(200_000)

    def f(x):
        total = 0.0
        for k in range(40):
            total = total + np.sum(x * float(k))
        return total

    ad.grad(f)(x)
    tracemalloc.start()
    g = ad.grad(f)(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(g, sum(range(40)))
    assert peak < 8 * x.nbytes


def test_views_as_results_are_copies() -> None:
    x = np.ones((2, 3))
    g = ad.grad(lambda x: np.sum(x))(x)
    assert g.flags.owndata
    assert g.flags.writeable
    g[0, 0] = 5.0
    a, b = ad.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(x, x)
    a += 1.0
    np.testing.assert_array_equal(b, 1.0)


def test_results_are_never_the_callers_memory() -> None:
    x = np.arange(3.0)
    value, _ = ad.vjp(lambda x: x, x)
    assert not np.shares_memory(value, x)
    u = np.ones(3)
    pulled = ad.vjp(lambda x: x, x)[1](u)[0]
    pulled += 1.0
    np.testing.assert_array_equal(u, 1.0)
    y, dy = ad.jvp(lambda x: x, (x,), (u,))
    assert not np.shares_memory(y, x)
    dy += 1.0
    np.testing.assert_array_equal(u, 1.0)


def hand_back(x):
    """Results that are no new memory."""
    return {
        "argument": x,
        "view": x[::-1],
        "constant": CONSTANT,
        "stopped": ad.stop_gradient(x),
        "of constant": CONSTANT.T,
    }


CONSTANT = np.ones(3)
IDENTITIES = {
    "vjp": lambda x, u: ad.vjp(hand_back, x)[0],
    "vjp aux": lambda x, u: ad.vjp(lambda x: (x, hand_back(x)), x, has_aux=True)[2],
    "grad aux": lambda x, u: ad.grad(lambda x: (np.sum(x), hand_back(x)), has_aux=True)(x)[1],
    "jvp": lambda x, u: ad.jvp(hand_back, (x,), (u,)),
    "jvp aux": lambda x, u: ad.jvp(lambda x: (x, hand_back(x)), (x,), (u,), has_aux=True)[2],
    "linearize": lambda x, u: ad.linearize(hand_back, x)[0],
    "push": lambda x, u: ad.linearize(hand_back, x)[1](u),
    "pull": lambda x, u: ad.vjp(lambda x: (x, x), x)[1]((u, u)),
    "pull one": lambda x, u: ad.vjp(lambda x: x, x)[1](u),
    "transpose": lambda x, u: ad.linear_transpose(lambda x: x, x)(u),
    "vmap": lambda x, u: ad.vmap(hand_back)(np.stack([x, x])),
    "vmap identity": lambda x, u: ad.vmap(lambda x: x)(x),
    "vmap constant": lambda x, u: ad.vmap(lambda x: CONSTANT, out_axes=None)(x),
    "jet": lambda x, u: ad.jet(hand_back, (x,), ((u, u),)),
}


@pytest.mark.parametrize("name", IDENTITIES)
@pytest.mark.parametrize("size", [3, 30_000])
def test_what_is_handed_back_is_new(name, size) -> None:
    """A result shares no memory with an argument, a tangent, a captured array or another result; large arrays too."""
    x, u = np.arange(1.0 * size), np.ones(size)
    leaves = [v for v in ad.tree.leaves(IDENTITIES[name](x, u)) if isinstance(v, np.ndarray)]
    assert leaves
    for k, leaf in enumerate(leaves):
        assert leaf.flags.writeable
        assert not any(np.shares_memory(leaf, other) for other in (x, u, CONSTANT, *leaves[:k]))
    assert x.flags.writeable
    assert CONSTANT.flags.writeable


# ---- vjp and linearize keep the record ----


def test_a_pullback_can_be_called_often() -> None:
    y, pullback = ad.vjp(lambda x: np.sin(x) * x[::-1], np.arange(3.0))
    first = pullback(np.ones(3))[0]
    np.testing.assert_array_equal(pullback(np.ones(3))[0], first)
    np.testing.assert_allclose(pullback(2 * np.ones(3))[0], 2 * first)
    y[...] = 0  # what was returned belongs to the caller
    np.testing.assert_array_equal(pullback(np.ones(3))[0], first)


def test_writing_to_what_was_returned_leaves_the_record_alone() -> None:
    y, pullback, aux = ad.vjp(lambda x: ((z := np.exp(x)), {"z": z, "x": x}), np.zeros(3), has_aux=True)
    y[...] = aux["z"][...] = aux["x"][...] = 7.0
    np.testing.assert_array_equal(pullback(np.ones(3))[0], np.ones(3))


def test_no_output_depends_on_the_input() -> None:
    y, pullback = ad.vjp(lambda x: (np.ones(2), 3.0), np.arange(3.0))
    np.testing.assert_array_equal(pullback((np.ones(2), 1.0))[0], np.zeros(3))
    assert ad.grad(lambda x: 3.0)(1.0) == 0.0
    assert ad.grad(lambda x: 3)(1.0) == 0.0
    assert y[1] == 3.0


def test_one_variable_returned_twice() -> None:
    _, pullback = ad.vjp(lambda x: [(y := x * 2.0), y, x], np.ones(2))
    np.testing.assert_allclose(pullback([np.ones(2), 10 * np.ones(2), np.ones(2)])[0], 23.0)


def test_single_precision_stays_single() -> None:
    x = np.linspace(0.1, 1.0, 4, dtype=np.float32)
    g = ad.grad(lambda x: np.sum(np.sin(x) * 2.0 / (x + 1)))(x)
    assert g.dtype == np.float32
    wide = ad.grad(lambda x: np.sum(np.sin(x) * 2.0 / (x + 1)))(x.astype(float))
    np.testing.assert_allclose(g, wide, rtol=1e-5)
    mixed = ad.grad(lambda x: np.sum(x.astype(np.float64) * np.ones(4)))(x)
    assert mixed.dtype == np.float32


def test_complex_gradients() -> None:
    z = np.array([1.0 + 2.0j, -0.5 + 0.3j])
    f = lambda z: np.sum(np.abs(np.exp(z) * z) ** 2) + np.real(z[0] * np.conj(z[1]))
    real, imaginary = (by_differences(lambda t, d=d: f(z + d * t), np.zeros(2)) for d in (1.0, 1j))
    np.testing.assert_allclose(ad.grad(f)(z), real + 1j * imaginary, rtol=1e-7)
    np.testing.assert_allclose(ad.grad(lambda z: np.sum(z**3), holomorphic=True)(z), 3 * z**2, rtol=1e-13)


@pytest.mark.parametrize("argnums", [(0, 0), (0, -2), ("x", 0), ("y", "y")])
def test_an_argument_named_twice(argnums) -> None:
    with pytest.raises(TypeError, match="twice"):
        ad.grad(lambda x, y: x * y, argnums=argnums)(2.0, 3.0)


@pytest.mark.parametrize(
    "function", [lambda x: 2.0 * x + 1.0, lambda x: np.concatenate([x, np.ones(2)]), lambda x: np.where(x > 0, x, 3.0)]
)
def test_affine_functions_have_no_transpose(function) -> None:
    with pytest.raises(NotLinear):
        ad.linear_transpose(function, np.zeros(3))(np.ones(3 if function(np.zeros(3)).shape == (3,) else 5))
