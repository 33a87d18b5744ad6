"""Order conditions of Runge-Kutta methods by rooted trees: Φ(τ) = 1 / γ(τ) for all trees of at most p nodes."""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

Tree = tuple  # of subtrees


@cache
def trees(order: int) -> list[Tree]:
    """All rooted trees with so many nodes."""
    if order == 1:
        return [()]
    found = set()
    for parts in partitions(order - 1):
        found |= set(_forests(tuple(sorted(parts))))
    return sorted(found, key=repr)


def partitions(n: int, largest: int | None = None):
    largest = n if largest is None else largest
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


@cache
def _forests(sizes: tuple[int, ...]) -> list[Tree]:
    if not sizes:
        return [()]
    size, count = sizes[0], sizes.count(sizes[0])
    rest = sizes[count:]
    found = []
    for chosen in combinations_with_replacement(trees(size), count):
        found += [tuple(sorted((*chosen, *others), key=repr)) for others in _forests(rest)]
    return found


@cache
def nodes(tree: Tree) -> int:
    return 1 + sum(map(nodes, tree))


@cache
def density(tree: Tree) -> int:
    product = nodes(tree)
    for child in tree:
        product *= density(child)
    return product


def weights(tree: Tree, A, stages: int, memo: dict) -> list:
    """Φᵢ(τ) for all stages i."""
    if tree not in memo:
        found = [Fraction(1)] * stages
        for child in tree:
            inner = weights(child, A, stages, memo)
            sums = [sum((a * inner[j] for j, a in enumerate(A[i]) if a), Fraction(0)) for i in range(stages)]
            found = [x * y for x, y in zip(found, sums, strict=True)]
        memo[tree] = found
    return memo[tree]


def defects(A, b, order: int) -> dict[int, Fraction]:
    """The largest |Σ bᵢ Φᵢ(τ) - 1/γ(τ)| over the trees of each number of nodes."""
    memo: dict = {}
    out = {}
    for p in range(1, order + 1):
        largest = Fraction(0)
        for tree in trees(p):
            value = sum((x * y for x, y in zip(b, weights(tree, A, len(b), memo), strict=True)), Fraction(0))
            largest = max(largest, abs(value - Fraction(1, density(tree))))
        out[p] = largest
    return out


def defects_of_pairs(tables, b, order: int) -> dict[int, Fraction]:
    """The same for a sum of right sides, each with its own A: trees whose nodes have colors."""
    stages = len(b)

    @cache
    def inner(tree: Tree) -> list[list]:
        """Φᵢ of the subtree, for all colorings of what is below its root."""
        found = [[Fraction(1)] * stages]
        for child in tree:
            sums = [[sum((a * w[j] for j, a in enumerate(A[i]) if a), Fraction(0)) for i in range(stages)]
                    for A in tables for w in inner(child)]  # fmt: skip
            found = [[x * y for x, y in zip(one, s, strict=True)] for one in found for s in sums]
        return found

    def defect(tree: Tree, w: list) -> Fraction:
        return abs(sum((x * y for x, y in zip(b, w, strict=True)), Fraction(0)) - Fraction(1, density(tree)))

    return {p: max(defect(tree, w) for tree in trees(p) for w in inner(tree)) for p in range(1, order + 1)}


def defects_of_rosenbrock(alpha, beta, b, order: int) -> dict[int, float]:
    """The same for a Rosenbrock method: β = α + γ where a node has one child, α where it has more."""

    def inner(tree: Tree):
        found = 1.0
        for child in tree:
            found = found * ((beta if len(tree) == 1 else alpha) @ (inner(child) + 0 * b))
        return found

    return {p: max(abs(b @ (inner(tree) + 0 * b) - 1 / density(tree)) for tree in trees(p))
            for p in range(1, order + 1)}  # fmt: skip
