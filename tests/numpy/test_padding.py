"""Every mode of np.pad."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import adjoint as ad
from adjoint.base.errors import UnsupportedError
from tests.numpy.checking import Case, array, check_compiled, every_check

X, V = array(2, 3), array(4)


def ends(vector, width, axis, options):
    """A function for np.pad: it writes into both ends of a vector."""
    vector[: width[0]] = options.get("start", 1.5) * (axis + 1)
    if width[1]:
        vector[-width[1] :] = vector[width[0]] ** 2


CASES = [
    Case("number", lambda x: np.pad(x, 2), (X,)),
    Case("pairs", lambda x: np.pad(x, ((1, 0), (0, 2))), (X,)),
    Case("pair", lambda x: np.pad(x, (1, 2)), (X,)),
    Case("dict", lambda x: np.pad(x, {1: (1, 2)}), (X,)),
    Case("constant values", lambda x: np.pad(x, 1, constant_values=3.0), (X,)),
    Case("constant pairs", lambda x: np.pad(x, 2, constant_values=((1, 2), (3, 4))), (X,)),
    *[
        Case(f"{mode} {width}", lambda x, mode=mode, width=width: np.pad(x, width, mode=mode), (x,))
        for mode in ("edge", "reflect", "symmetric", "wrap")
        for x, width in ((V, (2, 3)), (V, (9, 6)), (X, ((1, 1), (4, 2))))
    ],
    Case("linear_ramp", lambda x: np.pad(x, (2, 3), mode="linear_ramp", end_values=(5, -4)), (V,)),
    Case("linear_ramp 2", lambda x: np.pad(x, 2, mode="linear_ramp"), (X,)),
    *[
        Case(mode, lambda x, mode=mode: np.pad(x, ((1, 2), (0, 1)), mode=mode), (X,))
        for mode in ("maximum", "minimum", "mean", "median")
    ],
    *[
        Case(f"{mode} {size}", lambda x, mode=mode, size=size: np.pad(x, 2, mode, stat_length=size), (X,))
        for mode in ("maximum", "minimum", "mean", "median")
        for size in (2, ((1, 2), (3, 7)))
    ],
    *[
        Case(f"odd {m} {w}", lambda x, m=m, w=w: np.pad(x, w, m, reflect_type="odd"), (x,))
        for m in ("reflect", "symmetric")
        for x, w in ((V, (2, 3)), (V, (15, 11)), (X, ((1, 1), (4, 2))), (array(1, 2), 2))
    ],
    Case("function", lambda x: np.pad(x, ((1, 0), (2, 1)), ends), (X,)),
    Case("function with options", lambda x, v: np.pad(x, 1, ends, start=v), (X, 0.3)),
    Case("empty", lambda x: np.pad(x, 2, "empty")[2:-2, 2:-2], (X,)),
]


@every_check(CASES)
def test_padding(case, check) -> None:
    check(case)


def test_traced_constants() -> None:
    def f(x, c):
        return np.sum(np.pad(x, (1, 2), constant_values=c) * np.arange(6.0))

    gx, gc = ad.grad(f, (0, 1))(np.ones(3), 2.0)
    np.testing.assert_allclose(gx, [1.0, 2.0, 3.0])
    assert gc == 0.0 + 4.0 + 5.0


@pytest.mark.parametrize("name", ["odd reflect (15, 11)", "function with options", "mean ((1, 2), (3, 7))"])
def test_compiled(name) -> None:
    check_compiled(next(case for case in CASES if case.name == name))


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["edge", "reflect", "symmetric", "wrap", "mean", "median", "maximum", "linear_ramp", "constant"]),
    st.integers(1, 5),
    st.tuples(st.integers(0, 13), st.integers(0, 13)),
    st.booleans(),
)
def test_against_numpy(mode, n, width, odd) -> None:
    x = array(n, 2)
    options = {"reflect_type": "odd"} if odd and mode in ("reflect", "symmetric") else {}
    f = lambda x: np.pad(x, (width, (1, 2)), mode, **options)
    np.testing.assert_allclose(ad.jvp(f, (x,), (x,))[0], f(x), atol=1e-12)


def test_what_has_no_meaning_raises() -> None:
    for kwargs, message in (
        ({"mode": "reflect", "reflect_type": "even more"}, "reflect_type"),
        ({"mode": "mean", "end_values": 2}, "end_values"),
        ({"mode": "maximum", "stat_length": 0}, "stat_length"),
        ({"mode": "best"}, "is not supported"),
    ):
        with pytest.raises((UnsupportedError, ValueError), match=message):
            ad.grad(lambda x, kwargs=kwargs: np.sum(np.pad(x, 1, **kwargs)))(np.ones(3))
    with pytest.raises(ValueError, match="negative"):
        ad.grad(lambda x: np.sum(np.pad(x, -1)))(np.ones(3))
