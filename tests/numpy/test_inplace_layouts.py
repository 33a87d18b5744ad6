"""How arrays lie in memory decides what is a view of them: new arrays lie as NumPy's, and arguments as they are."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy.linalg import solve_triangular
from tests.numpy.test_inplace_views import SMALL, compare

# functions that give new arrays: in C order, in the order of the argument, in Fortran's order
NEW = {
    "take": lambda a: np.take(a, [1, 0], axis=1),
    "compress": lambda a: np.compress([True, True], a, axis=1),
    "gather": lambda a: a[:, [1, 0]],
    "repeat": lambda a: np.repeat(a, [1, 2], axis=1),
    "delete": lambda a: np.delete(np.tile(a, 2), 0, axis=1),
    "insert": lambda a: np.insert(a, 1, 0.5, axis=1),
    "pad": lambda a: np.pad(a, 1, mode="edge"),
    "pad by nothing": lambda a: np.pad(a, 0, mode="edge"),
    "sort": lambda a: np.sort(a, axis=1),
    "partition": lambda a: np.partition(a, 1, axis=1),
    "roll": lambda a: np.roll(a, 1, axis=1),
    "gradient": lambda a: np.gradient(a, axis=0),
    "zeros_like": lambda a: np.zeros_like(a) + a[0, 0],
    "full_like": lambda a: np.full_like(a, a[0, 1]),
    "cumsum": lambda a: np.cumsum(a, axis=0),
    "einsum": lambda a: np.einsum("ij,jk->ki", a, a),
    "matmul": lambda a: a @ a,
    "solve": lambda a: np.linalg.solve(a + 9.0 * np.eye(2), np.stack([a, a]))[0],
    "cholesky": lambda a: np.linalg.cholesky(a @ a.T + np.eye(2), upper=True),
    "power": lambda a: np.linalg.matrix_power(a, 1),
    "where": lambda a: np.where([[True], [False]], a, 1.0),
    "stack": lambda a: np.stack([a, a])[1],
    "sum": lambda a: np.sum(np.stack([a, a]), axis=0),
    "copy": np.copy,
    "astype": lambda a: a.astype(complex).real,
}


@pytest.mark.parametrize("name", NEW)
def test_new_arrays_lie_as_numpys(name) -> None:
    """Whether they are raveled into views or copies shows how they lie in memory."""

    def f(x):
        total = 0.0
        for a in (x * 1.0, x.T * 1.0, x * x.T):
            z = NEW[name](a)
            flat, turned, other = z.reshape(-1), z.T.ravel(), (z * 2.0).T
            flat[0] = 3.0
            turned[1] = x[0, 0]
            other.ravel()[2] = x[1, 1]
            total = total + sum(np.sum(v**2) for v in (z, flat, turned, other, a))
        return total

    compare(f, ("grad", "map", "vmap"))


def test_what_is_not_known_to_be_a_view_is_not_written_to() -> None:
    """In a program, where a solver of others leaves its result in memory is not known."""

    def f(x, write):
        z = solve_triangular(x, x, lower=True)
        flat = z.reshape(-1)
        if write == "array":
            z[0] = 5.0
        elif write == "flat":
            flat[0] = 5.0
        else:
            flat = flat * 1.0
            z = flat
            z[0] = 5.0
        return np.sum(flat)

    for write in ("array", "flat"):
        with pytest.raises((TypeError, ValueError), match="whether NumPy makes a view or a copy"):
            ad.jit(lambda x, write=write: f(x, write))(SMALL)
    assert ad.jit(lambda x: f(x, "neither"))(SMALL) == f(SMALL, "neither")


LYING = {
    "C": lambda x: np.array(x, order="C"),
    "Fortran": lambda x: np.array(x, order="F"),
    "every second row": lambda x: np.repeat(x, 2, axis=0)[::2],
    "every second column": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every third column": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
}


def test_compiled_functions_know_how_their_arguments_lie() -> None:
    def f(x):
        flat, turned, new = x.reshape(-1), np.ravel(x.T), (x * 1.0).ravel()
        flat[0] = x[1, 1] ** 2
        turned[1] = 5.0
        new[1] = x[0, 1]
        x[1, 0] *= flat[0]
        return np.concatenate([x.ravel(), flat, turned, new])

    compiled, mapped = ad.jit(f), ad.jit(f)
    for _ in range(2):
        for name, lie in LYING.items():
            expected = f(lie(SMALL))
            np.testing.assert_array_equal(compiled(lie(SMALL)), expected, err_msg=name)
            np.testing.assert_array_equal(ad.vjp(mapped, lie(SMALL))[0], expected, err_msg=name)
            np.testing.assert_array_equal(ad.vjp(f, lie(SMALL))[0], expected, err_msg=name)
    assert len(compiled.report().specializations) < len(LYING)  # how wide the gaps are means nothing


def test_a_program_that_depends_on_no_layout_is_made_once() -> None:
    compiled = ad.jit(lambda x: np.sum(np.sin(x) @ x))
    for lie in LYING.values():
        compiled(lie(SMALL))
    assert len(compiled.report().specializations) == 1


ORDERED = {
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "asarray in C order": lambda a: np.asarray(a, order="C"),
    "asarray in Fortran's order": lambda a: np.asarray(a, order="F"),
    "asarray in any order": lambda a: np.asarray(a, order="A"),
    "asanyarray": lambda a: np.asanyarray(a, order="F"),
    "array": lambda a: np.array(a, order="F"),
    "array that copies if needed": lambda a: np.array(a, order="F", copy=None),
    "array with more axes": lambda a: np.array(a, order="F", copy=None, ndmin=3),
    "astype": lambda a: a.astype(float, order="F", copy=False),
    "astype of another": lambda a: a.astype(complex, order="F").real,
}
VIEWS = {
    "itself": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[:, ::-1],
    "column": lambda a: a[:, 1],
    "row": lambda a: a[1],
    "part": lambda a: a[:, :2],
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ORDERED)
def test_an_order_that_is_asked_for_may_take_a_copy(name, view) -> None:
    def f(x):
        a = x * 1.0
        z = ORDERED[name](VIEWS[view](a))
        z[..., 0] = 7.0 * z[..., 0] + 1.0
        return a * 2.0, z * 3.0, z.ravel("K")

    x = np.random.default_rng(0).normal(size=(3, 4))
    for way in (f, ad.jit(f), lambda x: ad.jvp(f, (x,), (x,))[0], lambda x: [v[0] for v in ad.vmap(f)(x[None])]):
        for found, expected in zip(way(x), f(x), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_an_order_that_takes_a_copy_where_none_is_allowed() -> None:
    with pytest.raises(ValueError, match="copy=False"):
        ad.jit(lambda x: np.array(x.T, order="C", copy=False))(SMALL)
