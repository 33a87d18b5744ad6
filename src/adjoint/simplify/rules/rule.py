"""What a rule is: a form of equation that it looks for, and how the equation is written anew.

The form is the primitive and, for up to three inputs, what made each of them. Which rules can fit a form is determined
once and then looked up, so an equation that no rule fits costs one look into a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from adjoint.base.records import record
from adjoint.ops.elementwise.pointwise import Ufunc
from adjoint.program.op import Op
from adjoint.program.program import Atom

# What made a value: a ufunc's primitive itself (see also `with_number`), the class of another primitive, `Literal`, or
# None (inputs, constants).
Tag: TypeAlias = Any

ANY: Any = object()  # an input of any origin

# (rewriter, op, inputs, type of the result) → the result written otherwise, or None when the rule does not apply
Apply: TypeAlias = Callable[[Any, Any, tuple[Atom, ...], Any], Any]


@record(eq=False)
class Rule:
    """`title` is the identity in words or letters; `note` says where the two sides differ, if they do."""

    title: str
    root: Any  # a ufunc's primitive, or a class of primitives
    children: tuple[Tag, ...] | None  # one tag, or a list of tags, for each input; None: any number of any inputs
    apply: Apply
    note: str = ""

    def is_about(self, op: Op) -> bool:
        """Whether the rule is about this primitive."""
        return self.root is op or self.root in type(op).__mro__

    def fits(self, tags: tuple[Tag, ...] | None) -> bool:
        """Whether the rule may apply to inputs of these origins (None: too many to say)."""
        if self.children is None or tags is None:
            return self.children is None
        return len(tags) == len(self.children) and all(
            want is ANY or tag is want or (isinstance(want, list) and tag in want)
            for want, tag in zip(self.children, tags, strict=True)
        )


def rule(title: str, root: Any, *children: Tag, note: str = "") -> Callable[[Apply], Rule]:
    """A decorator: the function is how the equation is written anew. Without children it sees any inputs."""
    return lambda apply: Rule(title, root, children or None, apply, note)


_interned: dict[type, bool] = {}  # whether the primitives of a class are ufuncs; asking an abstract class takes long


def tag_of(op: Op) -> Tag:
    """How a primitive is named in forms."""
    cls = op.__class__
    known = _interned.get(cls)
    if known is None:
        known = _interned[cls] = issubclass(cls, Ufunc)
    return op if known else cls


_with_numbers: dict[Op, Tag] = {}


def with_number(op: Op) -> Tag:
    """The tag of what an operation of two operands made of a value and a number, in this order: x · 3."""
    tag = _with_numbers.get(op)
    if tag is None:
        tag = _with_numbers[op] = (op, "number")
    return tag


class RuleBook:
    """All rules, looked up by form."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._about: dict[Tag, list[Rule]] = {}
        self._by_form: dict[tuple[Tag, ...], tuple[Apply, ...]] = {}

    def candidates(self, form: tuple[Tag, ...], op: Op, many: bool) -> tuple[Apply, ...]:
        """The rules for a form (tag of the primitive, tags of its inputs unless they are many)."""
        rules = self._by_form.get(form)
        if rules is None:
            about = self._about.get(form[0])
            if about is None:
                about = self._about[form[0]] = [r for r in self.rules if r.is_about(op)]
            tags = None if many else form[1:]
            rules = self._by_form[form] = tuple([r.apply for r in about if r.fits(tags)])
        return rules
