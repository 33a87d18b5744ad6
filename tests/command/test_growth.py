"""Short texts that ask for enormous arrays are refused before anything is computed."""

import numpy as np
import pytest
import scipy.special

from adjoint.command.expressions import Expression
from adjoint.command.failures import ExpressionError


@pytest.mark.parametrize(
    "text",
    [
        "zeros(10**12)",
        "zeros((10**6, 10**6))",
        "ones(shape=(10**5, 10**5))",
        "full((10**5, 10**5), x)",
        "eye(10**6)",
        "tri(10**5, 10**5)",
        "identity(10**6)",
        "arange(1e15)",
        "arange(0, 1, 1e-15)",
        "linspace(0, 1, 10**9)",
        "linspace(zeros(10**4), 1, num=10**4)",
        "tile([x, 1], 10**9)",
        "tile(ones(10**4), (10**4, 10**4))",
        "repeat(ones(10**4), 10**4)",
        "outer(ones(10**5), ones(10**5))",
        "linalg.outer(ones(10**5), ones(10**5))",
        "kron(ones(10**4), ones(10**4))",
        "tensordot(ones(10**4), ones(10**4), axes=0)",
        "meshgrid(ones(10**4), ones(10**4))[0]",
        "diag(ones(10**5))",
        "diagflat(ones(10**5))",
        "vander(ones(10**4))",
        "reshape(ones(10**5), (10**5, 1)) * ones(10**5)",
        "reshape(ones(10**5), (10**5, 1)) < ones(10**5)",
        "maximum(reshape(ones(10**5), (10**5, 1)), ones(10**5))",
        "reshape(ones(10**5), (10**5, 1)) @ ones((1, 10**5))",
        "matmul(ones((10**5, 1)), ones((1, 10**5)))",
        "broadcast_to(x, (10**6, 10**6))",
        "fft.fft([x, 1], 10**12)",
        "resize([x], (10**6, 10**6))",
        "hanning(10**10)",
        "inner(ones((10**5, 1)), ones((10**5, 1)))",
        "cov(ones((10**5, 1)))",
        "linalg.svd(ones((10**5, 1)))[1]",
        "bincount([10**9])",
        "pad(ones((2, 2)), 10**6)",
        "fft.fft2(ones((2, 2)), (10**6, 10**6))",
        "fft.fftn(ones((2, 2)), s=(10**9, 1))",
        "diff(ones(3), 10**7)",
        "array_split(ones(3), 10**7)",
        "diag([x], 10**6)",
        "special.sph_legendre_p_all(10**4, 10**4, x)",
    ],
)
def test_enormous_arrays(text: str) -> None:
    with pytest.raises(ExpressionError, match=r"numbers, more than|is taken") as caught:
        Expression.parse(text, ["x"]).at(x=1.0)
    assert caught.value.column


@pytest.mark.parametrize(
    "text, size",
    [
        ("outer(ones(100), ones(100))", 10_000),
        ("arange(0, 1, 0.1)", 10),
        ("eye(3, 4)", 12),
        ("ones(4) @ ones((4, 2))", 2),
    ],
)
def test_moderate_arrays(text: str, size: int) -> None:
    assert np.size(Expression.parse(text).at()[0]) == size


def test_large_numbers_are_no_sizes() -> None:
    for text, value in {"where(x > 0, 10**9, x)": 1e9, "clip(x, 0, 10**12)": 1.0, "full(1, 10**9)[0]": 1e9}.items():
        assert Expression.parse(text, ["x"]).at(x=1.0)[0] == value


def test_work_that_grows_faster_than_its_result() -> None:
    with pytest.raises(ExpressionError, match="products"):
        Expression.parse("convolve(ones(10**6), ones(10**6))").at()


@pytest.mark.parametrize(
    "text",
    ["special.mathieu_b(1e9, 3)", "special.ivp(2, 3.0, 10**6)", "lpmv(1e9, 2, 0.5)", "special.lmbda(pi, nan)"],
)
def test_orders_for_which_scipy_runs_for_minutes_or_crashes(text: str) -> None:
    with pytest.raises(ExpressionError, match="is taken"):
        Expression.parse(text, ["x"]).at(x=1.0)
    assert Expression.parse("special.mathieu_b(2, 3)").at()[0] == pytest.approx(scipy.special.mathieu_b(2, 3))


def test_wrong_arguments_are_told_by_the_function_itself() -> None:
    for text in ("eye(-1)*x + eye()", "arange()", "linspace(1)", "zeros(x)", "tile(1)"):
        with pytest.raises(ExpressionError, match="cannot be computed"):
            Expression.parse(text, ["x"]).at(x=1.5)


def test_large_given_arrays_are_welcome() -> None:
    x = np.ones(12_000_000)
    assert Expression.parse("sum(x*2)", ["x"]).at(x=x)[0] == 24_000_000
