"""How rows of the table of coverage are written and found."""

import subprocess
import sys
from pathlib import Path

import pytest

from adjoint.coverage import CONSTANT, DIFFERENTIABLE, KINDS, REFUSED, SIZES, TABLES, TYPES, VALUES, Table, find

ROOT = Path(__file__).resolve().parents[2]


def test_rows_are_written_in_one_line():
    table = Table("numpy")
    table.differentiable("sin cos")
    table.differentiable("full", "fill_value", own=True)
    table.constant("shape", TYPES)
    table.refused("save", "it writes a file", "Return it")
    assert [(row.name, row.kind, row.offered) for row in table.rows.values()] == [
        ("sin", DIFFERENTIABLE, "numpy.sin"),
        ("cos", DIFFERENTIABLE, "numpy.cos"),
        ("full", DIFFERENTIABLE, "adjoint.numpy.full"),
        ("shape", CONSTANT, "numpy.shape"),
        ("save", REFUSED, ""),
    ]
    assert table.rows["full"].arguments == ("fill_value",)
    assert table.rows["save"].words == "it writes a file. Return it."
    assert table.named(CONSTANT, TYPES) == ["shape"]
    assert table.named(CONSTANT, VALUES) == []


def test_a_function_has_one_row():
    table = Table("numpy")
    table.differentiable("sin")
    table.constant("sin")
    with pytest.raises(ValueError, match=r"numpy\.sin has two rows"):
        table.rows


def test_tables_are_put_together():
    ufuncs, table = Table("numpy"), Table("numpy")
    ufuncs.differentiable("sin")
    table.include(ufuncs)
    table.differentiable("sum")
    assert list(table.rows) == ["sin", "sum"]


def test_rows_are_found_by_name():
    row = find("numpy.linalg", "svd")
    assert row is not None
    assert row.title == "numpy.linalg.svd"
    assert find("numpy.linalg", "no_such_function") is None
    assert find("no.such.namespace", "svd") is None


def test_rows_say_what_they_must():
    for row in (row for table in TABLES.values() for row in table.rows.values()):
        assert row.kind in KINDS, row
        assert bool(row.reason) == bool(row.remedy) == (row.kind == REFUSED), row
        assert not row.arguments or row.kind == DIFFERENTIABLE, row
        assert row.takes == VALUES or (row.kind == CONSTANT and row.takes in (TYPES, SIZES)), row
        assert not row.reason.endswith("."), row
        assert not row.remedy.endswith("."), row
        assert row.remedy[:1] == row.remedy[:1].upper(), row


def test_the_table_needs_nothing_but_python():
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src' / 'adjoint' / 'coverage')!r}); "
        "import table; print('numpy' in sys.modules, 'scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.split() == ["False"] * 2
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); import adjoint.coverage; print('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
