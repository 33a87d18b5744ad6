"""How pages look and how large they are: light and dark, telephone, paper, ten thousand operations."""

import numpy as np
import pytest

import adjoint as ad
from tests.support.sweeps import sampled

pytestmark = pytest.mark.browser


def slides(x):
    a = x**2
    b = np.exp(a)
    c = a + b
    return np.sqrt(c) + np.cos(c)


def luminance(color):
    channels = [int(c) / 255 for c in color.strip("rgba()").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(page, selector):
    """Of the letters of an element against the first opaque color behind them."""
    ink, paper = page.evaluate(
        """selector => { let e = document.querySelector(selector); const ink = getComputedStyle(e).color;
           let behind = 'rgba(0, 0, 0, 0)';
           for (; e && behind === 'rgba(0, 0, 0, 0)'; e = e.parentElement) behind = getComputedStyle(e).backgroundColor;
           return [ink, behind]; }""",
        selector,
    )
    light, dark = sorted([luminance(ink), luminance(paper)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


LETTERS = ("#subtitle", "tr[data-row='2'] td.number.value", "tr[data-row='2'] td.number.adjoint",
           "tr[data-row='2'] td.formula.value", "tr[data-row='2'] td.line", "th.adjoint", "#results dt")  # fmt: skip


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_are_legible_in_both_themes(opened, scheme):
    page = opened(ad.explain(slides)(1.0), color_scheme=scheme)
    assert {name: contrast(page, name) for name in LETTERS if contrast(page, name) < 4.5} == {}
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert {name: contrast(page, name) for name in LETTERS if contrast(page, name) < 4.5} == {}


def test_on_a_telephone(opened):
    page = opened(ad.explain(slides)(1.0), viewport={"width": 375, "height": 740}, has_touch=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.evaluate("document.querySelector('.frame').scrollWidth") <= 375
    small = page.evaluate(
        """[...document.querySelectorAll('.trace td.number, .trace td.formula')].filter(
             (e) => parseFloat(getComputedStyle(e).fontSize) < 13).length"""
    )
    assert small == 0
    heights = page.evaluate(
        "[...document.querySelectorAll('.steps button')].map((b) => b.getBoundingClientRect().height)"
    )
    assert min(heights) >= 40  # a finger's width


def test_on_paper(opened):
    page = opened(ad.explain(slides)(1.0), color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.is_visible(".controls")
    assert page.is_visible("table.trace")
    assert len(page.pdf(format="A4")) > 5000


def network(x, w1, b1, w2, b2):
    hidden = np.tanh(w1 @ x + b1)
    u, s, vt = np.linalg.svd(w2 * hidden, full_matrices=False)
    return np.sum(s**3) + u[0, 0] * vt[0, 0] + np.sum(b2)


CUT = """() => [...document.querySelectorAll('.trace td, .given input')].filter((cell) => {
  if (cell.tagName === 'INPUT') return cell.scrollWidth > cell.clientWidth + 1;
  const at = cell.getBoundingClientRect(), range = document.createRange();
  range.selectNodeContents(cell);
  const inside = range.getBoundingClientRect();
  return inside.width > 0 && (inside.left < at.left - 1 || inside.right > at.right + 1); }).map((e) => e.outerHTML)"""


@pytest.mark.parametrize("width", sampled([1440, 1024, 768, 375], every=3))
def test_nothing_is_cut_off_or_written_over(opened, width):
    rng = np.random.default_rng(3)
    args = [rng.normal(size=shape) for shape in (3, (4, 3), 4, (2, 4), 2)]
    page = opened(ad.explain(network)(*args), viewport={"width": width, "height": 850})
    for key in ("1", "3"):
        page.keyboard.press(key)
        assert page.evaluate(CUT) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page = opened(ad.explain(slides, mode="second")(1.0), viewport={"width": width, "height": 850})
    assert page.evaluate(
        "(() => { const f = document.querySelector('.frame'); return f.scrollWidth <= f.clientWidth; })()"
    )


def test_wide_graphs_stand_below_the_table(opened):
    args = [np.linspace(0.1, 1.1, 12).reshape(shape) for shape in ((12,), (6, 2), (3, 4), (2, 6))]
    page = opened(ad.explain(lambda a, b, c, d: np.sum(a) + np.sum(b) + np.sum(c) + np.sum(d))(*args))
    box = page.query_selector("#graph").bounding_box()
    assert box["y"] > page.query_selector("table.trace").bounding_box()["y"]
    assert page.evaluate(
        "(() => { const v = document.querySelector('.view'); return v.scrollWidth <= v.clientWidth; })()"
    )
    page.click("tr[data-row='0']")
    detail = page.query_selector("#detail").bounding_box()
    assert detail["y"] < page.query_selector("#graph").bounding_box()["y"]  # near the row that was chosen


def test_paper_holds_every_column_and_the_whole_graph(opened):
    page = opened(ad.explain(slides, mode="second")(1.0), viewport={"width": 690, "height": 900})
    page.emulate_media(media="print")
    assert page.evaluate(
        """[...document.querySelectorAll('.trace th, .trace td, .graph .box')].filter((e) => {
             const at = e.getBoundingClientRect(); return at.right > innerWidth + 1 || at.left < -1; }).length"""
    ) == 0  # fmt: skip
    assert page.evaluate(
        "(() => { const v = document.querySelector('.view'); return v.scrollHeight <= v.clientHeight + 1; })()"
    )


@pytest.mark.parametrize("width", [1280, 390])
def test_buttons_do_not_cover_the_graph(opened, width):
    explained = ad.explain(lambda x: (np.sin(x), x**2, x + 1), mode="forward")(0.7)
    page = opened(explained, viewport={"width": width, "height": 800})
    tools, view = (page.query_selector(name).bounding_box() for name in (".graph-tools", ".view"))
    assert tools["y"] >= view["y"] + view["height"] - 1


def folded(x):
    for k in range(12):
        with ad.scope("squash"):
            x = np.tanh(x * (1.0 + k)) + x
    return x


def lay(page, medium):
    page.emulate_media(media=medium)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.mark.parametrize("how", ["a printer", "emulated paper"])
def test_paper_shows_what_is_closed_or_untold(opened, how):
    page = opened(ad.explain(folded)(0.3), color_scheme="dark")
    page.keyboard.press("Home")
    seen = """() => ({
      shut: document.querySelectorAll('details:not([open])').length,
      open: document.querySelectorAll('details[open]').length,
      rows: document.querySelectorAll('.trace tr[data-variable]').length,
      untold: document.querySelectorAll('.untold, .unpulled').length,
      closed: explanation.state.closed.size, position: explanation.state.position})"""
    before = page.evaluate(seen)
    assert before["shut"] >= 4
    assert before["closed"]
    assert before["untold"]
    if how == "a printer":
        page.evaluate(f"addEventListener('beforeprint', () => {{ window.printed = ({seen})() }})")
        assert page.pdf(format="A4").count(b"/Type /Page\n") >= 3
        printed = page.evaluate("printed")
    else:
        lay(page, "print")
        printed = page.evaluate(seen)
        texts = page.evaluate("[...document.querySelectorAll('.sections pre')].map((e) => e.checkVisibility())")
        assert len(texts) == before["shut"]
        assert all(texts)
        letters = "[...document.querySelectorAll('.graph text')].map((e) => getComputedStyle(e).fill)"
        dark = [ink for ink in page.evaluate(letters) if luminance(ink.removeprefix("rgb")) > 0.2]
        assert dark == []  # white paper
        lay(page, "screen")
    assert printed["shut"] == printed["closed"] == printed["untold"] == 0
    assert printed["open"] == before["shut"]
    assert printed["rows"] == 1 + 3 * 12
    assert page.evaluate(seen) == before


def test_long_tables_on_paper_say_what_is_left_out(opened):
    page = opened(ad.explain(long_loop)(1.0, 0.5))
    lay(page, "print")
    assert "what is opened on the page is printed" in page.inner_text("#paper-note")
    lay(page, "screen")
    page.click("#open-all")
    lay(page, "print")
    assert "rows those in sight are printed" in page.inner_text("#paper-note")
    assert page.evaluate("document.documentElement.scrollHeight") < 40_000  # no empty pages


def test_no_motion_where_none_is_wanted(opened):
    page = opened(ad.explain(slides)(1.0), reduced_motion="reduce")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert (
        page.evaluate("getComputedStyle(document.querySelector('tr.current td.number.value')).animationName") == "none"
    )


def long_loop(x, y):
    for _ in range(2000):
        a = np.sin(x) * y
        b = a + 0.1 * x
        x = np.cos(b)
    return x + y


def test_ten_thousand_operations(opened, tmp_path):
    ad.explain(slides)(1.0).html()  # files are read, rules recorded
    explained = ad.explain(long_loop)(1.0, 0.5)
    explained.html(tmp_path / "long.html")
    assert len(explained.model.events) == 10_001
    assert (tmp_path / "long.html").stat().st_size < 5_000_000
    page = opened((tmp_path / "long.html").read_text(encoding="utf-8"))
    assert page.evaluate("document.querySelectorAll('.trace tbody tr').length") < 30  # folded at first, as the graph is
    page.evaluate("explanation.state.toggleAll(false)")
    assert page.evaluate("explanation.state.rows.length") > 12_000
    assert page.evaluate("document.querySelectorAll('.trace tbody tr').length") < 250
    assert page.evaluate("document.querySelectorAll('.graph .box').length") < 800
    assert "400 boxes are drawn" in page.inner_text(".graph-note")
    page.evaluate("document.querySelector('.frame').scrollTop = 150000")
    page.wait_for_timeout(300)
    page.hover("tr[data-variable] >> nth=30")
    assert page.query_selector("tr.seed") is not None
    page.evaluate("explanation.state.go(5000)")
    page.evaluate("explanation.state.setInput(explanation.state.data.inputs[0], arrays.scalar(0.7))")
    there = ad.explain(long_loop)(0.7, 0.5).model
    assert page.evaluate("explanation.state.array('adjoint', 1).data[0]") == pytest.approx(
        there.inputs[1].adjoint, rel=1e-9
    )
    page.keyboard.press("3")  # a mode that Python did not compute
    assert page.get_attribute("[data-mode=second]", "aria-checked") == "true"


@pytest.mark.parametrize(
    "name", sampled(["<script>alert(1)</script>", "größe", "</script><b>x", "f\u2028g", "'\"&"], every=2)
)
def test_strange_names_do_no_harm(opened, name):
    def f(x):
        return x * x

    f.__name__ = name
    page = opened(ad.explain(f)(2.0))
    assert page.inner_text("h1").split() == name.split()
    assert page.title().startswith(name[:3])
    assert page.query_selector("b:text-is('x')") is None


@pytest.mark.parametrize("x", sampled([0.0, -1.0, np.inf, np.nan], every=3))
def test_nan_and_infinity_are_shown(opened, x):
    with np.errstate(all="ignore"):
        explained = ad.explain(lambda x: np.log(x) * x)(x)
    page = opened(explained)
    assert page.query_selector("td.bad") is not None
    assert "not finite" in page.inner_text("#notes")


def options(x, weights, name="a", *, flag=True):
    return x * weights["größe"] if flag else x


STRANGE = {
    "identity": (lambda x: x, (1.5,), {}),
    "constant": (lambda x: 3.0, (1.5,), {}),
    "nothing active": (lambda x, n: x * n, (np.float32(2.0), 3), {}),
    "several results": (lambda x: (x * 2, {"a": x**2}), (1.5,), {"seed": (1.0, {"a": 2.0})}),
    "options": (options, (2.0, {"größe": np.array([1.0, 2.0])}), {"seed": np.ones(2)}),
    "empty": (lambda x: np.sum(x * 2), (np.zeros(0),), {}),
    "many inputs": (lambda *xs: sum(x * x for x in xs), tuple(map(float, range(30))), {}),
    "large": (lambda x: np.sum(np.tanh(x @ x)), (np.ones((300, 300)) * 0.01,), {}),
    "matrix": (lambda x: np.linalg.slogdet(x)[1] + np.sum(np.linalg.eigvalsh(x)), (np.eye(3) * 2.0,), {}),
}


@pytest.mark.parametrize("name", sampled(STRANGE, every=2))
def test_unusual_functions(opened, name):
    function, args, choices = STRANGE[name]
    page = opened(ad.explain(function, **choices)(*args))
    rows = page.evaluate("explanation.state.rows.length")
    assert page.evaluate("document.querySelectorAll('.trace tbody tr').length") == rows
    for key in ("Home", "ArrowRight", "ArrowRight", "End", "2", "3", "1"):
        page.keyboard.press(key)
    page.click(".trace tbody tr >> nth=0")
    assert page.inner_text("#detail h2")
