"""Colorings determine every entry of every matrix with their pattern, and need as few colors as is known."""

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from adjoint import sparse
from adjoint.sparse.graphs import ORDERS, graph_of, order_vertices

JACOBIAN_KINDS = ("auto", "column", "row", "bidirectional")
HESSIAN_KINDS = ("star", "acyclic")


def banded(n: int, width: int) -> Any:
    diagonals = [np.ones(n - abs(k)) for k in range(-width, width + 1)]
    return scipy.sparse.diags_array(diagonals, offsets=range(-width, width + 1)).tocsr()


def grid(n: int) -> Any:
    """The five-point stencil on n × n points."""
    line, one = banded(n, 1), scipy.sparse.eye_array(n)
    return (scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line)).tocsr()


def arrow(n: int) -> Any:
    matrix = np.eye(n)
    matrix[0] = matrix[:, 0] = 1
    return matrix


def filled(pattern: Any, seed: int, symmetric: bool) -> Any:
    """A random matrix with this pattern."""
    rng = np.random.default_rng(seed)
    made = scipy.sparse.csr_array(pattern).astype(float)
    made.data = rng.normal(size=made.nnz)
    return (made + made.T).tocsr() if symmetric else made


@st.composite
def patterns(draw: Any, square: bool = False) -> Any:
    m = draw(st.integers(1, 14))
    n = m if square else draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    return rng.random((m, n)) < draw(st.sampled_from([0.05, 0.15, 0.3, 0.6]))


@given(patterns(), st.sampled_from(JACOBIAN_KINDS), st.sampled_from(ORDERS))
def test_any_jacobian_is_found_again(pattern: Any, kind: str, order: str) -> None:
    matrix = filled(pattern, 1, symmetric=False)
    made = sparse.color(pattern, kind, order)
    np.testing.assert_allclose(made.decompress(*made.compress(matrix)).toarray(), matrix.toarray(), atol=1e-12)


@given(patterns(square=True), st.sampled_from(HESSIAN_KINDS), st.sampled_from(ORDERS))
def test_any_hessian_is_found_again(pattern: Any, kind: str, order: str) -> None:
    matrix = filled(pattern, 2, symmetric=True)
    made = sparse.color(matrix, kind, order)
    np.testing.assert_allclose(made.decompress(*made.compress(matrix)).toarray(), matrix.toarray(), atol=1e-10)
    assert acceptable(made)


def acceptable(made: Any) -> bool:
    """By looking at all of it: neighbors differ; no path of four in two colors (star), no cycle (acyclic)."""
    graph, colors = made.pattern.toarray(), made.columns
    np.fill_diagonal(graph, False)
    n = len(graph)
    pairs = {(a, b) for a in colors for b in colors if a < b}
    if any(colors[i] == colors[j] for i in range(n) for j in range(n) if graph[i, j]):
        return False
    for a, b in pairs:
        inside = np.flatnonzero((colors == a) | (colors == b))
        part = graph[np.ix_(inside, inside)]
        parts, label = scipy.sparse.csgraph.connected_components(part, directed=False)
        for k in range(parts):
            tree = part[np.ix_(label == k, label == k)]
            if tree.sum() // 2 != len(tree) - 1:
                return False
            if made.kind == "star" and (tree.sum(axis=0) > 1).sum() > 1:
                return False
    return True


@pytest.mark.parametrize("order", ORDERS)
def test_bands_need_as_many_colors_as_they_are_wide(order: str) -> None:
    for width in (1, 2):
        least = 2 * width + 1
        assert len(sparse.color(banded(60, width), "column")) == least
        assert least <= len(sparse.color(banded(60, width), "column", order)) <= 2 * least
    assert len(sparse.color(banded(60, 1), "star", order)) <= 4
    assert len(sparse.color(banded(60, 1), "acyclic", order)) == 2


