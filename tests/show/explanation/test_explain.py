"""Explanations: the traces of the lecture, the slides and the book; what is shown is what `grad` and `jvp` compute."""

import io
from dataclasses import dataclass

import numpy as np
import pytest
import rich.console
from numpy.testing import assert_allclose
from scipy import special

import adjoint as ad
from adjoint.base.errors import DtypeError, ShapeError
from tests.show.lecture import loss


@pytest.mark.row("L7.a", "L8.b", "L8.c")
def test_the_two_column_table_of_the_lecture():
    explained = ad.explain(loss, detail="statements")(0.5, 1.5, -1.0)
    rows = {row.variable.name: row for row in explained.table()}
    assert list(rows) == ["v-2", "v-1", "v0", *[f"v{i}" for i in range(1, 10)]]
    forward = [1.25, 0.75, 0.7772999, 0.6791787, -0.7772999, 0.3208213, 0.6041951, 0.1029263, 0.7071214]
    assert_allclose([rows[f"v{i}"].variable.value for i in range(1, 10)], forward, atol=5e-8)
    reverse = [0.2691087, -0.1398107, 1.5545997, -0.6416426, -1.5545997, 0.6416426, 1, 1, 1]
    assert_allclose([rows[f"v{i}"].variable.adjoint for i in range(1, 10)], reverse, atol=6e-8)
    gradient = [0.5434737, 0.0593926, 0.1292979]
    assert_allclose([rows[name].variable.adjoint for name in ("v-2", "v-1", "v0")], gradient, atol=5e-8)
    printed = str(explained)
    assert "v₁ = v₀ + v₋₁ + 1.5 · v₋₂" in printed
    assert "v̄₋₁ = v̄₂ · 1.5 + v̄₁" in printed
    assert "v̄₅ = v̄₇ · 2 · v₅" in printed
    assert "v₅ = 0 − v₃" in printed


def slides(x):
    a = x**2
    b = np.exp(a)
    c = a + b
    d = np.sqrt(c)
    e = np.cos(c)
    return d + e


@pytest.mark.row("V4.b")
def test_the_six_rows_of_the_slides():
    explained = ad.explain(slides)(1.0)
    rows = {row.label or row.variable.name: row.variable for row in explained.table()}
    assert_allclose(rows["x"].adjoint, 5.9830826, atol=5e-8)
    assert_allclose(rows["c"].adjoint, 0.8045494, atol=5e-8)
    assert_allclose(rows["b"].adjoint, 0.8045494, atol=5e-8)
    assert_allclose(rows["a"].adjoint, 2.9915413, atol=5e-8)
    assert_allclose(ad.explain(slides)(0.5).model.inputs[0].adjoint, -1.3604311, atol=5e-8)


def shared(x1, x2):
    t = x2 * np.exp(x1)
    return t * np.sqrt(x1 + t)


@pytest.mark.row("B4.1.e")
@pytest.mark.parametrize("at, value, gradient", [
    ((0.0, 1.0), 1.0, (2.0, 1.5)), ((1.0, 2.0), 13.7927706, (20.6891558, 9.8088584)),
])  # fmt: skip
def test_the_graph_of_the_book_in_both_modes(at, value, gradient):
    reverse = ad.explain(shared)(*at).model
    assert_allclose(reverse.outputs[0].value, value, rtol=1e-8)
    assert_allclose([v.adjoint for v in reverse.inputs], gradient, rtol=1e-8)
    for direction, slope in zip(np.eye(2), gradient, strict=True):
        forward = ad.explain(shared, mode="forward", direction=tuple(direction))(*at).model
        assert_allclose(forward.outputs[0].tangent, slope, rtol=1e-8)
    (t,) = [v for v in reverse.variables if v.label == "t"]
    assert len(t.uses) == 2  # x2 exp(x1) is computed once and read twice


def everything(x, w):
    h = np.tanh(w @ x)
    for _ in range(3):
        h = h * 1.1 + np.sin(h)
    total, ys = ad.scan(lambda c, u: (c * u, c + u), 1.0, h)
    n, z = ad.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] ** 2), (0, total))
    kept = ad.checkpoint(lambda u: np.sum(np.exp(u) * u))(h)
    inner = ad.jit(lambda u: np.sum(u**3))(x)
    side = ad.cond(total > 0, lambda u: u * 2, lambda u: -u, total)
    return z * n + kept + np.sum(np.sort(ys)[1:]) + inner + side + np.linalg.det(w)


X, W = np.array([0.4, -0.3, 0.2]), np.array([[1.0, 0.2, 0.1], [0.3, 0.9, -0.2], [0.0, 0.4, 1.3]])


