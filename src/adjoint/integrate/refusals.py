"""What has no derivative: a solution that failed, and the time of an event that did not happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adjoint.debug import check
from adjoint.integrate.derivative import detach
from adjoint.integrate.statuses import EVENT, STATUSES
from adjoint.integrate.stepping import Ending
from adjoint.ops.custom import Attach
from adjoint.program.types import Value
from adjoint.transform.custom import BatchedRule

__all__ = ["refuse_events", "refuse_failed", "refuse_unsolved"]


class _Refusal:
    """The derivative of a solution that failed, or of an event that did not happen: an error, not NaN."""

    title = "solve"

    def __init__(self, of_event: bool = False) -> None:
        self.of_event = of_event

    def _check_solution(self, xs: Sequence[Value]) -> None:
        words = ", ".join(f"{code} {words}" for code, words in enumerate(STATUSES))
        check(
            np.all(xs[-2] <= EVENT),
            f"integrate.solve: a solution that failed has no derivative; status {{}} of {words}, at t = {{}}. Look at "
            "path.status and path.advice.",
            xs[-2], xs[-1],
        )  # fmt: skip

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        if self.of_event:  # whether the tangent is used is not known: it is no number, as the time is none
            return [None if dx is None else np.where(xs[-2] > 0, dx, np.nan) for dx in dxs[:-2]]
        self._check_solution(xs)
        return dxs[:-2]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        if self.of_event:
            check(
                np.all(np.logical_or(xs[-2] > 0, cts[0] == 0)),
                "integrate.solve: the time of an event that did not happen has no derivative; it happened {} times "
                "until t = {}. Look at path.events[i].count.",
                xs[-2], xs[-1],
            )  # fmt: skip
        else:
            self._check_solution(xs)
        return [*[ct if w else None for ct, w in zip(cts, wanted, strict=False)], None, None]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Refusal) and other.of_event == self.of_event

    def __hash__(self) -> int:
        return hash((_Refusal, self.of_event))


def refuse_failed(ending: Ending) -> Ending:
    values = [ending.y, ending.saved]
    y, saved = Attach(_Refusal(), 2)(*detach(values), *values, ending.code, detach([ending.t])[0])
    return ending._replace(y=y, saved=saved)


def refuse_events(ending: Ending) -> Ending:
    """The first time of each event stands by itself, with a derivative if it happened."""
    seen = ending.events
    if seen is None:
        return ending
    firsts: list[Value] = []
    for i in range(seen.counts.shape[0]):
        first = seen.times[i, 0]
        firsts += Attach(_Refusal(True), 1)(*detach([first]), first, seen.counts[i], detach([ending.t])[0])
    return ending._replace(events=(seen, firsts))


@dataclass(frozen=True)
class _Unsolved:
    """The derivative of a solution by an equation that it does not fulfill: an error, unless it is not used."""

    title: str
    statuses: tuple[str, ...]
    failures: tuple[int, ...]

    def _check(self, code: Value, is_used: Value) -> None:
        words = ", ".join(f"{code} {words}" for code, words in enumerate(self.statuses))
        failed = np.any(np.stack([code == failure for failure in self.failures]))
        check(
            np.logical_not(np.logical_and(failed, is_used)),
            f"{self.title}: a solution that failed has no derivative; status {{}} of {words}. Look at its status and "
            "advice.",
            code,
        )  # fmt: skip

    def push(self, xs: Sequence[Value], dxs: Sequence[Value]) -> Sequence[Value]:
        self._check(xs[-1], np.bool_(True))
        return dxs[:-1]

    def pull(self, xs: Sequence[Value], cts: Sequence[Value], wanted: Sequence[bool]) -> Sequence[Value]:
        self._check(xs[-1], np.any(np.stack([np.any(ct != 0) for ct in cts])))
        return [*[ct if w else None for ct, w in zip(cts, wanted, strict=False)], None]

    def batched(self, mapped: Sequence[bool], size: int) -> BatchedRule:
        return BatchedRule(self, tuple(mapped), size)


def refuse_unsolved(
    title: str, values: Sequence[Value], code: Value, statuses: tuple[str, ...], failures: tuple[int, ...]
) -> list[Value]:
    """The values, whose derivative is refused where the code is one of the failures."""
    rule = _Unsolved(title, statuses, failures)
    return list(Attach(rule, len(values))(*detach(values), *values, detach([code])[0]))
