"""Reading a page: stepping, highlighting, modes, groups, editing, by mouse and by keyboard alone."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.show.explanation.formulas import adjoint_formula
from adjoint.show.explanation.notation import text
from tests.show.lecture import loss

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lecture():
    return ad.explain(loss, detail="statements")(0.5, 1.5, -1.0)


def numbers(page, kind):
    """The column of a table, top to bottom; "" where nothing has been told yet."""
    return page.evaluate(
        """kind => [...document.querySelectorAll('.trace tr[data-variable]')].map((tr) => {
             const cell = tr.querySelector(`td.number.${kind}`);
             const clear = getComputedStyle(cell).color === 'rgba(0, 0, 0, 0)';
             return clear ? '' : cell.textContent; })""",
        kind,
    )


def test_the_two_columns_of_the_lecture(opened, lecture):
    page = opened(lecture)
    assert page.inner_text("h1") == "loss"
    forward = ["0.5", "1.5", "−1", "1.25", "0.75", "0.7772999", "0.6791787", "−0.7772999", "0.3208213", "0.6041951",
               "0.1029263", "0.7071214"]  # fmt: skip
    reverse = ["0.5434737", "0.05939259", "0.1292979", "0.2691087", "−0.1398107", "1.5546", "−0.6416426", "−1.5546",
               "0.6416426", "1", "1", "1"]  # fmt: skip
    assert numbers(page, "value") == forward
    assert numbers(page, "adjoint") == reverse
    formula = page.query_selector("tr[data-row='4'] td.formula.adjoint").inner_text()
    assert "".join(formula.split()) == "v̄2=v̄4·v4·σ(−v2)"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_explanation_is_shown_forward_and_then_backward(opened, lecture):
    page = opened(lecture)
    page.keyboard.press("Home")
    assert set(numbers(page, "value")) == {""}
    assert page.inner_text("#results dd >> nth=0") == "…"
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert [bool(x) for x in numbers(page, "value")] == [True] * 4 + [False] * 8
    assert page.inner_text("#counter") == "4 / 24"
    assert "1.25" in page.inner_text("#narration")
    assert "−1 + 1.5 + 1.5 · 0.5" in " ".join(page.inner_text("#narration").split())  # the numbers filled in
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert all(numbers(page, "value"))
    assert [bool(x) for x in numbers(page, "adjoint")] == [False] * 10 + [True] * 2  # from the last row upwards
    assert page.query_selector("tr.current").get_attribute("data-row") == "10"
    page.keyboard.press("ArrowLeft")
    assert [bool(x) for x in numbers(page, "adjoint")] == [False] * 11 + [True]
    page.keyboard.press("End")
    assert all(numbers(page, "adjoint"))
    page.keyboard.press("ArrowRight")  # after the end it begins again
    assert page.inner_text("#counter") == "1 / 24"


def test_the_lecturers_words(opened, lecture):
    """What is given, the result, the turn, and the gradient: the last step is told as well."""
    page = opened(lecture)
    page.keyboard.press("Home")
    untold = "document.querySelectorAll('.graph .arrow.untold > text').length"
    assert page.evaluate(untold) == 14  # no partial derivative is known yet
    said = []
    for _ in range(24):
        page.keyboard.press("ArrowRight")
        said.append(" ".join(page.inner_text("#narration").split()))
    assert said[0].startswith("Given: v")
    assert said[0].endswith("= 0.5")
    assert said[11].startswith("The result: ")
    assert said[12].startswith("Now upwards, from the result: ")
    assert said[12].count("1") == 1  # the seed, once
    assert said[23].startswith("Derivative by w2: ")
    assert "0.5434737" in said[23]
    assert page.query_selector("tr.current").get_attribute("data-row") == "0"
    assert page.evaluate(untold) == 0
    page.keyboard.press("Home")
    page.keyboard.press("End")
    assert page.query_selector("tr.current") is None


def test_playing(opened, lecture):
    page = opened(lecture)
    page.keyboard.press("Space")
    page.wait_for_timeout(2200)
    page.keyboard.press("Space")
    at = page.inner_text("#counter")
    assert 1 <= int(at.split(" / ")[0]) <= 5
    page.wait_for_timeout(1500)
    assert page.inner_text("#counter") == at  # it stands still


def test_hovering_and_focus_show_dependences(opened, lecture):
    page = opened(lecture)
    page.hover("tr[data-row='5']")  # v3 = σ(v1)
    marks = page.evaluate("[...document.querySelectorAll('.trace tr[data-row] td.mark')].map((td) => td.textContent)")
    assert marks == ["▲", "▲", "▲", "▲", "", "●", "", "▼", "", "▼", "", "▼"]
    assert page.evaluate("document.querySelectorAll('.graph .mark-above.box').length") == 4
    assert page.evaluate("document.querySelectorAll('.graph .mark-below.box').length") == 3
    page.focus("tr[data-row='0']")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.row") == "1"
    assert page.query_selector("tr[data-row='1'] td.mark").inner_text() == "●"
    page.keyboard.press("Enter")
    assert "w1" in page.inner_text("#detail")
    page.hover(".graph .box[data-variable] >> nth=0")
    assert page.query_selector("tr.seed") is not None


def test_modes_by_keyboard_and_mouse(opened, lecture):
    page = opened(lecture)
    page.keyboard.press("2")
    assert page.get_attribute("[data-mode=forward]", "aria-checked") == "true"
    tangents = {
        row.variable.name: row for row in ad.explain(loss, mode="forward", detail="statements")(0.5, 1.5, -1.0).table()
    }
    assert numbers(page, "tangent")[-1] == tangents["v9"].tangent
    page.click("[data-mode=second]")
    second = ad.explain(loss, mode="second", detail="statements")(0.5, 1.5, -1.0)
    assert numbers(page, "second") == [row.adjoint_tangent for row in second.table()]
    page.focus("[data-mode=second]")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("[data-mode=reverse]", "aria-checked") == "true"


def test_a_mode_that_is_not_to_be_had_says_why(opened):
    page = opened(ad.explain(lambda x: x * np.arange(3.0), mode="forward")(2.0))
    button = page.query_selector("[data-mode=reverse]")
    assert button.get_attribute("aria-disabled") == "true"
    assert "reverse mode starts from one number" in button.get_attribute("title")
    said = page.inner_text("#missing")  # in plain sight, once for both modes
    assert said.startswith("No reverse mode, no second order: reverse mode starts from one number")
    assert page.is_visible("#missing")
    page.keyboard.press("1")
    assert "reverse mode starts from one number" in page.inner_text("#problem")
    assert page.get_attribute("[data-mode=forward]", "aria-checked") == "true"


def test_editing_an_input(opened, lecture):
    page = opened(lecture)
    page.fill("#inputs input >> nth=0", "−0.25")
    there = ad.explain(loss, detail="statements")(-0.25, 1.5, -1.0)
    assert numbers(page, "value") == [row.value for row in there.table()]
    assert numbers(page, "adjoint") == [row.adjoint for row in there.table()]
    label = page.query_selector(".graph .box[data-variable='0']").text_content()
    assert f"{there.model.inputs[0].adjoint:.5g}".replace("-", "−") in label
    page.keyboard.press("Tab")
    page.keyboard.press("3")  # in a field a key is text
    assert page.get_attribute("[data-mode=reverse]", "aria-checked") == "true"
    page.fill("#inputs input >> nth=0", "two")
    assert "Write a number" in page.inner_text("#problem")
    assert set(page.locator("#results dd").all_inner_texts()) == {"—"}  # no result of other inputs
    assert page.get_attribute("#inputs input >> nth=0", "aria-invalid") == "true"
    page.click("#reset")
    assert numbers(page, "value") == [row.value for row in lecture.table()]
    assert page.inner_text("#problem") == ""
    assert "—" not in page.locator("#results dd").all_inner_texts()


def test_exact_inputs_stay_exact(opened):
    x = np.array([1 / 3, 2 / 7])
    page = opened(ad.explain(lambda x: np.sum(np.sin(1e6 * x)))(x))
    page.fill("#inputs input >> nth=1", "0.5")
    there = ad.explain(lambda x: np.sum(np.sin(1e6 * x)))(np.array([1 / 3, 0.5]))
    assert numbers(page, "value")[-1] == there.table()[-1].value


def layer(x, scale):
    with ad.scope("squash"):
        return np.tanh(x * scale)


def deep(x):
    for k in range(3):
        x = layer(x, 1.0 + k) + x
    return x


def test_groups_open_and_close(opened):
    page = opened(ad.explain(deep)(0.3))
    rows = "document.querySelectorAll('.trace tbody tr').length"
    whole = page.evaluate(rows)
    page.click("tr.group.loop")
    assert page.get_attribute("tr.group.loop", "aria-expanded") == "false"
    assert page.evaluate(rows) == 2  # the input, and the loop
    assert "→" in page.inner_text("tr.group.loop td.label")  # and which variable the numbers belong to
    assert "v̄" in page.inner_text("tr.group.loop td.formula.adjoint")
    assert page.query_selector("tr.group.loop td.number.value").inner_text() == ad.explain(deep)(0.3).table()[-1].value
    page.focus("tr.group.loop")
    page.keyboard.press("Enter")
    assert page.evaluate(rows) == whole
    page.click("#close-all")
    assert page.evaluate(rows) == 2
    page.click("#open-all")
    assert page.evaluate(rows) == whole
    boxes = "document.querySelectorAll('.graph .box').length"
    many = page.evaluate(boxes)
    page.focus(".graph .frame.loop")
    page.keyboard.press("Enter")
    assert page.evaluate(boxes) == 2
    assert page.evaluate(rows) == 2  # table and graph open and close together
    page.keyboard.press("Enter")
    assert page.evaluate(boxes) == many
    assert page.evaluate(rows) == whole
    page.click("tr.group.iteration >> nth=1")
    assert page.evaluate(boxes) == many - 2
    assert page.query_selector(".graph .box.closed").text_content().startswith("▸ iteration 1")


def test_the_table_folds_turns_as_the_graph_does(opened):
    def many(x):
        for k in range(150):
            x = np.sin(x) + 0.1 * k
        return x

    page = opened(ad.explain(many)(0.3))
    titles = lambda: page.evaluate("[...document.querySelectorAll('tr.group b')].map((e) => e.textContent)")
    assert titles() == ["for k in range(150)", "iteration 0", "iteration 1", "iterations 2 … 148", "iteration 149"]
    assert page.query_selector(".graph .box.closed").text_content().startswith("▸ iterations 2 … 148")
    page.click(".graph .box.closed")
    assert titles()[3:6] == ["iterations 2 … 148", "iterations 2 … 101", "iterations 102 … 148"]
    page.click("#open-all")
    page.keyboard.press("Home")
    in_order = page.evaluate("explanation.state.rows.filter((row) => row.v >= 0).map((row) => row.v)")
    assert in_order == sorted(in_order)
    assert len(in_order) == 301


def test_stepping_shows_row_and_box(opened):
    def steps(x):
        for _ in range(20):
            x = layer(x, 0.9) + x
        for _ in range(60):
            x = np.sin(x)
        return x

    page = opened(ad.explain(steps)(0.3))
    current = """() => { const row = document.querySelector('tr.current'), box = document.querySelector('.box.current');
      const name = (text) => text.replace(/[▸▾]|→.*/g, '').trim();
      return [row && (row.dataset.variable ?? name(row.querySelector('b').textContent)),
              box && (box.dataset.variable ?? name(box.querySelector('.name').textContent))]; }"""
    for choice in ("#close-all", "#open-all"):
        page.click(choice)
        page.keyboard.press("Home")
        page.evaluate("document.activeElement.blur()")
        count = page.evaluate("explanation.state.steps.length")
        for step in range(0, count, 1 if count < 40 else 7):
            page.evaluate(f"explanation.state.go({step})")
            page.keyboard.press("ArrowRight")
            row, box = page.evaluate(current)
            assert row is not None
            assert row == box, step


def test_an_explanation_goes_on_where_it_was_when_groups_open(opened):
    page = opened(ad.explain(deep)(0.3))
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    told = page.inner_text("#narration")
    page.click("tr.group.iteration >> nth=2")
    assert page.inner_text("#narration") == told
    page.click("#close-all")
    page.click("#open-all")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.click("#close-all")
    assert page.inner_text("#counter").startswith("1 /")


def test_everything_is_reached_with_the_tab_key(opened, lecture):
    page = opened(lecture)
    seen = []
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
        assert page.evaluate(
            """() => { const e = document.activeElement; if (e === document.body) return true;
               const s = getComputedStyle(e); const rect = e.querySelector(':scope > rect');
               return s.outlineStyle !== 'none' || (rect && getComputedStyle(rect).strokeWidth !== '1.2px'); }"""
        ), seen[-1]
    assert {"skip", "help-button", "theme", "first", "play", "where"} <= set(seen)
    assert any("view" in str(name) for name in seen)  # the graph


def test_roles(opened, lecture):
    page = opened(lecture)
    assert page.get_by_role("grid", name="Trace").count() == 1
    assert page.get_by_role("radio", name="Reverse mode").is_checked()
    assert page.get_by_role("toolbar").count() == 1
    assert page.get_by_role("textbox", name="w2").input_value() == "0.5"
    nameless = page.evaluate(
        """[...document.querySelectorAll('button, input')].filter(
             (e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length)).length"""
    )
    assert nameless == 0


def test_formulas_hold_for_the_values_that_are_shown(opened):
    """What a condition has decided is written with the condition as soon as values change."""

    def kinked(x, y):
        return np.maximum(x, y) * 2

    formula = "document.querySelector('tr[data-row=\"0\"] td.formula.adjoint').innerText.replaceAll('\\n', '')"
    page = opened(ad.explain(kinked)(2.0, 1.0))
    assert page.evaluate(formula) == "v̄−1 = v̄1"
    page.fill("#inputs input >> nth=0", "0.5")
    assert "where" in page.evaluate(formula)
    assert numbers(page, "adjoint") == ["0", "2", "2", "1"]
    page.click("#reset")
    assert page.evaluate(formula) == "v̄−1 = v̄1"
    page = opened(ad.explain(kinked, detail="statements")(2.0, 1.0))
    page.fill("#inputs input >> nth=0", "0.5")
    assert page.evaluate(formula) == "v̄−1"  # the formula that was there does not hold any more


def test_what_no_result_depends_on_adds_nothing(opened):
    def root(a):
        return ad.while_loop(lambda s: abs(s * s - a) > 1e-10, lambda s: 0.5 * (s + a / s), a)

    explained = ad.explain(root)(2.0)
    page = opened(explained)
    for v in explained.model.variables:
        if v.is_active and v is not explained.model.outputs[0]:
            expected = adjoint_formula(v)
            found = page.evaluate(f"explanation.state.adjointFormula({v.number}, 100)")
            assert found == ("0" if expected is None else text(expected))


def test_results_are_called_as_the_caller_finds_them(opened):
    page = opened(ad.explain(lambda x: {"up": x + 1, "down": (x - 1, 7.0)}, mode="forward")(2.0))
    found = page.evaluate("[...document.querySelectorAll('#results .value dt')].map((dt) => dt.textContent)")
    assert [name.removeprefix("<lambda>") for name in found] == ["['down'][0]", "['down'][1]", "['up']"]

    def again(x):
        x = x * 2
        return x

    page = opened(ad.explain(again)(3.0))
    assert page.inner_text("#results dt >> nth=0") == "again"  # not x, which is an input


def turns(x):
    for _ in range(30):
        x = np.sin(x) + 0.1
    return x


@pytest.mark.parametrize("count", [1, 12])  # a table as a whole, and one that holds the rows in sight alone
def test_the_step_that_is_told_is_in_sight(opened, count):
    def longer(x):
        for _ in range(count):
            x = turns(x)
        return x

    page = opened(ad.explain(longer)(0.3), viewport={"width": 1300, "height": 700})
    page.click("#open-all")
    seen = """() => {
      const row = document.querySelector('tr.current').getBoundingClientRect();
      const said = document.querySelector('#narration').getBoundingClientRect();
      const box = document.querySelector('.graph .box.current'), view = document.querySelector('.view');
      const within = (a, b) => a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
      return [row.top >= said.bottom - 1 && row.bottom <= innerHeight,
              !box || within(box.getBoundingClientRect(), view.getBoundingClientRect())]; }"""
    page.keyboard.press("Home")
    for step in range(45):
        page.keyboard.press("ArrowRight")
        assert page.evaluate(seen) == [True, True], step
    page.evaluate("document.querySelector('.frame').scrollTop = 0")
    page.wait_for_timeout(100)
    assert page.evaluate("document.querySelector('.frame').scrollTop") == 0  # who looks elsewhere is not called back


def test_what_is_not_told_is_not_read_out(opened, lecture):
    page = opened(lecture)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert "0.5" in page.get_by_role("grid").aria_snapshot()
    assert "0.5434737" not in page.get_by_role("grid").aria_snapshot()
    page.keyboard.press("End")
    assert "0.5434737" in page.get_by_role("grid").aria_snapshot()
