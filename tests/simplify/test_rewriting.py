"""Each rule on an example: what remains, and that it has the values of what was written."""

import dataclasses
import warnings

import numpy as np
import pytest

import adjoint as ad
from adjoint.program.check import check
from adjoint.program.program import Program, Var, names
from adjoint.simplify import simplify
from adjoint.simplify.dead_code import drop_dead_code
from adjoint.simplify.rewriter import Rewriter
from adjoint.simplify.rewriting import BOOK
from adjoint.simplify.rules.rule import RuleBook
from tests.simplify.examples import EXAMPLES, Example


def brief(program: Program) -> str:
    """A program in one line: `c = multiply a b; d = negative c -> d`."""
    name: dict[Var, str] = {}
    supply = names()
    for v in (*program.inputs, *program.constants):
        name[v] = next(supply)
    shown = lambda atom: name[atom] if isinstance(atom, Var) else str(atom.value)
    lines: list[str] = []
    for eq in program.equations:
        for v in eq.outputs:
            name[v] = next(supply)
        fields = [getattr(eq.op, f.name) for f in dataclasses.fields(eq.op)] if dataclasses.is_dataclass(eq.op) else []
        if eq.op.title == "slice":
            fields = fields[0]
        fields = [f for f in fields if f not in ("max", "min")]
        title = eq.op.title + (f"[{', '.join(map(str, fields))}]" if fields else "")
        outputs = ", ".join(name[v] for v in eq.outputs)
        lines.append(f"{outputs} = {title} {' '.join(map(shown, eq.inputs))}")
    return f"{'; '.join(lines)} -> {', '.join(map(shown, program.outputs))}".strip()


def traced(example: Example) -> Program:
    return ad.trace(example.f)(*example.args).program


@pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))
def test_what_remains(example) -> None:
    before = traced(example)
    after = check(simplify(before))
    assert brief(after) == example.remains
    with np.errstate(all="ignore"):
        for found, expected in zip(after(*example.args), before(*example.args), strict=True):
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            np.testing.assert_allclose(found, expected, rtol=4e-16, atol=0)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0])


def test_special_values() -> None:
    """NaN, infinities and zeros in every example: the same comes out."""
    rng = np.random.default_rng(0)
    for example in EXAMPLES:
        before = traced(example)
        after = simplify(before)
        for _ in range(4):
            args = [
                np.asarray(rng.choice(SPECIAL, size=np.shape(a)))[()] if np.asarray(a).dtype == np.float64 else a
                for a in example.args
            ]
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, expected = after(*args), before(*args)
            for a, b in zip(found, expected, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=example.remains)


def test_every_rule_has_an_example() -> None:
    """The rules that write something in an example are all rules there are."""
    used: set[str] = set()

    def noting(rule):
        def apply(*args):
            z = rule.apply(*args)
            if z is not None:
                used.add(rule.title)
            return z

        return dataclasses.replace(rule, apply=apply)

    book = RuleBook([noting(rule) for rule in BOOK.rules])
    for example in EXAMPLES:
        Rewriter(drop_dead_code(traced(example)), book).run()
    assert sorted({rule.title for rule in BOOK.rules} - used) == []
