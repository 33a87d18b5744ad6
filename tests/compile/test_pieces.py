"""Long functions in pieces: the same results and the same errors, in any number of pieces."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.base.config import config
from adjoint.compile import pieces

X = np.array([0.7, -1.2, 2.3])


@pytest.fixture
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every kernel is cut after every step."""
    monkeypatch.setattr(pieces, "LONGEST", 0)
    monkeypatch.setattr(pieces, "PIECE", 0)
    with config.override(cache=False):
        yield


def solving(x: Any) -> Any:
    A = np.eye(3) * 4.0 + np.outer(x, x)
    q, r = np.linalg.qr(A)
    return np.sum(np.linalg.solve(A, x)) + np.linalg.slogdet(A)[1] + np.sort(x)[1] + q[0, 0] * r[1, 2]


def looping(x: Any) -> Any:
    x, path = ad.scan(lambda c, k: (np.tanh(c) + k, c * c), x, np.arange(5.0))
    x = ad.while_loop(lambda c: np.sum(c) > 1.0, lambda c: 0.5 * c, x)
    return np.sum(x) + np.sum(np.cumsum(path, axis=0)[-1])


def growing(x: Any) -> Any:
    """Histories whose length is known only later, a mask, and a branch."""
    y = np.sum(x[x > 0.0] ** 2)
    y = ad.while_loop(lambda c: c > 0.1, lambda c: c * np.cos(0.3 * c) * 0.9, y)
    return ad.cond(y > 0.05, lambda v: np.sin(v), lambda v: v * v, y) * np.sum(x)


def single(x: Any) -> Any:
    y = np.float32(1.5) * x.astype(np.float32)
    return np.sum(np.outer(y, y) @ np.exp(-y)).astype(np.float64)


@pytest.mark.usefixtures("everything_is_long")
@pytest.mark.parametrize("f", [solving, looping, growing, single])
def test_values_and_gradients(f: Any) -> None:
    compiled = ad.jit(ad.value_and_grad(f))
    text = str(compiled.lower(X).llvm)
    assert "@adjoint_kernel_1(" in text
    value, gradient = compiled(X)
    assert "compiled in this process" in str(compiled.report())
    rounding = 1e-5 if f is single else 1e-12
    assert value == pytest.approx(f(X), rel=rounding)
    h = 1e-2 if f is single else 1e-6
    slopes = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-2 if f is single else 1e-7)


@pytest.mark.usefixtures("everything_is_long")
def test_errors_leave_all_pieces() -> None:
    said: list[float] = []

    def f(x: Any) -> Any:
        y = np.linalg.solve(np.outer(x, x) * 0.0, np.sin(x))
        ad.debug.callback(lambda v: said.append(float(v)), y[0])
        return np.sum(np.linalg.cholesky(np.eye(3) * y))

    with pytest.raises(np.linalg.LinAlgError):
        ad.jit(f)(X)
    assert not said


def test_no_function_of_many_different_steps_is_long() -> None:
    """Elimination on smaller and smaller matrices: no two steps are alike."""

    def eliminate(a: Any) -> Any:
        total = 0.0
        for k in range(len(a) - 1):
            total = total + np.log(np.abs(a[0, 0])) + np.max(np.abs(a[:, 0]))
            a = a[1:, 1:] - np.outer(a[1:, 0], a[0, 1:]) / a[0, 0] + 0.01 * k
        return total

    a = np.eye(34) * 9.0 + np.cos(np.arange(34.0**2)).reshape(34, 34)
    compiled = ad.jit(ad.grad(eliminate))
    lengths = [part.count("\n") for part in str(compiled.lower(a).llvm).split("\ndefine ")]
    assert max(lengths) < 2 * pieces.PIECE < pieces.LONGEST < sum(lengths)
    h, e = 1e-6, np.sin(np.arange(34.0**2)).reshape(34, 34)
    slope = (eliminate(a + h * e) - eliminate(a - h * e)) / (2 * h)
    assert np.sum(compiled(a) * e) == pytest.approx(slope, rel=1e-6)