def test_adjoints_tangents_and_second_derivatives_are_those_of_the_transformations():
    model = ad.explain(everything, mode="second", direction=(np.ones(3), W))(X, W).model
    gradient = ad.grad(everything, argnums=(0, 1))
    assert_allclose(model.outputs[0].value, everything(X, W), rtol=1e-13)
    for variable, expected in zip(model.inputs, gradient(X, W), strict=True):
        assert_allclose(variable.adjoint, expected, rtol=1e-12)
    _, slope = ad.jvp(everything, (X, W), (np.ones(3), W))
    assert_allclose(model.outputs[0].tangent, slope, rtol=1e-12)
    _, seconds = ad.jvp(gradient, (X, W), (np.ones(3), W))
    for variable, expected in zip(model.inputs, seconds, strict=True):
        assert_allclose(variable.adjoint_tangent, expected, rtol=1e-10)


def test_adjoints_of_steps_are_what_a_change_of_the_step_does():
    """v̄ is the derivative of the rest of the computation: replay it from a changed v, by differences."""
    model = ad.explain(everything)(X, W).model
    step = 1e-6

    def rest(changed, by):
        values = {v.number: np.asarray(v.value) for v in model.variables}
        values[changed.number] = values[changed.number] + by
        for event in model.events:
            if event.number <= (changed.event.number if changed.event else -1):
                continue
            xs = [values[a.number] if hasattr(a, "number") else a.value for a in event.operands]
            z = event.op.evaluate(*xs)
            for v, value in zip(event.outputs, z if event.op.several else (z,), strict=True):
                values[v.number] = value
        return values[model.outputs[0].number]

    checked = [v for v in model.variables if v.is_active and v.event is not None and v.uses][::3]
    assert len(checked) > 10
    for v in checked:
        by = step * np.linspace(1, 2, np.size(v.value)).reshape(v.shape)
        slope = (rest(v, by) - rest(v, -by)) / (2 * step)
        assert_allclose(slope, np.sum(v.adjoint * by) / step, rtol=2e-5, atol=1e-8)


def test_what_an_operation_adds_to_an_adjoint_makes_up_the_whole():
    model = ad.explain(everything)(X, W).model
    for v in model.variables:
        parts = [e.contributions[i] for e, i in v.uses if e.contributions[i] is not None]
        if v.is_active and parts:
            assert_allclose(sum(parts), v.adjoint, rtol=1e-12)


def test_loops_calls_and_scopes_are_groups():
    def layer(h):
        return np.tanh(h * 1.5)

    def model(x):
        with ad.scope("encoder"):
            h = layer(layer(x))
        for _ in range(2):
            h = h * 2.0
            for _ in range(2):
                h = h + 1.0
        return ad.scan(lambda c, u: (c * u, None), 1.0, np.stack([h, h]))[0]

    model = ad.explain(model)(0.3).model
    paths = [[(g.kind, g.name) for g in e.group.path] for e in model.events]
    layers = [p for p in paths if ("function", "layer") in p]
    assert len(layers) == 4
    assert all(p == [("scope", "encoder"), ("function", "layer")] for p in layers)
    assert len({e.group for e in model.events if e.group.name == "layer"}) == 2  # two calls are two groups
    turns = [p for p in paths if ("loop", "for _ in range(2)") in p]
    assert [[name for kind, name in p if kind == "iteration"] for p in turns] == [
        ["iteration 0"], ["iteration 0", "iteration 0"], ["iteration 0", "iteration 1"],
        ["iteration 1"], ["iteration 1", "iteration 0"], ["iteration 1", "iteration 1"],
    ]  # fmt: skip
    assert any(("loop", "scan of 2 iterations") in p for p in paths)


def test_long_loops_are_one_operation_and_it_says_so():
    def run(x):
        return ad.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + 1, np.sin(s[1])), (0, x))[1]

    explained = ad.explain(run, most=60)(0.5)
    assert any("shown as one operation" in note for note in explained.notes)
    assert_allclose(explained.model.inputs[0].adjoint, ad.grad(run)(0.5), rtol=1e-12)
    assert len(ad.explain(run)(0.5).model.events) == 151


def test_only_the_arguments_asked_for_are_differentiated():
    model = ad.explain(loss, argnums=1)(0.5, 1.5, -1.0).model
    assert [v.is_active for v in model.inputs] == [False, True, False]
    assert model.inputs[0].adjoint is None


def test_branches_that_python_took_are_told():
    def branch(x):
        return x * 2 if x > 0 else -x

    assert any("v₁ is True at " in note for note in ad.explain(branch)(1.0).notes)


