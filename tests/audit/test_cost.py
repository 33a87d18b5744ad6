"""What functions and their gradients cost, against counts by hand and the bound of Baur and Strassen."""

import io
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad


def layer(x, A):
    y = A @ x
    return np.sum(np.tanh(y))


def square_sum(x):
    return np.sum(x * x)


@st.composite
def circuits(draw):
    """Gates over the inputs and the gates before them; the last gate is the result."""
    inputs = draw(st.integers(1, 4))
    gates = draw(st.integers(1, 25))
    operation = st.sampled_from("+-*/")
    return inputs, [
        (draw(operation), draw(st.integers(0, inputs + k - 1)), draw(st.integers(0, inputs + k - 1)))
        for k in range(gates)
    ]


OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def function_of(gates):
    def f(*xs):
        values = list(xs)
        for kind, a, b in gates:
            x, y = values[a], values[b]
            values.append(OPERATIONS[kind](x, y))
        return values[-1]

    return f


@settings(max_examples=60, deadline=None)
@given(circuits())
def test_the_gradient_of_a_circuit_takes_at_most_five_times_its_operations(circuit):
    inputs, gates = circuit
    with np.errstate(all="ignore"):
        found = ad.cost(function_of(gates))(*[0.5 + 0.1 * i for i in range(inputs)])
    assert found.value.flops == len(gates)
    assert found.gradient.flops <= 5 * len(gates)


@pytest.mark.parametrize("kind, back", [("+", 0), ("-", 0), ("*", 2), ("/", 3)])
def test_operations_by_hand(kind, back):
    f = function_of([(kind, 0, 1)])
    found = ad.cost(f)(2.0, 3.0)
    assert (found.value.flops, found.gradient.flops) == (1, 1 + back)
    assert ad.cost(lambda x, y: np.sum(f(x, y)))(np.ones(4), np.ones(4)).gradient.flops == 4 * (1 + back) + 3
    # both cotangents are added to others
    assert ad.cost(lambda x, y: f(x, y) + x * y)(2.0, 3.0).gradient.flops == 1 + back + 3 + 1 + 2


@pytest.mark.parametrize("turns", [1, 2, 20])
def test_quotients_that_read_all_they_can_stay_within_the_bound(turns):
    """Most sums of cotangents for their number: every value is read twice, or with an input again."""

    def by_itself(x):
        for _ in range(turns):
            x = x / x
        return x

    def by_input(x):
        z = x
        for _ in range(turns):
            z = z / x
        return z

    for f in (by_itself, by_input):
        assert ad.cost(f)(1.5).value.flops == turns
        assert ad.cost(f)(1.5).gradient.flops <= 5 * turns


def test_weights_of_ones_own():
    f = lambda x: np.sum(np.exp(x) / x)
    weighted = ad.cost(f, weights={"divide": 4, "exp": 10})(np.ones(3)).value
    assert (weighted.flops, weighted.calls) == (3 * 4 + 3 * 10 + 2, 0)
    plain = ad.cost(f)(np.ones(3)).value
    assert (plain.flops, plain.calls) == (3 + 2, 3)


def test_the_ratio_does_not_grow_with_the_number_of_inputs():
    ratios = [ad.cost(lambda x: np.sum(x * x * x))(np.ones(n)).ratio for n in (10, 1000, 100_000)]
    assert max(ratios) <= 5
    assert ratios[2] == pytest.approx(ratios[1], rel=0.01)


def test_lines_are_those_of_the_function_forwards_and_back():
    found = ad.cost(layer)(np.ones(3), np.ones((4, 3)))
    lines = {name.rpartition(": ")[2]: (value, gradient) for name, value, gradient in found.rows("line")}
    value, gradient = lines["y = A @ x"]
    assert value.flops == 4 * 5
    assert gradient.flops == 4 * 5 + 4 * 3 + 3 * 7  # y, the outer product, and Aᵀȳ
    value, _ = lines["return np.sum(np.tanh(y))"]
    assert (value.flops, value.calls) == (3, 4)
    for tally in (found.value, found.gradient):
        for parts in (tally.by_line, tally.by_primitive):
            assert sum(part.flops for part in parts.values()) == tally.flops
            assert sum(part.bytes for part in parts.values()) == tally.bytes
    assert found.value.by_primitive["matmul"].bytes == 8 * (12 + 3 + 4)


def test_only_the_arguments_asked_for():
    all_of_them = ad.cost(layer)(np.ones(3), np.ones((4, 3)))
    first = ad.cost(layer, argnums=0)(np.ones(3), np.ones((4, 3)))
    assert first.gradient.flops == all_of_them.gradient.flops - 12


