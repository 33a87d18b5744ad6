"""The computation graph: the right partials on its edges, nothing over anything else, and all of it in the picture."""

import itertools
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import adjoint as ad
from adjoint.show.drawing.scene import placed
from adjoint.show.explanation.model import Variable
from adjoint.show.explanation.partials import edges

SVG = "{http://www.w3.org/2000/svg}"


def shared(x1, x2):
    t = x2 * np.exp(x1)
    return t * np.sqrt(x1 + t)


def loss(w2, w1, w0):
    v1 = w0 + w1 + 1.5 * w2
    v2 = w0 + 1.5 * w1 - w2 * w2 * np.sum(np.array([1.0, 2.0]) * w2)
    return (0 - expit(v1)) ** 2 + (1 - expit(v2)) ** 2


def newton(a):
    return ad.while_loop(lambda s: abs(s[1] ** 2 - a) > 0.01, lambda s: (s[0] + 1, 0.5 * (s[1] + a / s[1])), (0, a))[1]


def recurrent(w, u, xs, h0):
    def step(h, x):
        h = np.tanh(w @ h + u @ x)
        return h, h

    with ad.scope("recurrence"):
        _, hs = ad.scan(step, h0, xs)
    return np.sum(hs**2)


def network(w1, b1, w2, x):
    def layer(h, w, b):
        return np.tanh(h @ w + b)

    with ad.scope("hidden"):
        h = layer(layer(x, w1, b1) * 2, w1, b1)
    return np.mean((h @ w2) ** 2)


def powers(x):
    return sum([x**k for k in range(70)])


def many(*xs):
    return sum(x * k for k, x in enumerate(xs))


rng = np.random.default_rng(0)
W, U, XS = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=(12, 2))
EXPLANATIONS = {
    "shared": lambda **options: ad.explain(shared, **options)(1.0, 2.0),
    "loss": lambda **options: ad.explain(loss, **options)(0.5, 1.5, -1.0),
    "newton": lambda **options: ad.explain(newton, **options)(2.0),
    "recurrent": lambda **options: ad.explain(recurrent, **options)(W, U, XS, np.zeros(3)),
    "network": lambda **options: ad.explain(network, **options)(W, np.zeros(3), U, rng.normal(size=(4, 3))),
    "powers": lambda **options: ad.explain(powers, **options)(0.9),
    "many": lambda **options: ad.explain(many, **options)(*map(float, range(70))),
}


@pytest.fixture(scope="module", params=list(EXPLANATIONS))
def explained(request):
    return EXPLANATIONS[request.param]()


def states(explained):
    """None open, all open, as at first, and some at random."""
    numbers = list(explained.graph["groups"])
    chance = np.random.default_rng(1)
    some = [[n for n in numbers if chance.random() < 0.6] for _ in range(3)]
    return [[], numbers, None, *some]


def on_the_way(points):
    """Points on an arrow: straight within pairs, a cubic with upright tangents between them."""
    for k, ((x0, y0), (x1, y1)) in enumerate(itertools.pairwise(points)):
        for t in np.linspace(0, 1, 12):
            aside = t * t * (3 - 2 * t)
            down = t if k % 2 == 0 else 1.5 * t * (1 - t) + t**3  # the control points stand in the middle
            yield x0 + (x1 - x0) * aside, y0 + (y1 - y0) * down


def inside(x, y, box, slack=0.6):
    return (box["x"] + slack < x < box["x"] + box["w"] - slack) and (box["y"] + slack < y < box["y"] + box["h"] - slack)


def apart(a, b):
    return (
        a["x"] + a["w"] <= b["x"] + 0.2 or b["x"] + b["w"] <= a["x"] + 0.2
        or a["y"] + a["h"] <= b["y"] + 0.2 or b["y"] + b["h"] <= a["y"] + 0.2
    )  # fmt: skip


def test_nothing_overlaps_whatever_is_open(explained):
    data = explained.graph
    for opened in states(explained):
        scene = placed(data, opened)
        labels = [
            {"x": x - w / 2, "y": y - 7, "w": w, "h": 14}
            for x, y, w in (a["label"] for a in scene["arrows"] if a["label"])
        ]
        solid = [*scene["boxes"], *labels]
        if len(solid) < 250:
            for a, b in itertools.combinations(solid, 2):
                assert apart(a, b), (a, b)
        for a, b in itertools.combinations(scene["frames"], 2):  # one within the other, or apart
            around = inside(b["x"] + 1, b["y"] + 1, a) and inside(b["x"] + b["w"] - 1, b["y"] + b["h"] - 1, a)
            assert around or apart(a, b)
        whole = scene["frames"][0]
        assert all(inside(box["x"] + 1, box["y"] + 1, whole) for box in scene["boxes"])
        assert all(box["x"] + box["w"] <= scene["width"] for box in scene["boxes"])