@pytest.mark.parametrize("function, args, options, error, words", [
    (lambda x: x * 2, (np.ones(3),), {}, ShapeError, "seed"),
    (lambda x: x > 0, (1.0,), {}, DtypeError, "no derivative"),
    (lambda x: x * 2, (1,), {"mode": "forward"}, DtypeError, "nothing to differentiate"),
    (lambda x: x * 2, (np.ones(3),), {"seed": np.ones(2)}, ShapeError, "seed has shape"),
    (lambda x: x * 2, (1.0,), {"mode": "forward", "direction": (np.ones(2),)}, ShapeError, "direction"),
    (lambda x: x * 2, (1.0,), {"argnums": 3}, TypeError, "argnums=3"),
])  # fmt: skip
def test_bad_input_is_refused_with_a_remedy(function, args, options, error, words):
    with pytest.raises(error, match=words):
        ad.explain(function, **options)(*args)


@pytest.mark.parametrize("options", [{"mode": "backward"}, {"detail": "everything"}])
def test_unknown_options_name_the_known_ones(options):
    with pytest.raises(ValueError, match="explain: "):
        ad.explain(loss, **options)


def test_printed_rows_stand_under_their_loop_and_call():
    def half(x):
        return x / 2

    def walk(x):
        for _ in range(2):
            x = half(x) + 1
        return x * 3

    printed = str(ad.explain(walk)(1.0)).splitlines()
    told = [line.strip().removeprefix("┄ ") for line in printed if line.strip().startswith("┄")]
    assert told == [
        "for _ in range(2) › iteration 0 › half", "for _ in range(2) › iteration 0",
        "for _ in range(2) › iteration 1 › half", "for _ in range(2) › iteration 1", "┄",
    ]  # fmt: skip


def test_seeds_stand_in_the_formulas():
    def two(x):
        return x**2, np.sin(x) * np.ones(2)

    explained = ad.explain(two, seed=(3.0, np.array([1.0, 2.0])))(1.0)
    assert [row.adjoint_formula for row in explained.table()][1] == "3"
    assert explained.table()[-1].adjoint_formula == "seed"
    assert_allclose(explained.model.inputs[0].adjoint, 3 * 2 + 3 * np.cos(1.0))
    assert r"\bar v_1 &= 3" in explained.latex()


def test_a_result_that_is_read_on_starts_from_its_seed():
    def both(x):
        y = np.exp(x)
        return y, y * y

    row = ad.explain(both, seed=(0.5, 2.0))(0.0).table()[1]
    assert row.adjoint_formula.startswith("0.5 + v̄₂")
    assert_allclose(row.variable.adjoint, 0.5 + 2 * 2)


def test_branches_of_cond_are_named_by_the_answer():
    def f(x):
        return ad.cond(x > 1, lambda z: z**2, np.sin, x)

    for x, name in ((1.5, "if True"), (0.5, "if False")):
        assert name in [group.name for group in ad.explain(f)(x).model.groups]
    chosen = ad.explain(lambda x: ad.switch(1 * (x > 0), [np.sin, np.cos], x))(0.5)
    assert "branch 1 of 2" in [group.name for group in chosen.model.groups]


def test_shapes_that_depend_on_values():
    def f(x):
        y = x * 2
        y[y > 3] *= 5
        return np.sum(y[y > 1]) + np.sum(x[np.nonzero(x)] ** 2)

    x = np.array([0.0, 1.0, 2.0])
    explained = ad.explain(f)(x)
    assert_allclose(explained.model.inputs[0].adjoint, ad.grad(f)(x))
    assert any("elements of v₂" in note for note in explained.notes)


def test_arguments_in_containers_are_named_as_in_python():
    @dataclass
    class Weights:
        slope: float
        offsets: list

    def line(weights, x):
        return weights.slope * x + weights.offsets[1]

    explained = ad.explain(line)(Weights(2.0, [1.0, 3.0]), 0.5)
    assert [v.label for v in explained.model.inputs] == [
        "weights.slope",
        "weights.offsets[0]",
        "weights.offsets[1]",
        "x",
    ]


def test_a_derivative_explained():
    explained = ad.explain(ad.grad(slides))(1.0)
    assert explained.name == "grad(slides)"
    assert_allclose(explained.model.inputs[0].adjoint, ad.grad(ad.grad(slides))(1.0))
    result = explained.table()[-1]  # no line of the function's made it, and no name of the caller's is its name
    assert (result.label, result.line) == ("", "")


def test_constants_are_told_below_the_table():
    held = np.array([1.0, 2.0])
    assert str(ad.explain(lambda x: np.sum(x * held))(1.0)).endswith("\nwhere c₁ = [1, 2]")


def test_notes_when_there_is_nothing_to_differentiate():
    (note,) = ad.explain(lambda n: n**2 + 0.5)(3).notes
    assert "no argument is differentiated (got n: int64[])" in note
    (note,) = ad.explain(lambda x: 3.0)(1.0).notes
    assert "the result, 3, does not depend" in note