def test_loops_count_by_their_turns():
    def power(x, n):
        return ad.fori_loop(0, n, lambda i, y: y * x, x)

    def halved(x):
        return ad.while_loop(lambda y: y > 1.0, lambda y: y * 0.5, x)

    def by_python(x):
        while x > 1.0:
            x = x * 0.5
        return x

    multiplications = lambda found: found.value.by_primitive["multiply"].flops
    assert [multiplications(ad.cost(power)(1.1, n)) for n in (3, 30)] == [3, 30]
    for f in (halved, by_python):
        assert [multiplications(ad.cost(f)(x)) for x in (3.0, 100.0)] == [2, 7]
    # back: one product for each turn and argument of it, and the sums
    assert ad.cost(power)(1.1, 30).gradient.flops <= 5 * ad.cost(power)(1.1, 30).value.flops


def quotients(x):
    y = x * x / (1.0 + x)
    return np.sum(y * np.tanh(x))


FUNCTIONS = {
    "arithmetic": quotients,
    "scan": lambda x: ad.scan(lambda c, t: (c * x[0] + t, c), 0.5, x)[0],
    "while": lambda x: ad.while_loop(lambda y: y[0] < 10.0, lambda y: y * 2.0, x)[0] * x[1],
    "cond": lambda x: ad.cond(x[0] > 0, lambda x: np.sum(x * x), np.sum, x),
    "few slots": lambda x: ad.fori_loop(0, 8, lambda i, y: y * x, x, checkpoint=2)[0],
    "online": lambda x: ad.while_loop(lambda y: y[0] < 10.0, lambda y: y * 2.0, x, checkpoint=2)[0] * x[1],
    "solver": lambda x: np.sum(ad.linear.cg(lambda v: v * x, np.ones(3)).value),
}
X = np.array([0.5, 0.7, 0.9])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_have_costs_too(name):
    f = FUNCTIONS[name]
    of = lambda g: ad.cost(g)(X)
    plain = of(f)
    assert plain.value.flops > 0
    assert 1 < plain.ratio < 6
    for tally in (plain.value, plain.gradient):
        assert not tally.unmodeled
    compiled = of(ad.jit(f))
    assert (compiled.value, compiled.gradient) == (plain.value, plain.gradient)
    # the gradient as a function: what it takes is what the gradient took above, but for the value as a result
    for g in (ad.grad(f), ad.value_and_grad(f), ad.jit(ad.grad(f)), ad.grad(ad.jit(f))):
        found = of(g)
        assert found.value.flops == plain.gradient.flops
        assert found.gradient.flops >= found.value.flops
    forward = of(lambda x: ad.jvp(f, (x,), (np.ones(3),)))
    assert plain.value.flops < forward.value.flops <= 6 * plain.value.flops
    if name not in ("few slots", "online", "solver"):
        assert of(lambda x: ad.vmap(f)(np.stack([x, x]))).value.flops >= 2 * plain.value.flops
        assert of(ad.hessian(f)).value.flops >= of(ad.grad(f)).value.flops


def test_a_checkpointed_function_is_counted_once_and_again_on_the_way_back():
    plain, again = ad.cost(quotients)(X), ad.cost(ad.checkpoint(quotients))(X)
    assert again.value == plain.value
    assert 0 < again.gradient.flops - plain.gradient.flops <= plain.value.flops
    assert again.gradient.calls == 2 * plain.gradient.calls


def test_views_move_no_bytes():
    assert ad.cost(lambda x: np.reshape(x, (2, 50)).T[0])(np.ones(100)).value.bytes == 0


def test_several_results_and_keywords():
    found = ad.cost(lambda x, *, scale: {"a": x * scale, "b": x + 1.0})(np.ones(3), scale=2.0)
    assert found.value.flops == 6


def test_tables():
    from rich.console import Console

    found = ad.cost(layer)(np.ones(3), np.ones((4, 3)))
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(found)
    for text in (str(found), console.export_text(), found._repr_html_()):
        assert "y = A @ x" in text
        assert "matmul" in text
        assert "times the operations of the value" in text


def test_tables_fit_a_terminal_and_leave_zeros_out():
    text = str(ad.cost(layer)(np.ones(3), np.ones((4, 3))))
    assert max(map(len, text.splitlines())) <= 80
    assert "value and gradient" in text
    assert [line for line in text.splitlines()[3:] if set(line.split()[1:]) == {"0"}] == []
    assert "calls" in text  # of tanh
    assert "calls" not in str(ad.cost(square_sum)(np.ones(3)))
    assert "broadcast" not in str(ad.cost(square_sum)(np.ones(3)))


def test_the_names_above_narrow_columns_are_whole():
    moved = str(ad.audit.cost(lambda x: np.concatenate([x, x])[::2])(np.ones(3)))
    assert moved.splitlines()[1].split("  ")[-1].strip() == "value and gradient"
    assert "value  " in str(ad.audit.cost(lambda x: np.sum(x * x))(np.ones(3))).splitlines()[1]


def test_without_model_it_is_said():
    assert "not counted" in str(ad.cost(lambda a: np.sum(np.linalg.pinv(a)))(np.eye(2)))


def test_whole_numbers_have_no_gradient():
    with pytest.raises(TypeError, match="floating point"):
        ad.cost(lambda n: n + 1)(np.arange(3))
