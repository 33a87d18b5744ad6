"""A transformation from outside the tree: which arguments a result depends on smoothly, by rules with defaults."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import extend
from adjoint.ops.elementwise.select import StopGradient
from adjoint.ops.implicit_solve import ImplicitSolve
from adjoint.ops.linalg.linear_solve import LinearSolve


class Labeled(extend.Tracer):
    """A value, and the names of the arguments that move it."""

    __slots__ = ("labels",)

    def __init__(self, trace, value, labels):
        self._trace, self._value, self.labels = trace, value, labels

    def snapshot(self):
        return Labeled(self._trace, self._value, self.labels)

    def _adopt(self, other):
        mine = isinstance(other, Labeled) and other._trace is self._trace
        self._value, self.labels = (other._value, other.labels) if mine else (other, frozenset())


RULES = extend.RuleTable("labels")


class Labels(extend.Trace):
    """Hands names along."""

    title = "labels"

    def constant(self, value):
        return Labeled(self, value, frozenset())

    def apply(self, op, args):
        return RULES[op](self, op, args)

    def split(self, args):
        mine = [isinstance(a, Labeled) and a._trace is self for a in args]
        values = [a._value if m else a for a, m in zip(args, mine, strict=True)]
        return values, frozenset().union(*[a.labels for a, m in zip(args, mine, strict=True) if m])


@RULES.rule(extend.Op)
def together(trace, op, args):
    values, labels = trace.split(args)
    z = op(*values)
    return tuple(Labeled(trace, part, labels) for part in z) if op.several else Labeled(trace, z, labels)


@RULES.rule(extend.Flat, StopGradient)
def unmoved(trace, op, args):
    return op(*trace.split(args)[0])


@RULES.rule(extend.Control)
def step_by_step(trace, op, args):
    return tuple(op.unroll(args, extend.interpret))


RULES.update({LinearSolve: together, ImplicitSolve: together})  # results depend on all that their equation holds


def labels_of(function, **arguments):
    with extend.running(Labels()) as trace:
        result = function(*[Labeled(trace, v, frozenset([k])) for k, v in arguments.items()])
        return result.labels if isinstance(result, Labeled) else frozenset()


def test_every_primitive_has_a_rule():
    kinds = extend.primitive_classes()
    assert len(kinds) > 100
    assert RULES.missing(kinds) == []
    assert extend.RuleTable("nothing").missing(kinds) == sorted(kind.__name__ for kind in kinds)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.sum(np.sin(x)) * 2,
        lambda x, y: x[0] * y[1],
        lambda x, y: np.where(x > 0, x, 1.0).sum(),
        lambda x, y: np.floor(x).sum() + y[0],
        lambda x, y: ad.stop_gradient(x)[0] * y[0],
        lambda x, y: ad.scan(lambda c, r: (c * r, None), y[0], x)[0],
        lambda x, y: ad.cond(x[0] > 0, lambda: x[1], lambda: y[1]),
        lambda x, y: ad.while_loop(lambda s: s < 10, lambda s: s * 2 + 0 * y[0], x[0] + 1.5),
        lambda x, y: np.linalg.solve(np.outer(x, x) + np.eye(3), np.ones(3))[0],
    ],
)
def test_labels_are_what_gradients_say(function):
    x, y = np.array([0.5, 1.5, -0.7]), np.array([2.0, 3.0, 4.0])
    slopes = ad.grad(function, (0, 1))(x, y)
    found = labels_of(function, x=x, y=y)
    for name, gradient in zip("xy", slopes, strict=True):
        if np.any(gradient != 0):
            assert name in found
    assert found <= {"x", "y"}


def test_labels_tell_dependence_from_none():
    x, y = np.ones(3), np.ones(3)
    assert labels_of(lambda x, y: np.sum(np.cos(x)) + np.sum(np.round(y)), x=x, y=y) == {"x"}
    assert labels_of(lambda x, y: ad.stop_gradient(x)[0] * y[0], x=x, y=y) == {"y"}
    assert labels_of(lambda x, y: ad.cond(x[0] > 0, lambda: x[1], lambda: y[1]), x=x, y=y) == {"x"}


def test_a_missing_rule_names_transformation_and_primitive():
    table = extend.RuleTable("intervals")
    with pytest.raises(ad.UnsupportedError, match="intervals has no rule for stop_gradient"):
        table[StopGradient()]