def test_known_numbers_of_colors() -> None:
    assert len(sparse.color(banded(100, 1))) == 3
    assert len(sparse.color(banded(100, 1), "star")) == 3
    assert len(sparse.color(grid(12), "star")) <= 6
    assert len(sparse.color(grid(12), "acyclic")) <= 5
    assert len(sparse.color(np.ones((4, 7)), "column")) == 7
    assert len(sparse.color(np.ones((4, 7)), "row")) == 4
    assert len(sparse.color(np.zeros((4, 7)))) <= 1
    assert len(sparse.color(arrow(30), "column")) == 30
    assert len(sparse.color(arrow(30), "star")) == 2
    both = sparse.color(arrow(30))
    assert (both.kind, both.pushes, both.pulls) in {("bidirectional", 2, 1), ("bidirectional", 1, 2)}


def test_orders_are_what_their_names_say() -> None:
    graph = graph_of(scipy.sparse.csr_array(arrow(5)))
    assert order_vertices(graph, "natural").tolist() == [0, 1, 2, 3, 4]
    assert order_vertices(graph, "largest first")[0] == 0
    assert order_vertices(graph, "smallest last")[:2].tolist().count(0) == 1
    assert order_vertices(graph, "incidence degree")[0] == 0
    for order in ORDERS:
        assert sorted(order_vertices(graph, order)) == list(range(5))
    with pytest.raises(ValueError, match="smallest last"):
        sparse.color(arrow(5), "star", "best")


def test_seeds_and_groups() -> None:
    made = sparse.Coloring(np.eye(3), "column", [0, 5, 0])
    assert made.columns.tolist() == [0, 1, 0]
    assert [g.tolist() for g in made.groups] == [[0, 2], [1]]
    assert made.seeds().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert (made.number, len(made), made.shape) == (2, 2, (3, 3))


def test_a_coloring_that_loses_entries_is_refused() -> None:
    with pytest.raises(ValueError, match=r"entry \(0, 0\) stands alone in no product"):
        sparse.Coloring([[1, 1], [0, 1]], "column", [0, 0])
    with pytest.raises(ValueError, match="two colors make a cycle"):
        sparse.Coloring(np.ones((4, 4)) - np.eye(4)[::-1], "acyclic", [0, 1, 1, 0])
    with pytest.raises(ValueError, match="one color for each"):
        sparse.Coloring(np.eye(3), "column", [0, 0])
    with pytest.raises(ValueError, match=r"Give P \+ P\.T"):
        sparse.color([[1, 1], [0, 1]], "star")
    with pytest.raises(ValueError, match="is none of"):
        sparse.color(np.eye(2), "rainbow")


@pytest.mark.parametrize("kind", ["column", "bidirectional", "star", "acyclic"])
def test_pickles(kind: str) -> None:
    made = sparse.color(arrow(8), kind)
    again = pickle.loads(pickle.dumps(made))
    matrix = filled(arrow(8), 3, symmetric=True)
    np.testing.assert_allclose(again.decompress(*made.compress(matrix)).toarray(), matrix.toarray(), atol=1e-12)
    assert repr(again) == repr(made)


def test_full_rows_without_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sparse.color(grid(6), "column").columns
    monkeypatch.setattr("adjoint.sparse.graphs.LARGEST_GRAPH", 0)
    np.testing.assert_array_equal(sparse.color(grid(6), "column").columns, expected)


def test_long_paths_by_substitution() -> None:
    n = 3000
    matrix = filled(banded(n, 1), 4, symmetric=True)
    made = sparse.color(matrix, "acyclic")
    assert len(made) == 2
    found = made.decompress(*made.compress(matrix))
    # entries follow one from the other along the path: rounding adds up
    np.testing.assert_allclose(found.data, matrix.data, atol=1e-9)


@pytest.mark.parametrize("kind", HESSIAN_KINDS)
def test_a_full_row_does_not_cost_the_square_of_its_length(kind: str) -> None:
    n = 30_000
    ends, zeros = np.arange(1, n), np.zeros(n - 1, int)
    places = np.concatenate([zeros, ends, np.arange(n)]), np.concatenate([ends, zeros, np.arange(n)])
    pattern = scipy.sparse.coo_array((np.ones(places[0].size), places), shape=(n, n)).tocsr()
    assert sparse.color(pattern, kind).number == 2
