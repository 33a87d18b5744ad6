"""The tables of docs/conventions.md are what the engine does, in every mode."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy.special import logsumexp

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "conventions.md"


def rows(heading: str) -> list[list[str]]:
    """The cells of the table below a heading, those in backquotes without them."""
    return list(_rows(PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")[2]))


def _rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith("## "):
            return
        if line.startswith("| `"):
            yield [cell.strip().strip("`") for cell in line.replace("\\|", "∣").strip("|").split(" | ")]


KINKS = rows("Kinks")
PROMOTIONS = rows("Precision")
NAMES = {"np": np, "ad": ad, "logsumexp": logsumexp, "inf": np.inf, "nan": np.nan}


def one_by_one(derivative, x):
    """The gradient out of directional derivatives."""
    units = np.eye(x.size).reshape(x.size, *x.shape)
    return np.reshape([derivative(unit) for unit in units], x.shape)


MODES = {
    "grad": lambda f, x: ad.grad(f)(x),
    "vjp": lambda f, x: ad.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f, x: one_by_one(lambda v: ad.jvp(f, (x,), (v,))[1], x),
    "linearize": lambda f, x: one_by_one(ad.linearize(f, x)[1], x),
    "jet": lambda f, x: one_by_one(lambda v: ad.jet(f, (x,), ((v,),))[1][0], x),
    "vmap": lambda f, x: ad.vmap(ad.grad(f))(np.stack([x, x]))[1],
    "program": lambda f, x: ad.trace(ad.grad(f))(x)(x),
}


def test_the_tables_were_found() -> None:
    assert len(KINKS) > 25
    assert len(PROMOTIONS) > 5


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("row", KINKS, ids=lambda row: row[0])
def test_kinks(row, mode) -> None:
    expression, place, expected = row[:3]
    f = eval(f"lambda x: np.sum({expression})", NAMES)
    x, expected = (np.asarray(eval(text, NAMES), float) for text in (place, expected))
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(MODES[mode](f, x), expected, rtol=1e-14)


@pytest.mark.parametrize("row", PROMOTIONS, ids=lambda row: f"{row[0]} with {row[1]}")
def test_promotion(row) -> None:
    """x of one type times c of another: the type of the result is NumPy's, that of the gradient is the argument's."""
    kind, other, result, gradient = row
    x = np.ones(2, kind)
    c = eval(other) if other in ("int", "float", "complex") else np.ones(2, other)
    c = c(2) if isinstance(c, type) else c
    found = {}

    def f(x):
        found["z"] = z = x * c
        assert z.dtype == (np.ones(2, kind) * c).dtype
        return np.sum(np.real(z))

    assert ad.grad(f)(x).dtype == gradient
    assert found["z"].type.dtype == result
    assert ad.jvp(f, (x,), (x,))[1].dtype == np.zeros(2, result).real.dtype
