"""Effects: primitives that do something when they run and give nothing back: print, call, check.

They run once for each batch element that is alive, in the order in which they stand. Their first `guards` arguments are
truth values; a batch element for which one of them is false does nothing: so branches not taken and loops that have
ended, which under vmap run beside the others, stay quiet.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from adjoint import tree
from adjoint.base.errors import CheckError
from adjoint.base.records import record
from adjoint.ops.calculus import Flat
from adjoint.program.op import EffectKind, primitive
from adjoint.program.program import Equation, Program, Var
from adjoint.program.save import RECORDS
from adjoint.program.subprograms import map_programs
from adjoint.program.trace import perform
from adjoint.program.types import ArrayType, Value

Batches = tuple[
    tuple[tuple[bool, ...], int], ...
]  # for each stack, outermost first: which arguments have it, and its size


class Effect(Flat):
    """Acts on each batch element. Every effect has the fields `batches` and `guards`."""

    is_movement = True

    several = True
    effect = EffectKind()
    batches: Batches
    guards: int

    @abstractmethod
    def act(self, elements: Iterator[tuple[tuple[int, ...], list[Value]]]) -> None:
        """Do it, for each (position of the batch element, its arguments)."""

    def __call__(self, *xs: Value) -> Value:
        return perform(self, *xs)

    def evaluate(self, *xs: Value) -> Value:
        if all(np.any(x) for x in xs[: self.guards]):  # else no batch element is alive
            self.act(self._alive(self.batches, list(xs), ()))
        return ()

    def _alive(
        self, batches: Batches, xs: list[Value], at: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, ...], list[Value]]]:
        if batches:
            flags, size = batches[0]
            for i in range(size):
                yield from self._alive(
                    batches[1:], [x[i] if f else x for x, f in zip(xs, flags, strict=True)], (*at, i)
                )
        elif all(bool(x) for x in xs[: self.guards]):
            yield at, xs[self.guards :]

    def result_type(self, *types: ArrayType) -> Any:
        return ()

    def batch(self, xs: Sequence[Value], mapped: Sequence[bool], size: int) -> Value:
        return self._with(batches=((tuple(mapped), size), *self.batches))(*xs)

    def guarded(self) -> Effect:
        """The same with one more truth value before its arguments."""
        return self._with(
            batches=tuple(((False, *flags), size) for flags, size in self.batches), guards=self.guards + 1
        )

    def _with(self, **changes: Any) -> Any:
        replace: Any = dataclasses.replace
        return replace(self, **changes)

    def __str__(self) -> str:
        return f"{self.title}[{self.label}]"

    @property
    def label(self) -> str:
        """What is printed of it in a program."""
        return ""


@record
class Arguments:
    """Arguments of a call: numbers and arrays are operands of the primitive, all else stands here."""

    structure: Any  # of (args, kwargs)
    fixed: tuple[tuple[int, Any], ...] = ()  # (number of the leaf, value)

    @staticmethod
    def of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Arguments, list[Value]]:
        """The arguments of a call, and its operands."""
        leaves, structure = tree.flatten((args, kwargs))
        operands = [leaf for leaf in leaves if _is_operand(leaf)]
        return Arguments(
            structure, tuple((i, leaf) for i, leaf in enumerate(leaves) if not _is_operand(leaf))
        ), operands

    def put_back(self, operands: Sequence[Value]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(args, kwargs) with these operands."""
        fixed, rest = dict(self.fixed), iter(operands)
        leaves = [fixed[i] if i in fixed else next(rest) for i in range(self.structure.num_leaves)]
        return self.structure.unflatten(leaves)


RECORDS["Arguments"] = Arguments


def _is_operand(leaf: Any) -> bool:
    return hasattr(leaf, "dtype") or (isinstance(leaf, int | float | complex) and not isinstance(leaf, bool))


@primitive
class Print(Effect):
    """Prints text with its arguments filled in."""

    text: str
    arguments: Arguments
    batches: Batches = ()
    guards: int = 0
    effect = EffectKind(deferred=True)

    @property
    def label(self) -> str:
        return repr(self.text)

    def act(self, elements: Iterator[tuple[tuple[int, ...], list[Value]]]) -> None:
        for _, xs in elements:
            args, kwargs = self.arguments.put_back(xs)
            print(self.text.format(*args, **kwargs))