def test_arrows_go_down_and_not_through_boxes(explained):
    scene = placed(explained.graph)
    for arrow in scene["arrows"]:
        heights = [y for _, y in arrow["points"]]
        assert heights == sorted(heights)
        for x, y in on_the_way(arrow["points"]):
            assert not any(inside(x, y, box) for box in scene["boxes"])


def test_an_edge_can_be_followed_from_frame_to_frame(explained):
    """Where an arrow of a variable ends at the border of an open frame, another one of the same variable begins."""
    for opened in states(explained):
        scene = placed(explained.graph, opened)
        starts = {(a["variable"], *np.round(a["points"][0], 3)) for a in scene["arrows"]}
        borders = [(f["y"], f["y"] + f["h"]) for f in scene["frames"][1:]]
        for arrow in scene["arrows"]:
            x, y = arrow["points"][-1]
            if not arrow["head"] and any(abs(y - top) < 1e-6 for top, _ in borders):
                assert (arrow["variable"], *np.round((x, y), 3)) in starts


def test_everything_is_in_the_picture_when_all_is_open(explained):
    root = ET.fromstring(explained.svg(opened=True))
    drawn = {int(e.get("data-variable")) for e in root.iter() if e.get("data-variable")}
    model = explained.model
    used = {v.number for v in model.variables if not v.hidden and (v.kind != "constant" or v.uses)}
    assert drawn == used
    assert {e.get("data-edge") for e in root.iter() if e.get("data-edge")} == {
        f"{edge.source.number}-{edge.target.number}" for edge in edges(model, "reverse")
    }
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title").text == f"Computation graph of {model.name}"
    assert "prefers-color-scheme: dark" in root.find(f"{SVG}style").text
    text = explained.svg()
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<script" not in text
    assert text == explained.svg()


def replayed(v, changed, by):
    """v computed again from the visible variables that it is made of, one of them changed."""

    def value(a):
        if not isinstance(a, Variable):
            return a.value
        if a is changed:
            return a.value + by
        return made(a) if a.hidden else a.value

    def made(a):
        z = a.event.op.evaluate(*[value(x) for x in a.event.operands])
        return z[a.event.outputs.index(a)] if a.event.op.several else z

    return made(v)


@pytest.mark.parametrize("detail", ["primitives", "statements"])
@pytest.mark.parametrize("name", ["shared", "loss", "newton"])
def test_partials_are_those_of_differences(name, detail):
    found = edges(EXPLANATIONS[name](detail=detail).model, "reverse")
    numbers = [edge for edge in found if edge.partial is not None]
    assert len(numbers) >= 3
    for edge in numbers:
        step = 1e-6
        above, below = replayed(edge.target, edge.source, step), replayed(edge.target, edge.source, -step)
        assert_allclose(edge.partial, (above - below) / (2 * step), rtol=1e-6, atol=1e-7)
    assert all(edge in numbers for edge in found if edge.is_active and edge.source.shape == edge.target.shape == ())


@pytest.mark.row("B4.1.e")
def test_adjoints_are_the_sums_of_partials_times_adjoints():
    """The book's graph in reverse mode, and in forward mode the other way round."""
    for explained in (EXPLANATIONS["shared"](), EXPLANATIONS["loss"](detail="statements")):
        found = edges(explained.model, "reverse")
        for v in explained.model.variables:
            flows = [edge.partial * edge.target.adjoint for edge in found if edge.source is v and edge.is_active]
            if flows and v.shape == () and not v.hidden:
                assert_allclose(sum(flows), v.adjoint, rtol=1e-12)
    forward = ad.explain(shared, mode="forward", direction=(1.0, 0.0))(1.0, 2.0)
    for v in forward.model.steps:
        flows = [e.partial * e.source.tangent for e in edges(forward.model, "forward") if e.target is v]
        assert_allclose(sum(flows), v.tangent, rtol=1e-12)


