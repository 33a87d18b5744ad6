"""Order conditions of every table, from rooted trees, exactly where the table is made of fractions."""

from fractions import Fraction

import pytest

from adjoint.integrate import tableaux
from tests.integrate.rooted_trees import defects, trees

# text, stages, order, order of the embedded method, whether fractions
TABLES = {
    "EULER": (1, 1, None, True),
    "MIDPOINT": (2, 2, None, True),
    "HEUN": (2, 2, 1, True),
    "RALSTON": (2, 2, 1, True),
    "CLASSIC": (4, 4, None, True),
    "THREE_EIGHTHS": (4, 4, None, True),
    "BOGACKI_SHAMPINE": (4, 3, 2, True),
    "DORMAND_PRINCE": (7, 5, 4, True),
    "TSITOURAS": (7, 5, 4, False),
    "DOP853": (12, 8, None, False),
    "VERNER6": (9, 6, 5, True),
    "VERNER7": (10, 7, 6, False),
    "VERNER8": (13, 8, 7, False),
    "VERNER9": (16, 8, 8, False),
}


def test_number_of_trees():
    assert [len(trees(n)) for n in range(1, 9)] == [1, 1, 2, 4, 9, 20, 48, 115]


def _table(name):
    stages, order, embedded, exact = TABLES[name]
    is_dop = name == "DOP853"
    has_error = embedded is not None or is_dop
    return (
        tableaux.read_table(getattr(tableaux, name), stages, embedded=has_error, difference=is_dop),
        order,
        embedded,
        exact,
    )


@pytest.mark.parametrize("name", TABLES)
def test_order_conditions(name):
    table, order, embedded, exact = _table(name)
    bound = 0 if exact else 1e-13
    assert all(defect <= bound for defect in defects(table.A, table.b, order).values())
    assert all(abs(sum(row, start=0) - c) <= bound for row, c in zip(table.A, table.c, strict=True))
    if embedded is not None:
        hat = [b - e for b, e in zip(table.b, table.error, strict=True)]
        assert all(defect <= bound for defect in defects(table.A, hat, embedded).values())


def test_both_estimates_of_dop853():
    """The weights that the solution is compared with are of orders 5 and 3."""
    table = tableaux.read_table(tableaux.DOP853, 12, difference=True)
    fifth = [b - e for b, e in zip(table.b, table.error, strict=True)]
    third = [Fraction(tableaux.DOP853_THIRD.get(i, "0")) for i in range(12)]
    for weights, order in ((fifth, 5), (third, 3)):
        found = defects(table.A, weights, order + 1)
        assert max(found[p] for p in range(1, order + 1)) < 1e-13
        assert found[order + 1] > 1e-9


@pytest.mark.parametrize("name", ["BOGACKI_SHAMPINE", "DORMAND_PRINCE", "TSITOURAS", "VERNER6"])
def test_no_higher_order_than_stated(name):
    table, order, embedded, _ = _table(name)
    assert defects(table.A, table.b, order + 1)[order + 1] > 1e-9
    hat = [b - e for b, e in zip(table.b, table.error, strict=True)]
    assert defects(table.A, hat, embedded + 1)[embedded + 1] > 1e-9
