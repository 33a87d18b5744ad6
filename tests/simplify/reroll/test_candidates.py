"""Random loops, and loops in which one iteration is different: whatever is made of them, every bit stays."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
import adjoint.numpy as anp
from adjoint.program.check import check
from adjoint.program.program import interpret
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.reroll.driver import reroll

N = 48  # rows of the arrays that loops read
COUNTS = st.integers(0, 3)


@st.composite
def instructions(draw, registers):
    """(target, operation, operands): operands are registers, rows of arrays, numbers."""
    operand = st.one_of(
        st.tuples(st.just("register"), st.integers(0, registers - 1)),
        st.tuples(st.just("row"), st.integers(0, 1), st.sampled_from([1, -1, 2]), st.integers(0, 2)),
        st.tuples(st.just("element"), st.sampled_from([1, -1]), st.integers(0, 2)),
        st.tuples(st.just("written"), st.integers(1, 2)),
        st.tuples(st.just("number"), st.sampled_from([0.5, 1.0, -0.0])),
        st.tuples(st.just("turn"), st.sampled_from([0.1, 0.25])),
        st.tuples(st.just("fixed"), st.integers(0, 2)),
    )
    operation = st.sampled_from(["add", "multiply", "subtract", "sin", "tanh", "write", "list"])
    return draw(st.lists(st.tuples(st.integers(0, registers - 1), operation, operand, operand), min_size=1, max_size=6))


@st.composite
def loops(draw):
    registers = draw(st.integers(1, 3))
    body = draw(instructions(registers))
    iterations = draw(st.one_of(st.integers(1, 20), st.just(13), st.just(24)))
    odd = draw(st.one_of(st.none(), st.integers(0, iterations - 1)))  # an iteration that is not like the others
    other = draw(instructions(registers)) if odd is not None else []
    return registers, body, iterations, odd, other


def written_out(plan):
    """The function of (x, y, z) that runs a loop."""
    registers, body, iterations, odd, other = plan

    def run(x, y, z):
        values = [z * (i + 1.0) for i in range(registers)]
        filled, found = anp.zeros((N, 2)), []

        def read(operand, t):
            kind, *rest = operand
            if kind == "register":
                return values[rest[0]]
            if kind == "row":
                array, step, shift = rest
                at = shift + step * t if step > 0 else N - 1 - shift + step * t
                return (x, y)[array][at % N]
            if kind == "element":
                return x[(rest[1] + rest[0] * t) % N, 1]
            if kind == "written":
                return filled[max(t - rest[0], 0)]
            if kind == "turn":
                return rest[0] * t
            return rest[0] if kind == "number" else z * x[rest[0]]

        for t in range(iterations):
            for target, operation, first, second in other if t == odd else body:
                a, b = read(first, t), read(second, t)
                if operation == "write":
                    filled[t] = np.tanh(values[target] + a)
                elif operation == "list":
                    found.append(values[target] * a)
                elif operation in ("sin", "tanh"):
                    values[target] = getattr(np, operation)(values[target] + a)
                else:
                    values[target] = np.tanh(getattr(np, operation)(values[target] + a, b))
        joined = np.concatenate([np.reshape(f + z * 0.0, (-1,)) for f in found]) if found else z
        return np.sum(joined * 0.5) + np.sum(filled * filled) + sum(np.sum(v) for v in values)

    return run


def bits(values):
    return [(np.asarray(v).dtype, np.shape(v), np.asarray(v).tobytes()) for v in values]


def arguments():
    generator = np.random.default_rng(7)
    return generator.normal(size=(N, 2)), generator.normal(size=(N, 2)), generator.normal(size=2)


def unchanged(function):
    args = arguments()
    program = drop_dead_code(ad.trace(function)(*args).program)
    rolled = check(reroll(program, fewest=4, least=4))
    assert len(rolled.equations) <= len(program.equations) + 4
    assert bits(interpret(rolled, args)) == bits(interpret(program, args))


@given(loops())
@settings(max_examples=40)
def test_values(plan):
    unchanged(written_out(plan))


@given(loops())
@settings(max_examples=40)
def test_gradients(plan):
    unchanged(ad.value_and_grad(written_out(plan), argnums=(0, 1, 2)))