def test_what_stands_on_boxes_and_edges():
    texts = {mode: EXPLANATIONS["shared"](mode=mode, **options).svg() for mode, options in (
        ("reverse", {}), ("forward", {"direction": (1.0, 0.0)}), ("second", {"direction": (1.0, 0.0)}),
    )}  # fmt: skip
    for mode, text in texts.items():
        written = ["".join(e.itertext()) for e in ET.fromstring(text).iter(f"{SVG}text")]
        assert "v₂ = v₀ · v₁" in written
        assert "t = 5.4366" in written
        assert ("v̄₋₁ = 20.689" in written) == (mode != "forward")
        assert ("v̇₅ = 20.689" in written) == (mode != "reverse")
        assert "2.718" in written  # ∂(v₀ v₁)/∂v₀
    kinds = ET.fromstring(texts["reverse"]).iter(f"{SVG}g")
    classes = [g.get("class") for g in kinds if g.get("data-variable")]
    assert classes == ["box input", "box input", "box step", "box step", "box step", "box step", "box step result"]


def test_formulas_on_the_edges_of_arrays():
    found = {(e.source.label, e.target.name): e.label for e in edges(EXPLANATIONS["network"]().model, "reverse")}
    assert found["x", "v1"] == "v̄₁ @ v₋₃ᵀ"
    assert found["w1", "v1"] == "v₀ᵀ @ v̄₁"
    forward = ad.explain(network, mode="forward")(W, np.zeros(3), U, np.ones((4, 3)))
    found = {(e.source.label, e.target.name): e.label for e in edges(forward.model, "forward")}
    assert found["x", "v1"] == "v̇₀ @ v₋₃"


def test_long_loops_show_their_first_turns_and_the_last():
    graph = EXPLANATIONS["recurrent"]().graph
    titles = {g["title"]: k for k, g in graph["groups"].items()}
    assert {
        "recurrence › scan of 12 iterations",
        "iteration 0",
        "iteration 1",
        "iterations 2 … 10",
        "iteration 11",
    } <= set(titles)
    assert graph["groups"][titles["iteration 5"]]["parent"] == titles["iterations 2 … 10"]
    assert titles["iterations 2 … 10"] not in graph["opened"]


def blocks(x):
    def block(h, k):
        with ad.scope("block"):
            a = np.tanh(h * k)
            return h + a

    for k in range(2):
        with ad.scope("stack"):
            x = block(x, k + 1.0)
    return x


def test_frames_around_a_single_frame_are_one():
    groups = ad.explain(blocks)(0.3).graph["groups"].values()
    assert [g["title"] for g in groups] == [
        "blocks", "for k in range(2)", "iteration 0 › stack › block", "iteration 1 › stack › block"
    ]  # fmt: skip


def looped(x):
    y = x
    for _ in range(2500):
        a = np.sin(y)
        b = a * x
        y = y + 0.001 * b
    return y


def test_ten_thousand_operations():
    explained = ad.explain(looped)(0.5)
    assert len(explained.model.events) == 10_000
    text = explained.svg()
    assert len(text) < 40_000
    root = ET.fromstring(text)
    assert "iterations 2 … 2498" in {e.text for e in root.iter(f"{SVG}text")}
    assert all(len(group["children"]) < 120 for group in explained.graph["groups"].values())


def nothing_done(x):
    return x


def several_results(a):
    w, v = np.linalg.eigh(a)
    return {"w": w, "first": v[0, 0], "two": 2.0, "a": a}


def unused(x, y):
    return x * x


def named(α, größe_名):
    β = α * größe_名
    return np.log(β) + np.sum(np.array([1.0, np.nan, 2.0, 3.0]) * β)


@pytest.mark.parametrize("function, args", [
    (nothing_done, (1.0,)), (several_results, (np.array([[2.0, 1.0], [1.0, 3.0]]),)), (unused, (1.0, 2.0)),
    (named, (-1.0, 2.0)), (lambda x: 3.0, (1.0,)), (lambda x: np.abs(x * 1j) + np.real(np.exp(x * 1j)), (1.0,)),
    (lambda x: "<&>" and x * np.ones((0, 3)), (2.0,)),
])  # fmt: skip
def test_odd_functions_have_pictures_too(function, args):
    with np.errstate(all="ignore"):
        explained = ad.explain(function, mode="forward")(*args)
    root = ET.fromstring(explained.svg())
    drawn = [e for e in root.iter() if e.get("data-variable")]
    assert len([e for e in drawn if "result" in e.get("class")]) == len(explained.model.outputs)
    assert len([e for e in drawn if "input" in e.get("class")]) == len(args)
    if function is named:
        written = " ".join("".join(e.itertext()) for e in root.iter(f"{SVG}text"))
        assert "größe_名 = 2" in written
        assert "nan" in written


def test_a_picture_is_written_to_a_file(tmp_path):
    explained = EXPLANATIONS["shared"]()
    text = explained.svg(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text(encoding="utf-8") == text