def test_second_order_of_many_operations():
    def many(x):
        for _ in range(1000):
            x = np.sin(x) * 1.01
        return x

    second = ad.explain(many, mode="second")(1.0).model.inputs[0].adjoint_tangent
    assert_allclose(second, ad.grad(ad.grad(many))(1.0))


def test_formulas_are_short():
    def f(x):
        u, s, _ = np.linalg.svd(x)
        y = np.sum(s, axis=0) + np.einsum("ij,ij->", x, u) + x[0, 1] ** 3
        return y + 0 * np.reshape(x, (2, 2))[1, 1]

    printed = str(ad.explain(f)(np.array([[1.0, 2.0], [3.0, 5.0]])))
    for part in ("svd(v₀)[1]", "sum(v₂)", "einsum('ij,ij->', v₀, v₁)", "³", "→ [0, 1])"):
        assert part in printed
    assert "reshape" not in printed  # it had that shape
    assert "· 0" in str(ad.explain(lambda x: np.sin(x) * 0 + x, detail="statements")(1.0))


def test_functions_that_ask_for_the_type_int():
    def power(x, n, y):
        if not isinstance(n, int):
            raise TypeError("n must be an int")
        return x**n * y

    explained = ad.explain(power, argnums=(0, 2))(2.0, 3, 5.0)
    assert [(v.label, v.adjoint) for v in explained.model.inputs] == [("x", 60.0), ("y", 8.0)]
    assert ad.explain(power, argnums=2)(2.0, 3, 5.0).model.inputs[0].is_active is False
    with pytest.raises(TypeError, match="n must be an int") as caught:
        ad.explain(power)(2.0, 3.0, 5)
    assert caught.value.__context__ is None


def test_what_is_no_function_is_named():
    with pytest.raises(TypeError, match=r"explain needs a function, not float\. Write explain\(f\)\(x\)"):
        ad.explain(3.0)  # pyright: ignore[reportArgumentType]


def test_a_narrow_terminal_keeps_the_numbers():
    out = io.StringIO()
    rich.console.Console(file=out, width=80).print(ad.explain(slides, mode="second")(1.0))
    for figure in ("5.983083", "59.16131", "0.8045494"):
        assert figure in out.getvalue()


def test_second_order_on_a_narrow_terminal_is_a_table_for_each_derivative(monkeypatch):
    explained = ad.explain(slides, mode="second")(1.0)
    monkeypatch.setattr("adjoint.show.explanation.explain.columns", lambda: 80)
    printed = str(explained)
    assert max(map(len, printed.splitlines())) <= 100  # accents are letters of their own
    there, tangents, back = printed.split("\n\n")[1:]
    assert "forward primal trace" in there
    assert "forward tangent trace" in tangents
    assert "its derivative" not in there + tangents
    assert "59.16131" in back


def test_arguments_are_chosen_by_name_too():
    def f(x, *, y, a):
        return x * y**2 * a

    explained = ad.explain(f, argnums="y")(2.0, y=3.0, a=5.0)
    assert [(v.label, v.adjoint) for v in explained.model.inputs if v.is_active] == [("y", 60.0)]
    assert explained.cost.name == "f"
    with pytest.raises(TypeError, match=r"explain: the function has no argument called 'z'; it has x, y, a"):
        ad.explain(f, argnums="z")(2.0, y=3.0, a=5.0)


def test_seeds_and_directions_that_are_no_numbers():
    with pytest.raises(DtypeError, match="the seed holds 'a', which is no number"):
        ad.explain(slides, seed="a")(1.0)
    with pytest.raises(DtypeError, match="the direction holds 'a', which is no number"):
        ad.explain(slides, mode="forward", direction="a")(1.0)


def test_a_rule_that_is_too_long_to_write_down_has_its_numbers_alone():
    """Written out, the rule of pbwa in its parameter has more parts than any memory: each value is read twice."""
    explained = ad.explain(lambda a, x: special.pbwa(a, x)[0])(0.5, 1.2)
    page = explained.html()
    assert len(page) < 2_000_000
    assert_allclose(explained.model.inputs[0].adjoint, ad.grad(lambda a: special.pbwa(a, 1.2)[0])(0.5))
    assert "pbwa" in str(explained)


def test_formulas_of_real_numbers_have_no_conjugates():
    text = str(ad.explain(lambda x, n: special.gammainc(n, x) * special.jv(n, x))(1.3, 2.5))
    assert "conjugate" not in text
    assert "− 1 + 1" not in text
    assert "conjugate" in str(ad.explain(lambda z: abs(np.exp(1j * z)))(0.3 + 0.5j))
