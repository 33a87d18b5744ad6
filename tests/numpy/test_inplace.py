"""Assignment and aliasing: what NumPy does to plain arrays, traced arrays do too."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint as ad
import adjoint.numpy as adn
from adjoint.base.errors import ReadOnlyError, TraceError
from tests.numpy.checking import CHECKS, Case, check_compiled, complex_array

# each step takes the arrays made so far and a number; views and copies are made, and written to, in any order
STEPS = {
    "row": lambda a, k: a[k % len(a)] if a.ndim > 1 else a[k % 2 :],
    "rows": lambda a, k: a[k % 2 :: 1 + k % 3],
    "reversed": lambda a, k: a[::-1],
    "columns": lambda a, k: a[..., k % 2 :],
    "ellipsis": lambda a, k: a[..., k % a.shape[-1]],
    "new axis": lambda a, k: a[:, None],
    "transposed": lambda a, k: a.T,
    "swapped": lambda a, k: np.swapaxes(a, 0, -1),
    "flat": lambda a, k: a.ravel(),
    "reshaped": lambda a, k: a.reshape(-1),
    "reshaped F": lambda a, k: a.reshape(-1, order="F"),
    "flattened": lambda a, k: a.flatten(),
    "squeezed": lambda a, k: np.squeeze(a),
    "copied": lambda a, k: a.copy(),
    "gathered": lambda a, k: a[[k % len(a), 0]],
    "split": lambda a, k: np.array_split(a, 2)[k % 2],
    "flipped": lambda a, k: np.flip(a),
    "relabeled": lambda a, k: np.einsum("...i->i..." if k % 2 else "i...->...i", a),
    "viewed": lambda a, k: a.view(),
    "elements": lambda a, k: a.flat[k % 2 :],
    "doubled": lambda a, k: a * 2.0,
}
WRITES = {
    "all": lambda a, v, k: a.__setitem__(..., v),
    "first": lambda a, v, k: a.__setitem__(0, v * 0.5),
    "some": lambda a, v, k: a.__setitem__(slice(None, None, 2), v * v),
    "by list": lambda a, v, k: a.__setitem__([k % len(a), 0], v),
    "by mask": lambda a, v, k: a.__setitem__(np.arange(len(a)) % 2 == 0, v),
    "add": lambda a, v, k: a.__iadd__(v),
    "multiply": lambda a, v, k: a.__imul__(v),
    "element": lambda a, v, k: a.__setitem__((k % a.shape[0],) + (0,) * (a.ndim - 1), v),
    "fill": lambda a, v, k: a.fill(v),
    "own reverse": lambda a, v, k: a.__setitem__(slice(None), a[::-1] * v),
    "row add": lambda a, v, k: a[k % len(a) :].__iadd__(v),
    "out": lambda a, v, k: np.multiply(a, v, out=a),
    "at": lambda a, v, k: np.add.at(a, [0, 0], v),
    "put": lambda a, v, k: np.put(a, [0, a.size - 1], v),
    "by element": lambda a, v, k: a.flat.__setitem__(slice(k % 2, None, 2), v * v),
}


def play(steps, x):
    """Follow the steps from one array; the result depends on every array that was made."""
    arrays = [+x]
    for kind, name, which, k in steps:
        a = arrays[which % len(arrays)]
        if a.ndim == 0 or a.size == 0 or a.ndim > 4:
            continue
        if kind == "view":
            arrays.append(STEPS[name](a, k))
        else:
            WRITES[name](a, x[0, k % 4] + 0.1 * k, k)
    return sum(np.sum(np.cos(0.3 * np.arange(a.size)).reshape(a.shape) * a * (1 + 0.1 * a)) for a in arrays)


views = st.tuples(st.just("view"), st.sampled_from(sorted(STEPS)), st.integers(0, 5), st.integers(0, 6))
writes = st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), st.integers(0, 5), st.integers(0, 6))
X = np.linspace(0.2, 1.3, 12).reshape(3, 4)[:, ::-1].copy()
V = np.cos(np.arange(12.0)).reshape(3, 4)


@given(st.lists(views | writes, min_size=2, max_size=8))
def test_aliasing_is_numpys(steps) -> None:
    wanted = play(steps, X)
    slope = np.imag(play(steps, X + 1e-30j * V)) / 1e-30  # the steps are analytic, so a complex step is exact
    value, gradient = ad.value_and_grad(lambda x: play(steps, x))(X)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(np.sum(gradient * V), slope, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ad.jvp(lambda x: play(steps, x), (X,), (V,)), (wanted, slope), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ad.jet(lambda x: play(steps, x), (X,), [[V]])[1][0], slope, rtol=1e-9, atol=1e-9)


@given(st.lists(views | writes, min_size=2, max_size=6))
def test_aliasing_in_lanes(steps) -> None:
    lanes = np.stack([X, X * 1.1])
    np.testing.assert_allclose(ad.vmap(lambda x: play(steps, x))(lanes), [play(steps, x) for x in lanes], rtol=1e-12)


def test_arguments_are_never_changed() -> None:
    def f(x):
        x[0] = 5.0 * x[1]
        x += 1.0
        x.T[0] *= 2.0
        x.sort()
        np.add.at(x, [0], 1.0)
        x.fill(x[1])
        return np.sum(x)

    x = np.array([1.0, 2.0, 3.0])
    for run in (
        lambda: ad.grad(f)(x),
        lambda: ad.value_and_grad(f)(x),
        lambda: ad.jvp(f, (x,), (x,)),
        lambda: ad.vjp(f, x)[1](1.0),
        lambda: ad.linearize(f, x)[1](x),
        lambda: ad.vmap(f)(x.reshape(1, 3)),
        lambda: ad.jet(f, (x,), [[x]]),
        lambda: ad.hessian(f)(x),
        lambda: ad.jacobian(f)(x),
    ):
        run()
        np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


def test_scalars_are_rebound_and_zero_dimensional_views_are_not() -> None:
    def f(x):
        s = x[0]
        s += 10.0 * x[1]
        t = x[..., 2]
        t *= 3.0
        return s + np.sum(x)

    np.testing.assert_allclose(ad.grad(lambda x: f(+x))(np.ones(3)), [2.0, 11.0, 3.0])
    y = np.ones(3)
    assert f(y) == 11.0 + 5.0
    assert ad.value_and_grad(lambda x: f(+x))(np.ones(3))[0] == 16.0


def test_an_element_updated_in_place_is_written_once() -> None:
    def f(x):
        x = +x
        x[1:] += 2.0 * x[0]
        x[0] *= x[1]
        return np.sum(x)

    np.testing.assert_allclose(ad.grad(f)(np.array([2.0, 3.0, 4.0])), [7.0 + 2 * 2 + 4.0, 1.0 + 2.0, 1.0])
    assert len(ad.vjp(f, np.ones(3))[1]._recorded.entries) // 7 < 16


@pytest.mark.parametrize(
    "write",
    [
        lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1.0),
        lambda x: np.diagonal(np.diag(x)).__setitem__(0, 1.0),
    ],
)
def test_read_only_views_say_so(write) -> None:
    with pytest.raises(ReadOnlyError, match=r"read-only.*copy"):
        ad.grad(lambda x: write(x) or np.sum(x))(np.ones(3))


def test_inner_values_do_not_enter_outer_arrays() -> None:
    def f(x):
        store = np.zeros_like(x)

        def inner(y):
            store[0] = y[0]
            return np.sum(y**2)

        return np.sum(ad.grad(inner)(x)) + np.sum(store)

    with pytest.raises(TraceError, match="inner transformation was stored"):
        ad.grad(f)(np.ones(2))


def test_wrong_assignments_raise() -> None:
    for write, error in (
        (lambda x: x.__setitem__(slice(0, 2), np.ones(3)), ValueError),
        (lambda x: x.__setitem__(7, 1.0), IndexError),
        (lambda x: x.__setitem__(0, 1j), TypeError),
        (lambda x: x.__iadd__(1j), TypeError),
        (lambda x: x.__iadd__(np.ones((2, 3))), ValueError),
        (lambda x: x.__setitem__("a", 1.0), IndexError),
    ):
        with pytest.raises(error):
            ad.grad(lambda x, write=write: write(+x) or np.sum(x))(np.ones(3))


def test_constants_and_captured_arrays_keep_their_values() -> None:
    weights = np.array([1.0, 2.0, 3.0])

    def f(x):
        z = adn.array(weights)
        y = np.sum(z * x)
        weights[0] = 50.0  # the user's own array, changed after it was read
        z[1] = x[2]
        return y + np.sum(z)

    np.testing.assert_allclose(ad.grad(f)(np.ones(3)), [1.0, 2.0, 4.0])


def test_arguments_in_fortran_order_are_raveled_into_copies() -> None:
    def f(x):
        x.ravel()[0] = 5.0  # a copy, as the elements do not lie in this order
        x.ravel(order="K")[1] = 7.0  # a view
        x.T.reshape(-1)[2] = 9.0  # a view
        return x * x

    x = np.asfortranarray(np.arange(1.0, 7.0).reshape(2, 3))
    wanted = f(np.array(x, order="F"))
    for value in (ad.vjp(f, x)[0], ad.jvp(f, (x,), (x,))[0], ad.jet(f, (x,), [[x]])[0]):
        np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(ad.grad(lambda x: np.sum(f(x)))(x), [[2.0, 0.0, 6.0], [0.0, 10.0, 12.0]])
    np.testing.assert_array_equal(x, np.arange(1.0, 7.0).reshape(2, 3))


def same_as_numpy(f, x) -> None:
    """Value and slope of a function that writes to its own arrays, in three modes."""
    wanted, tangent = f(x), np.cos(np.arange(x.size)).reshape(x.shape)
    slope = (f(x + 1e-6 * tangent) - f(x - 1e-6 * tangent)) / 2e-6
    reverse, pullback = ad.vjp(f, x)
    pulled = np.array([np.sum(pullback(e)[0] * tangent) for e in np.eye(len(wanted))])
    for value, derivative in (ad.jvp(f, (x,), (tangent,)), (reverse, pulled)):
        np.testing.assert_allclose(value, wanted, rtol=1e-12)
        np.testing.assert_allclose(derivative, slope, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(ad.vmap(f)(np.stack([x, x])), [wanted, wanted], rtol=1e-12)


def test_a_diagonal_by_einsum_is_written_through() -> None:
    def f(x):
        x = +x
        d = np.einsum("ii->i", x)
        d[:] = np.exp(d)
        planes = np.einsum("iij->ji", np.stack([x, x * x, x], axis=-1))
        planes *= 2.0
        return np.concatenate([np.ravel(x), np.ravel(planes)])

    same_as_numpy(f, np.linspace(-1.0, 1.0, 9).reshape(3, 3))


def test_elements_one_after_another() -> None:
    def f(x):
        x = +x
        x.flat[:: x.shape[1] + 1] += 3.0  # the diagonal
        x.T.flat[[1, 2]] = x[0, 0], 5.0
        x.flat[4:] = x.flat[:2]  # too few values are repeated
        part = x.flat[1:3]  # a copy
        part *= 10.0
        assert len(x.flat) == 9
        return np.concatenate([x.flat, [np.sum(x.flat) * np.max(x.flat), sum(x.flat)], part])

    same_as_numpy(f, np.linspace(-1.0, 1.0, 9).reshape(3, 3))


def test_the_conjugate_of_a_real_array_is_the_array() -> None:
    def f(x):
        x = +x
        c = x.conj()
        c *= 2.0
        d = np.conjugate(x)
        d *= 3.0
        return np.concatenate([x, c, d])

    same_as_numpy(f, np.array([1.0, -2.0]))


def test_views_of_zero_dimensional_views() -> None:
    def f(x):
        x = +x
        for view in (lambda s: s.T, lambda s: s.squeeze(), lambda s: s.real, lambda s: s[...], lambda s: s[None]):
            s = view(x[:1].squeeze())
            s *= 3.0
            s += x[1]
        return x

    same_as_numpy(f, np.array([1.0, -2.0]))


def test_writing_does_not_move_an_array_in_memory() -> None:
    def f(x):
        x = x * 2.0
        columns = x.T
        columns.sort()
        flat = x.ravel()  # a view, since x still lies row by row
        flat *= 3.0
        other = x.T.copy()
        again = other.reshape(-1)
        again += 1.0
        return np.concatenate([x.ravel(), other.ravel(), x.ravel(order="K"), columns.ravel(order="K")])

    same_as_numpy(f, np.array([[1.0, 5.0, -2.0], [4.0, 2.0, 3.0]]))


def parts_written(z, v):
    y = z * 1
    part = y.imag
    y.real[1:3] = v[:2]
    y.imag *= 2.0
    y.T.real[0] += part[1]
    y.real = y.imag * y.real
    part[-1] = v[0]
    return y


@pytest.mark.parametrize("check", [*CHECKS, check_compiled], ids=lambda check: check.__name__)
def test_parts_of_complex_numbers_are_written_through(check) -> None:
    check(Case("parts", parts_written, (complex_array(4), np.array([0.3, -0.7]))))


def test_parts_that_are_infinite_stay_as_they_are() -> None:
    def f(z):
        y = z.copy()
        y.real = 2.0
        y.imag[0] = 3.0
        return y

    z = np.array([complex(1, -np.inf), complex(1, np.inf), complex(1, np.nan)])
    np.testing.assert_array_equal(ad.jvp(f, (z,), (z,))[0], f(z.copy()))
    with pytest.raises(TypeError, match=r"x\.imag"):
        ad.jvp(lambda z: setattr(z.copy(), "imag", z), (z,), (z,))
    with pytest.raises(TypeError, match="imaginary"):
        ad.jvp(lambda x: setattr(x.copy(), "imag", x), (X,), (X,))


@pytest.mark.parametrize("way", ["plain", "view", "scaled"])
def test_a_copy_made_in_a_branch_belongs_to_the_branch(way) -> None:
    """What is copied there may be written to there, also when it was made outside."""

    def f(x):
        def taken(u):
            y = x.copy()
            if way == "plain":
                y[:1] = 2.0 * u[0] * y[1]
            elif way == "view":
                part = y[:2]
                part[0] = u[1] * 3.0
            else:
                y[::-1][0] *= u[2]
            return y

        return np.sum(ad.cond(x[0] > 0, taken, lambda u: u, x * 1.0) * x)

    x = np.array([1.0, 2.0, 3.0])
    value, slope = f(x), ad.grad(f)(x)
    numbers = [(f(x + h) - f(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, numbers, rtol=1e-7)
    np.testing.assert_allclose(ad.jit(f)(x), value)
    np.testing.assert_allclose(ad.trace(f, concrete=True)(x)(x), value)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), slope)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([x, x]))[1], slope)


LOOPS = {
    "scan": lambda turn, x: ad.scan(lambda c, t: (turn(c), None), x, length=3)[0],
    "while": lambda turn, x: ad.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, turn(s[1])), (0, x))[1],
    "checkpoint": lambda turn, x: ad.checkpoint(turn)(x),
}


@pytest.mark.parametrize("kind", LOOPS)
def test_a_copy_made_in_a_loop_belongs_to_the_loop(kind) -> None:
    """Against the same without assignments."""

    def written(x):
        outside = x * x

        def turn(c):
            y = outside.copy()
            y[0] = 2.0 * c[1] * y[2]
            part = y[1:]
            part *= c[0]
            return 0.5 * c + y

        return np.sum(LOOPS[kind](turn, x) * outside)

    def pure(x):
        o, c = x * x, x
        for _ in range(1 if kind == "checkpoint" else 3):
            c = 0.5 * c + np.stack([2.0 * c[1] * o[2], o[1] * c[0], o[2] * c[0]])
        return np.sum(c * o)

    x = np.array([0.3, 0.8, -0.6])
    slope, curvature = ad.grad(pure)(x), ad.hessian(pure)(x)
    np.testing.assert_allclose(slope, [(pure(x + h) - pure(x - h)) / 2e-6 for h in 1e-6 * np.eye(3)], rtol=1e-7)
    np.testing.assert_allclose(ad.grad(written)(x), slope)
    np.testing.assert_allclose(ad.jit(ad.grad(written))(x), slope)
    np.testing.assert_allclose(ad.vmap(ad.grad(written))(np.stack([x, x]))[1], slope)
    np.testing.assert_allclose(ad.hessian(written)(x), curvature)


def test_the_remedy_for_values_of_inner_transformations_works() -> None:
    def f(copied):
        def outer(x):
            def inner(q):
                y = copied(x)
                y[0] = q * x[1]
                return np.sum(y * y)

            return ad.grad(inner)(x[0])

        return ad.grad(outer)

    x = np.array([0.5, 2.0])  # the inner derivative is 2 x₀ x₁²
    with pytest.raises(TraceError, match=r"\(a copy: x\.copy\(\)\)"):
        f(lambda x: x)(x)
    np.testing.assert_allclose([f(lambda x: x.copy())(x), f(lambda x: x * 1.0)(x)], [[8.0, 4.0]] * 2)
