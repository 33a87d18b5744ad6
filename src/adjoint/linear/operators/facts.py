"""What is known about a linear map, and how it carries over to sums, products, adjoints, inverses …

A fact is a word. `symmetric` means A* = A (so Hermitian, for complex maps); `orthonormal` means A*A = 1, and
`orthonormal rows` AA* = 1. Triangular, diagonal and tridiagonal speak of the matrix, in the order of `ravel`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

__all__ = ["FACTS", "Facts", "deduce", "of_adjoint", "of_blocks", "of_congruence", "of_inverse", "of_kronecker",
           "of_power", "of_product", "of_scaled", "of_sum", "read"]  # fmt: skip

Facts: TypeAlias = frozenset[str]

# Each fact with those that it implies.
FACTS: dict[str, frozenset[str]] = {
    "symmetric": frozenset(),
    "positive definite": frozenset({"positive semidefinite", "invertible"}),
    "positive semidefinite": frozenset({"symmetric"}),
    "negative definite": frozenset({"negative semidefinite", "invertible"}),
    "negative semidefinite": frozenset({"symmetric"}),
    "diagonal": frozenset({"lower triangular", "upper triangular", "tridiagonal"}),
    "tridiagonal": frozenset(),
    "lower triangular": frozenset(),
    "upper triangular": frozenset(),
    "unit diagonal": frozenset(),
    "orthonormal": frozenset(),
    "orthonormal rows": frozenset(),
    "permutation": frozenset({"orthonormal", "orthonormal rows"}),
    "invertible": frozenset(),
    "identity": frozenset({"permutation", "positive definite", "diagonal", "unit diagonal"}),
    "zero": frozenset(),
}

# Other words for them.
SYNONYMS = {
    "hermitian": "symmetric",
    "self-adjoint": "symmetric",
    "positive": "positive definite",
    "psd": "positive semidefinite",
    "lower": "lower triangular",
    "upper": "upper triangular",
    "orthogonal": "orthonormal",
    "unitary": "orthonormal",
}

# What follows from several together, and what follows when there are as many rows as columns.
TOGETHER: list[tuple[set[str], set[str]]] = [
    ({"lower triangular", "upper triangular"}, {"diagonal"}),
    ({"symmetric", "lower triangular"}, {"diagonal"}),
    ({"symmetric", "upper triangular"}, {"diagonal"}),
    ({"positive semidefinite", "invertible"}, {"positive definite"}),
    ({"negative semidefinite", "invertible"}, {"negative definite"}),
    ({"unit diagonal", "lower triangular"}, {"invertible"}),
    ({"unit diagonal", "upper triangular"}, {"invertible"}),
    ({"unit diagonal", "diagonal"}, {"identity"}),
]
SQUARE: list[tuple[set[str], set[str]]] = [
    ({"orthonormal"}, {"orthonormal rows", "invertible"}),
    ({"orthonormal rows"}, {"orthonormal", "invertible"}),
    ({"zero"}, {"diagonal", "positive semidefinite", "negative semidefinite"}),
]

RECTANGULAR = {"orthonormal", "orthonormal rows", "zero"}
TRIANGLES = frozenset({"lower triangular", "upper triangular", "diagonal"})
FLIPPED = {
    "lower triangular": "upper triangular",
    "upper triangular": "lower triangular",
    "orthonormal": "orthonormal rows",
    "orthonormal rows": "orthonormal",
}
NEGATED = {
    "positive definite": "negative definite",
    "positive semidefinite": "negative semidefinite",
    "negative definite": "positive definite",
    "negative semidefinite": "positive semidefinite",
}


def read(words: Iterable[str]) -> Facts:
    """The facts that words name; an error for a word that names none."""
    found = {SYNONYMS.get(word, word) for word in words}
    for word in found - set(FACTS):
        raise ValueError(f"{word!r} is no fact about linear maps. They are: {', '.join(FACTS)}.")
    return frozenset(found)


def deduce(facts: Iterable[str], square: bool) -> Facts:
    """The facts, and all that follows from them. Most say something only if there are as many rows as columns."""
    found, size = set(facts) if square else set(facts) & RECTANGULAR, -1
    while len(found) > size:
        size = len(found)
        for fact in list(found):
            found |= FACTS[fact]
        for known, follows in TOGETHER + (SQUARE if square else []):
            if known <= found:
                found |= follows
    return frozenset(found)


def of_adjoint(a: Facts) -> Facts:
    """A*."""
    return frozenset(FLIPPED.get(fact, fact) for fact in a)


def of_inverse(a: Facts) -> Facts:
    """A⁻¹."""
    triangular = bool(a & {"lower triangular", "upper triangular"})
    kept = {"symmetric", "permutation", "orthonormal", "orthonormal rows", "identity", *TRIANGLES, *NEGATED}
    return (a & (kept | ({"unit diagonal"} if triangular else set()))) | {"invertible"}


def of_scaled(a: Facts, kind: str) -> Facts:
    """c A, where kind tells of c: "one", "minus one", "positive", "negative", "zero", "real" or "complex"."""
    if kind == "one":
        return a
    if kind == "zero":
        return frozenset({"zero"})
    kept = a & {"zero", "tridiagonal", *TRIANGLES}
    if kind != "complex":
        kept |= a & {"symmetric"}
    if kind in ("positive", "negative", "minus one"):
        kept |= a & {"invertible"}
        definite = a & frozenset(NEGATED)
        kept |= definite if kind == "positive" else {NEGATED[fact] for fact in definite}
    if kind == "minus one":
        kept |= a & {"orthonormal", "orthonormal rows"}
    return frozenset(kept)


def of_sum(terms: Sequence[Facts]) -> Facts:
    """A + B + …: what all of them have; one definite term makes a semidefinite sum definite."""
    shared = frozenset.intersection(*terms)
    found = shared & {"symmetric", "positive semidefinite", "negative semidefinite", "tridiagonal", "zero", *TRIANGLES}
    for sign in ("positive", "negative"):
        if f"{sign} semidefinite" in shared and any(f"{sign} definite" in term for term in terms):
            found |= {f"{sign} definite"}
    return found


def of_product(factors: Sequence[Facts]) -> Facts:
    """A B …."""
    if any("zero" in factor for factor in factors):
        return frozenset({"zero"})
    shared = frozenset.intersection(*factors)
    found = shared & {"orthonormal", "orthonormal rows", "permutation", "identity", "invertible", *TRIANGLES}
    if found & TRIANGLES:
        found |= shared & {"unit diagonal"}
    if "diagonal" in shared:  # diagonal matrices commute
        found |= shared & {"symmetric", "positive definite", "positive semidefinite"}
    return found


def of_power(a: Facts, n: int) -> Facts:
    """Aⁿ, n ≥ 1."""
    found = of_product([a] * n) | (a & {"symmetric"})
    if n % 2:
        return found | (a & frozenset(NEGATED))
    return found | ({"positive semidefinite"} if "symmetric" in a else set())


def of_congruence(outer: Facts, inner: Facts) -> Facts:
    """B* S B."""
    found = inner & {"symmetric", "positive semidefinite", "negative semidefinite", "zero"}
    if outer & {"invertible", "orthonormal"}:
        found |= inner & {"positive definite", "negative definite"}
    if "orthonormal" in outer and "identity" in inner:
        found |= {"identity"}
    return found | of_product([of_adjoint(outer), inner, outer])


def of_kronecker(factors: Sequence[Facts]) -> Facts:
    """A ⊗ B ⊗ …: what all of them have."""
    if any("zero" in factor for factor in factors):
        return frozenset({"zero"})
    shared = frozenset.intersection(*factors)
    found = shared - {"negative definite", "negative semidefinite", "tridiagonal"}
    for strength in ("definite", "semidefinite"):
        signs = ["negative" if f"negative {strength}" in factor else "positive" for factor in factors]
        if all(f"{sign} {strength}" in factor for sign, factor in zip(signs, factors, strict=True)):
            found |= {f"{'negative' if signs.count('negative') % 2 else 'positive'} {strength}"}
    return found


def of_blocks(blocks: Sequence[Facts]) -> Facts:
    """Blocks along the diagonal: what all of them have."""
    return frozenset.intersection(*blocks)
