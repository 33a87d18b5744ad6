"""Arrays of named sizes that follow from their positions."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.deployment.counting import law_of
from tests.deployment.test_exported import call_library

VECTOR = ad.ArrayType(("n",), np.float64)


def rosenbrock(x: Any) -> Any:
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def iterated(x: Any) -> Any:
    """A while loop, whose derivatives keep as many rows as it ran."""
    step = lambda s: (np.sin(s[0]) * np.mean(x * x), s[1] + 1)
    return ad.while_loop(lambda s: s[1] < 5, step, (np.sum(x), 0))[0]


def _stacked(h: Any) -> Any:
    return h["w"]["w"] + np.outer(h["w"]["b"], h["b"]["w"]) * h["b"]["b"]


FUNCTIONS: dict[str, Any] = {
    "hessian": ad.hessian(rosenbrock),
    "hessian of a mean": ad.hessian(lambda x: np.mean((x - np.mean(x)) ** 4)),
    "hessian of sums": ad.hessian(lambda x: np.sum(np.cumsum(x) ** 2 * x)),
    "hessian of positions": ad.hessian(lambda x: np.tanh(np.sum(x * np.arange(x.shape[0])))),
    "hessian of a loop": ad.hessian(iterated),
    "hessian of pairs": ad.hessian(lambda x: np.sum((x[:, None] - x[None, :]) ** 4)),
    "hessian in a tree": lambda x: _stacked(
        ad.hessian(lambda p: np.sum(np.tanh(x * p["w"] + p["b"]) ** 2))({"w": np.cos(x), "b": x[0]})
    ),
    "first and last": lambda x: x * (np.arange(x.size) == 0) + 2 * x * (np.arange(x.size) == x.size - 1),
    "gradient of a loop": ad.grad(iterated),
    "jacfwd": ad.jacfwd(lambda x: np.sin(x) * x[0]),
    "jacrev": ad.jacrev(lambda x: np.sin(x[::-1]) * x),
    "arange": lambda x: x * np.arange(x.shape[0]),
    "odd numbers": lambda x: x * np.arange(1, 2 * x.shape[0] + 1, 2),
    "falling": lambda x: x + np.arange(x.size)[::-1],
    "linspace": lambda x: x * np.linspace(-1.0, 1.0, x.shape[0]),
    "eye": lambda x: np.eye(x.shape[0]) * x + np.eye(x.shape[0], k=1),
    "triangle": lambda x: np.tril(np.outer(x, x)) + np.triu(np.outer(x, x), 1) * 2.0,
    "diag": lambda x: np.diag(x) + np.trace(np.outer(x, x)),
    "grid": lambda x: np.sum(np.arange(x.size)[:, None] - np.arange(x.size)[None, :] + 0.5 * x, axis=0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_for_all_sizes(name: str) -> None:
    f = FUNCTIONS[name]
    exported = ad.export(f, VECTOR, name="f")
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 8, 37, 129):
        x = rng.normal(size=n)
        if n > 1 or name != "hessian":
            np.testing.assert_allclose(exported(x), f(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["hessian", "jacrev", "linspace", "triangle", "hessian of a loop", "hessian in a tree"]
)
def test_libraries(name: str, tmp_path: Any) -> None:
    f = FUNCTIONS[name]
    exported = ad.export(f, VECTOR, name="f")
    assert "int64_t n" in exported.header()
    for n in (2, 5, 40):
        x = np.random.default_rng(n).normal(size=n)
        (tmp_path / str(n)).mkdir()
        status, (result,) = call_library(exported, tmp_path / str(n), x, sizes=[("n", n)])
        assert status == 0
        np.testing.assert_allclose(result, f(x), rtol=1e-12, atol=1e-12)


def test_files(tmp_path: Any) -> None:
    exported = ad.export(FUNCTIONS["hessian"], VECTOR, name="f")
    exported.save(tmp_path / "f.adj")
    loaded = ad.load(tmp_path / "f.adj")
    x = np.linspace(0.0, 1.0, 9)
    np.testing.assert_array_equal(loaded(x), exported(x))


def test_two_sizes() -> None:
    f = lambda x, y: np.eye(x.size, y.size) * y + np.add.outer(np.arange(x.size), 2 * np.arange(y.size)) + x[:, None]
    exported = ad.export(f, VECTOR, ad.ArrayType(("m",), np.float64), name="f")
    for n, m in ((3, 5), (6, 2), (4, 4)):
        x, y = np.ones(n), np.arange(float(m))
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(exported(x, y), f(x, y), rtol=1e-13)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(7), np.arange(3.0, 12.0, 1.5), np.arange(5)[::-1], np.eye(4), np.eye(4, k=2), np.eye(3, 5, k=-1),
        2.5 * np.eye(12).reshape(12, 3, 4), np.tri(5), np.tri(4, 6, 1), np.triu(np.ones((4, 4), bool)),
        np.add.outer(np.arange(4), 3 * np.arange(5)), np.ones(4), np.zeros((2, 3)), np.arange(6, dtype=np.float32),
    ],
    ids=str,
)  # fmt: skip
def test_laws(array: Any) -> None:
    assert law_of(array) is not None


@pytest.mark.parametrize("array", [np.arange(6) ** 2, np.array([0, 1, 0, 1]), np.eye(4)[::-1], np.arange(4) * (1 + 0j)])
def test_what_has_no_law(array: Any) -> None:
    assert law_of(array) is None


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x + np.minimum(np.arange(x.size), 500),
        lambda x: x + np.arange(x.size) % 900,
        lambda x: np.tri(x.size, k=min(x.size // 2, 3)) * x,
    ],
)
def test_laws_that_hold_for_small_sizes_alone(f: Any) -> None:
    """The examples are all smaller than where these begin to differ."""
    with pytest.raises(ad.ProgramError, match="export"):
        exported = ad.export(f, VECTOR, name="f")
        x = np.ones(1500)
        np.testing.assert_allclose(exported(x), f(x))
        raise ad.ProgramError("export: right after all")