@primitive
class Callback(Effect):
    """Calls a function with plain arrays; what it returns is ignored."""

    function: Callable[..., object]
    arguments: Arguments
    batches: Batches = ()
    guards: int = 0
    effect = EffectKind(deferred=True)

    @property
    def label(self) -> str:
        return getattr(self.function, "__name__", "function")

    def act(self, elements: Iterator[tuple[tuple[int, ...], list[Value]]]) -> None:
        for _, xs in elements:
            args, kwargs = self.arguments.put_back(
                [np.array(x)[()] for x in xs]
            )  # its own: it may keep them or write to them
            self.function(*args, **kwargs)


@primitive
class Check(Effect):
    """Raises unless its first argument is true everywhere; under vmap it names the batch elements where it is not."""

    message: str
    where: str
    arguments: Arguments
    batches: Batches = ()
    guards: int = 0

    @property
    def label(self) -> str:
        return repr(self.message)

    def act(self, elements: Iterator[tuple[tuple[int, ...], list[Value]]]) -> None:
        failed = [(at, xs) for at, xs in elements if not np.all(xs[0])]
        if failed:
            args, kwargs = self.arguments.put_back(failed[0][1][1:])
            text = self.message.format(*args, **kwargs) if args or kwargs else self.message
            raise CheckError(f"{text} (checked at {self.where})", [at for at, _ in failed if at])


class Unchanged:
    """A field of a primitive that is compared by identity."""

    def __init__(self, value: Any) -> None:
        self.value = value


@primitive
class Raise(Effect):
    """Raises an exception of the user's; its arguments are filled into the texts of the exception."""

    problem: Unchanged
    batches: Batches = ()
    guards: int = 0

    @staticmethod
    def now(problem: BaseException) -> None:
        """Raise it when the program that is being recorded comes here."""
        operands = [v for text in problem.args for v in getattr(text, "operands", ())]
        Raise(Unchanged(problem))(*(operands or [np.int64(0)]))

    @property
    def label(self) -> str:
        return type(self.problem.value).__name__

    def act(self, elements: Iterator[tuple[tuple[int, ...], list[Value]]]) -> None:
        for _, xs in elements:
            values = iter(xs)
            problem = self.problem.value
            again = copy.copy(problem)
            again.args = tuple(text.filled(values) if hasattr(text, "operands") else text for text in problem.args)
            raise again.with_traceback(problem.__traceback__)


def has_effects(program: Program) -> bool:
    """Whether a program, or one inside it, has an effect."""
    cached = program.__dict__.get("_has_effects")
    if cached is None:
        cached = any(eq.op.effect or any(map(has_effects, eq.op.programs().values())) for eq in program.equations)
        program.__dict__["_has_effects"] = cached
    return cached


def silent(program: Program) -> Program:
    """The program without its effects: what is run again must not print again."""
    if not has_effects(program):
        return program
    kept = [dataclasses.replace(eq, op=silent_operation(eq.op)) for eq in program.equations if not eq.op.effect]
    return Program(program.inputs, tuple(kept), program.outputs, program.constants)


def silent_operation(op: Any) -> Any:
    """A primitive without the effects in its programs."""
    return map_programs(op, silent)


def guarded(program: Program) -> Program:
    """The program with one more input, a truth value: its effects, at any depth, happen only where it is true."""
    guard = Var(ArrayType((), np.dtype(bool)))
    equations: list[Equation] = []
    for eq in program.equations:
        if isinstance(eq.op, Effect):
            eq = dataclasses.replace(eq, op=eq.op.guarded(), inputs=(guard, *eq.inputs))
        elif any(map(has_effects, eq.op.programs().values())):
            op, position = cast(Any, eq.op).guarded(guarded)
            at: int = len(eq.inputs) if position is None else position
            eq = dataclasses.replace(eq, op=op, inputs=(*eq.inputs[:at], guard, *eq.inputs[at:]))
        equations.append(eq)
    return Program((*program.inputs, guard), tuple(equations), program.outputs, program.constants)
