"""What loops that go on while a condition holds have in common; batch elements may finish at different iterations."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import Gather, ScatterSet
from adjoint.ops.control.base import Control, Flags, Guard, rearranged
from adjoint.ops.control.batch_elements import guard_indices, is_fragile, needs_indices, spreads_nan, stand_in
from adjoint.ops.control.counted_loop import CountedLoop
from adjoint.ops.effects import guarded, has_effects, silent
from adjoint.program.program import Literal, Program, interpret
from adjoint.program.record import record_program
from adjoint.program.types import Value, type_of


class ConditionalLoop(CountedLoop):
    """A loop that goes on while a condition holds.

    Arguments: constants of the condition, constants of the body, initial carry.
    """

    condition: Program
    body: Program
    condition_constants: int
    body_constants: int
    has_condition = True
    reverse = False

    @property
    def tests(self) -> int:
        return self.condition_constants

    @property
    def constants(self) -> int:  # type: ignore[override]
        return self.body_constants

    @property
    def carries(self) -> int:  # type: ignore[override]
        return len(self.condition.inputs) - self.condition_constants

    def programs(self) -> dict[str, Program]:
        return {"condition": self.condition, "body": self.body}

    def guarded(self, guard: Guard) -> tuple[Control, int | None]:
        body = guard(self.body)
        n = len(body.inputs) - 1
        body = rearranged(body, [n, *range(n)], range(len(body.outputs)))
        return self.with_body(body, self.constants + 1, self.carries), self.condition_constants

    def parts(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Constants of the condition, constants of the body, carry."""
        a, b = self.condition_constants, self.condition_constants + self.body_constants
        return list(values[:a]), list(values[a:b]), list(values[b:])

    def with_condition(self, condition: Program, body: Program, tests: int, constants: int) -> Any:
        """The same kind of loop with another condition and body."""
        change: Any = dataclasses.replace
        return change(self, condition=condition, body=body, condition_constants=tests, body_constants=constants)

    def with_body(self, body: Program, constants: int, carries: int) -> Any:
        condition = self.condition
        if carries != self.carries:  # it does not look at the derivatives in the carry
            extra = body.input_types[constants + self.carries : constants + carries]
            condition, _ = record_program(
                lambda *flat: interpret(self.condition, flat[: len(self.condition.inputs)]),
                [*self.condition.input_types, *extra],
            )
        return self.with_condition(condition, body, self.condition_constants, constants)

    def stops_by_elements(self, programs: Any, size: int, mapped: Flags) -> bool:
        """Whether batch elements may finish at different iterations, and nothing is printed meanwhile."""
        if has_effects(self.body) or has_effects(self.condition):
            return False
        a, b = self.condition_constants, self.body_constants
        forced = (False,) * len(self.body.outputs)
        _, wanted, _ = self.close_over_carries(mapped[a:], forced, lambda m, f: programs.batched(self.body, m, size, f))
        return programs.batched(self.condition, (*mapped[:a], *wanted[b:]), size, (False,))[1][0]

    def batched(self, programs: Any, size: int, mapped: Flags, forced: Flags) -> tuple[Any, Flags, Flags]:
        a, b = self.condition_constants, self.body_constants
        body, wanted, flags = self.close_over_carries(
            mapped[a:], forced, lambda m, f: programs.batched(self.body, m, size, f)
        )
        test_flags = (*mapped[:a], *wanted[b:])
        condition, (is_mapped,) = programs.batched(self.condition, test_flags, size, (False,))
        if is_mapped:
            every = (True,) * self.carries
            return (
                self._mask_finished(programs, size, mapped),
                (*mapped[: a + b], *every),
                (True,) * len(self.body.outputs),
            )
        return self.with_condition(condition, body, a, b), (*mapped[:a], *wanted), flags

    def until_one_is_left(self, xs: Sequence[Value], mapped: Flags, programs: Any, size: int) -> list[Value]:
        """The carries of a block of elements: together as long as two go on, then the last one by itself."""
        a, b = self.condition_constants, self.body_constants
        every = (True,) * self.carries
        loop = self._mask_finished(programs, size, mapped, fewest=2)
        state = loop(*self.stack_arguments(loop, xs, mapped, (*mapped[: a + b], *every), size))
        condition, _ = programs.batched(self.condition, (*mapped[:a], *every), size, (True,))
        last = np.argmax(interpret(condition, [*xs[:a], *state])[0])
        constants = [Gather(1)(x, last) if m else x for x, m in zip(xs[: a + b], mapped, strict=False)]
        alone = self(*constants, *[Gather(1)(x, last) for x in state])
        return [ScatterSet(("gather", 1))(x, z, last) for x, z in zip(state, alone, strict=True)]

    def _mask_finished(self, programs: Any, size: int, mapped: Flags, fewest: int = 1) -> Any:
        """Batch elements finish at different iterations: the loop runs while some go on, the others keep their carry.

        The body reads the condition too: its constants are those of the condition, then its own. Indices of elements
        that have finished are zero, so that they lie within bounds. Where the body may raise for another reason, or
        spread NaN, an element that goes on stands in for those that have finished: for them the next iteration need
        not exist. Their rows are then its rows, so that no derivative meets numbers that no iteration had; constants
        and truth values (the flag that an iteration was taken, in a batch of batches each element's own) are zero.
        """
        a, b = self.condition_constants, self.body_constants
        every = (True,) * self.carries
        outputs = len(self.body.outputs)
        condition, _ = programs.batched(self.condition, (*mapped[:a], *every), size, (True,))
        watched, indexed = has_effects(self.body), needs_indices(self.body)
        mine = guarded(self.body) if watched else guard_indices(self.body) if indexed else self.body
        flags = (True,) if watched or indexed else ()
        body, _ = programs.batched(mine, (*mapped[a : a + b], *every, *flags), size, (True,) * outputs)
        is_constant = [isinstance(z, Literal) or z in self.body.constants for z in self.body.outputs]
        replaced = (is_fragile(self.body) and (watched or not indexed)) or spreads_nan(self.body)
        again, _ = programs.batched(silent(self.condition), (*mapped[:a], *every), size, (True,))

        def step(*flat: Value) -> list[Value]:
            going = interpret(again, [*flat[:a], *flat[a + b :]])[0]
            values = stand_in(going, flat[a:], (*mapped[a : a + b], *every)) if replaced else flat[a:]
            out = interpret(body, [*values, going] if flags else values)
            # what inner loops kept of their iterations is as long as they ran: a zero without a shape fits
            old = [*flat[a + b :], *[type_of(y).dtype.type(0) for y in out[self.carries :]]]
            return [
                y
                if replaced and j >= self.carries and not is_constant[j] and y.dtype.kind in "fc"
                else np.where(np.reshape(going, (size,) + (1,) * (np.ndim(y) - 1)), y, o)
                for j, (y, o) in enumerate(zip(out, old, strict=True))
            ]

        tests, carry = condition.input_types[:a], condition.input_types[a:]

        def enough(*flat: Value) -> list[Value]:
            going = interpret(condition, flat)[0]
            return [np.any(going) if fewest == 1 else np.count_nonzero(going) >= fewest]

        any_going, _ = record_program(enough, [*tests, *carry])
        with np.errstate(all="ignore"):  # batch elements that have finished warn of nothing
            masked, _ = record_program(step, [*tests, *body.input_types[:b], *carry])
        return self.with_condition(any_going, masked, a, a + b)
