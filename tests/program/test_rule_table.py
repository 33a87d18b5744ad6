"""Rules by class: of the nearest ancestor, and of no ancestor where the method they stand for is stated anew."""

from adjoint.ops.arrays.reduce import Reduction, Sum
from adjoint.program.op import Op
from adjoint.program.rule_table import RuleTable


class Mean(Sum):
    def evaluate(self, *xs):
        return xs[0].mean(axis=self.axes)


class Total(Sum):
    """The same as a sum."""


def test_the_rule_of_the_nearest_ancestor() -> None:
    table = RuleTable[str]("names")
    table.update({Op: "any", Reduction: "reduction"})
    assert table[Sum((0,))] == table[Mean((0,))] == "reduction"
    table.update({Sum: "sum"})
    assert table[Mean((0,))] == "sum"


def test_no_rule_for_a_method_from_a_class_that_states_it_otherwise() -> None:
    table = RuleTable[str]("lowerings", of="evaluate")
    table.update({Sum: "sum"})
    assert table.get(Total((0,))) == "sum"
    assert table.get(Mean((0,))) is None
    table.update({Mean: "mean"})
    assert table.get(Mean((0,))) == "mean"
