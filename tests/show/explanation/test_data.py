"""Explanations as plain data: valid JSON, complete, and the same numbers and formulas as in the printed table."""

import json

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.program import Program
from adjoint.show.explanation.data import VERSION, explanation_data


def pieces(x, y):
    z = np.where(x > y, x * y, y / x)
    for k in range(2):
        z = np.maximum(z, 0.5) ** (k + 1)
    return z * np.abs(x - 3)


def strict(constant):
    raise AssertionError(f"{constant} is not JSON")


def data_of(explained):
    return json.loads(explained.json(), parse_constant=strict)


def test_format_and_version():
    data = data_of(ad.explain(pieces)(2.5, 1.5))
    assert (data["format"], data["version"], data["name"]) == ("adjoint explanation", VERSION, "pieces")
    columns = data["variables"]
    assert len({len(column) for column in columns.values()}) == 1
    assert len({len(column) for column in data["events"].values()}) == 1
    assert [columns["label"][v] for v in data["inputs"]] == ["x", "y"]
    assert data["modes"] == {m: {"known": True, "reason": ""} for m in ("reverse", "forward", "second")}


def test_writing_to_a_file(tmp_path):
    explained = ad.explain(pieces)(2.5, 1.5)
    written = explained.json(tmp_path / "explained.json")
    assert (tmp_path / "explained.json").read_text(encoding="utf-8") == written
    assert explained.html(tmp_path / "page.html") == (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("x, y", [(2.5, 1.5), (0.5, 4.0)])
def test_formulas_are_those_of_the_table(x, y):
    """One is written for each kind of operation, and the names filled in: it must not matter for which one."""
    explained = ad.explain(pieces)(x, y)
    data = data_of(explained)
    rows = {row.variable.number: row for row in explained.table()}
    for event in explained.model.events:
        (v,) = event.outputs
        assert data["events"]["formula"][event.number][:59] == rows[v.number].formula[:59]
        for i, operand in enumerate(event.operands):
            term = data["events"]["terms"][event.number][i]
            if term and hasattr(operand, "uses") and len(operand.uses) == 1:
                assert rows[operand.number].adjoint_formula == term


def test_values_of_all_modes():
    data = data_of(ad.explain(pieces)(2.5, 1.5))
    second = ad.explain(pieces, mode="second")(2.5, 1.5).model
    for field, attribute in {"adjoint": "adjoint", "tangent": "tangent", "second": "adjoint_tangent"}.items():
        for v in second.variables:
            expected = getattr(v, attribute)
            got = data["variables"][field][v.number]
            assert (got is None) == (expected is None)
            if expected is not None:
                np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_the_explanation_stays_as_it_was():
    explained = ad.explain(pieces)(2.5, 1.5)
    before = str(explained)
    explained.json()
    explained.html()
    assert str(explained) == before
    assert all(v.tangent is None for v in explained.model.variables)


def test_nan_and_infinity_are_words():
    with np.errstate(all="ignore"):
        data = data_of(ad.explain(lambda x: np.sum(np.log(x) / x))(np.array([0.0, np.inf, -1.0, 2.0])))
    assert data["variables"]["value"][0] == [0.0, "inf", -1.0, 2.0]
    assert data["variables"]["value"][1][:3] == ["-inf", "inf", "nan"]


def test_large_arrays_are_told_in_short():
    data = data_of(ad.explain(lambda x: np.sum(np.sin(x)))(np.linspace(0, 1, 6000)))
    assert data["variables"]["value"][0] is None
    assert data["texts"]["value"]["0"].startswith("[6000] 0 … 1")
    assert "too large" in data["recompute"]
    assert len(json.dumps(data)) < 60_000


def test_complex_values():
    data = data_of(ad.explain(lambda x: np.abs(np.exp(1j * x)))(0.5))
    number = data["variables"]["dtype"].index("complex128")
    value = complex(data["variables"]["value"][number], data["imaginary"]["value"][str(number)])
    assert value == pytest.approx(0.5j)


def test_answers_that_the_explanation_holds_for():
    def branch(x):
        return x * x if x > 1 else ad.cond(x > 0, lambda x: -x, lambda x: x, x)

    (first,) = data_of(ad.explain(branch)(2.0))["guards"]
    assert (first["question"], first["answer"]) == ("bool", True)
    asked = {guard["question"]: guard for guard in data_of(ad.explain(branch)(0.5))["guards"]}
    assert asked["bool"]["answer"] is False
    assert "branch" in asked["index"]["text"]


def test_groups_hold_all_operations_once():
    data = explanation_data(ad.explain(pieces)(2.5, 1.5))
    parts = [part for listed in data["groups"]["parts"] for part in listed]
    assert sorted(part for part in parts if part >= 0) == list(range(len(data["events"]["op"])))
    assert sorted(-part for part in parts if part < 0) == list(range(1, len(data["groups"]["kind"])))


def test_sections_of_the_page():
    titles = {s["title"]: s["text"] for s in explanation_data(ad.explain(pieces)(2.5, 1.5))["sections"]}
    assert {"Program", "Program, simplified", "Value and derivative", "Kinks"} <= set(titles)
    assert isinstance(ad.explain(pieces)(2.5, 1.5).programs.value, Program)
    assert "multiply" in titles["Program"]


def test_a_symbol_that_stands_for_many_terms():
    def many(x):
        return sum(np.sin(x) * k for k in range(200))

    explained = ad.explain(many)(0.5)
    (row,) = [row for row in explained.table() if row.name == "v₀"]
    assert row.adjoint_formula.endswith("…")


def test_large_arrays_do_not_make_large_texts():
    x = np.linspace(-1.0, 1.0, 300_000)

    def f(x):
        x = x * 2.0
        x[x > 0.5] *= 3.0
        return np.sum(np.sin(x))

    explained = ad.explain(f)(x)
    assert len(explained.json()) < 100_000
    assert len(explained.html()) < 500_000
    assert "too large" in json.loads(explained.json())["recompute"]
