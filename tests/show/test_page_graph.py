"""The graph in a page stands where `adjoint.show.drawing.scene` puts it, whichever frames are open."""

import functools
import json

import numpy as np
import pytest

import adjoint as ad
from adjoint.show.drawing.scene import placed
from adjoint.show.explanation.summaries import summary

pytestmark = pytest.mark.browser
PLACED = """({data, opened}) => scene.placed(data, new Set(opened),
  (kind, n) => (kind === "v" ? data.variables[n] : data.groups[n]))"""


def layer(x, w):
    with ad.scope("layer"):
        return np.tanh(x @ w)


def network(x, w):
    for _ in range(3):
        x = layer(x, w) + x
    return np.sum(x**2)


def root(a):
    return ad.while_loop(lambda s: abs(s * s - a) > 1e-10, lambda s: 0.5 * (s + a / s), a)


@pytest.mark.parametrize("function, args", [(network, (np.ones(2), np.eye(2) * 0.3)), (root, (2.0,)), (np.sin, (1.0,))])
def test_places_are_those_of_python(opened, function, args):
    explained = ad.explain(function)(*args)
    page = opened(explained)
    data = json.loads(json.dumps(explained.graph))
    groups = [int(number) for number in data["groups"]]
    for choice in (data["opened"], [0], groups, groups[::2]):
        chosen = {0, *choice}
        got = page.evaluate(PLACED, {"data": data, "opened": sorted(chosen)})
        expected = placed(explained.graph, chosen)
        assert len(got["boxes"]) == len(expected["boxes"])
        assert len(got["arrows"]) == len(expected["arrows"])
        for mine, theirs in zip(got["boxes"], expected["boxes"], strict=True):
            assert mine.keys() == theirs.keys()
            np.testing.assert_allclose([mine[k] for k in theirs], [theirs[k] for k in theirs], atol=0.2)
        for mine, theirs in zip(got["arrows"], expected["arrows"], strict=True):
            np.testing.assert_allclose(mine["points"], theirs["points"], atol=0.2)
            assert (mine["text"], mine["head"], mine["active"]) == (
                theirs["text"],
                theirs["head"],
                theirs["active"],
            )
        np.testing.assert_allclose([got["width"], got["height"]], [expected["width"], expected["height"]], atol=0.2)


def chain(x):
    return functools.reduce(lambda y, k: np.sin(y) if k % 7 else layer_of_one(y), range(150), x)


def layer_of_one(x):
    return x * 1.5 + 0.25


def sums(x):
    return sum([np.sin(x * k) for k in range(1, 70)], start=x)


@pytest.mark.parametrize("function", [chain, sums])
def test_long_explanations_without_loops(opened, function):
    """The graph holds neighbors in frames, and those in frames again; the table has a row for each as before."""
    explained = ad.explain(function)(0.5)
    page = opened(explained)
    shown = page.evaluate("explanation.state.rows.flatMap(({v}) => (v >= 0 ? [v] : []))")
    if page.is_visible("#open-all"):
        page.click("#open-all")
    rows = page.evaluate("explanation.state.rows.flatMap(({v}) => (v >= 0 ? [v] : []))")
    assert set(shown) <= set(rows)
    assert sorted(rows) == [v.number for v in explained.model.variables if v.kind != "constant" and not v.hidden]
    page.locator("#inputs input").fill("0.75")
    assert summary(function(0.75)) in page.inner_text("#results")
    for v in rows[::40]:
        page.evaluate("v => explanation.state.select(v)", v)
        assert page.inner_text("#detail h2").startswith(explained.model.variables[v].name)


def test_boxes_do_not_overlap_in_any_mode(opened):
    page = opened(ad.explain(network)(np.ones(2), np.eye(2) * 0.3))
    overlaps = """() => {
      const boxes = [...document.querySelectorAll('.graph .box > .outline')].map((e) => e.getBBox());
      const apart = (a, b) => a.x + a.width <= b.x + 1 || b.x + b.width <= a.x + 1 || a.y + a.height <= b.y + 1
        || b.y + b.height <= a.y + 1;
      return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => !apart(a, b))).length; }"""
    inside = """() => [...document.querySelectorAll('.graph .box[data-variable]')].filter((g) => {
      const outline = g.querySelector('.outline').getBBox();
      return [...g.querySelectorAll('text')].some((t) => { const b = t.getBBox();
        return b.x < outline.x - 1 || b.x + b.width > outline.x + outline.width + 1; }); }).length"""
    for key in ("1", "2", "3"):
        page.keyboard.press(key)
        assert page.evaluate(overlaps) == 0
        assert page.evaluate(inside) == 0


@pytest.mark.parametrize("detail", ["primitives", "statements"])
def test_partials_beside_the_arrows_follow_the_inputs(opened, detail):
    def f(x, y):
        a = x * y + np.sin(x * 2.0)
        return a**2 / y

    labels = "[...document.querySelectorAll('.graph .arrow > text')].map((e) => e.textContent)"
    page = opened(ad.explain(f, detail=detail)(1.5, 0.7))
    page.fill("#inputs input >> nth=0", "0.4")
    there = opened(ad.explain(f, detail=detail)(0.4, 0.7))
    assert page.evaluate(labels) == there.evaluate(labels)
    assert len(page.evaluate(labels)) >= 3
