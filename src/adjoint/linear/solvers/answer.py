"""What answers of solvers share: how they ended, in words, and an error where that was no success."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from adjoint.base.errors import SolveError
from adjoint.debug import check
from adjoint.program.trace import Tracer, primal

__all__ = ["Answer", "Coded", "read_number"]

CONVERGED = 0


def read_number(value: Any) -> Any:
    """A number that a derivative may stand beside, without it."""
    return np.asarray(primal(value))


class Coded:
    """What ended with a code, or with one for each batch element."""

    STATUSES: ClassVar[tuple[str, ...]]  # the words of the codes

    if TYPE_CHECKING:
        code: Any

    @property
    def status(self) -> Any:
        """How it ended, in a word or two; an array of them after vmap."""
        if isinstance(self.code, Tracer):
            return "not known while the program is traced"
        words = np.array(self.STATUSES)[np.asarray(self.code)]
        return str(words) if np.ndim(words) == 0 else words


class Answer(Coded):
    """An answer with a code for each problem that it is of; code 0 is success."""

    FAILURE: ClassVar[str]  # "the equation was not solved"
    MANY: ClassVar[str]  # "equations"

    if TYPE_CHECKING:
        iterations: Any
        residual: Any
        target: Any
        method: str

        @property
        def advice(self) -> str: ...

    @property
    def converged(self) -> Any:
        """Whether the residual is as small as was asked for (a truth value for each batch element)."""
        return self.code == CONVERGED

    def raise_if_failed(self) -> Self:
        """Itself if it converged, else an error with the advice. Inside a compiled program the check is part of it."""
        if isinstance(self.code, Tracer):
            legend = ", ".join(f"{code} {words}" for code, words in enumerate(self.STATUSES) if code)
            check(
                np.all(self.code == CONVERGED),
                f"{self.method}: {self.FAILURE} (status {{}} of {legend}) after {{}} iterations; residual {{}}, "
                "wanted {}",
                self.code, self.iterations, self.residual, self.target,
            )  # fmt: skip
            return self
        if np.all(np.asarray(self.code) == CONVERGED):
            return self
        raise SolveError(f"{self.method}: {self._explain_failure()}. {self.advice}")

    def _explain_failure(self) -> str:
        codes = np.asarray(self.code)
        if codes.ndim:
            failed = np.argwhere(codes != CONVERGED)
            where = ", ".join(str(tuple(map(int, index)) if index.size > 1 else int(index[0])) for index in failed[:5])
            words = ", ".join(sorted({self.STATUSES[int(c)] for c in codes.ravel() if c != CONVERGED}))
            return f"{len(failed)} of {codes.size} {self.MANY} were not solved ({words}; first batch elements: {where})"
        return (
            f"{self.STATUSES[int(codes)]} after {int(np.asarray(self.iterations))} iterations; the residual is "
            f"{float(read_number(self.residual)):.3g}, wanted was {float(read_number(self.target)):.3g}"
        )

    def _describe(self, summary: str) -> str:
        """The text of an answer: of one problem the summary, of a batch how many converged."""
        name = type(self).__name__
        if isinstance(self.code, Tracer):
            return f"{name}({self.method}, traced)"
        if np.ndim(self.code):
            summary = f"{int(np.sum(np.asarray(self.code) == CONVERGED))} of {np.size(self.code)} converged"
        advice = self.advice
        return f"{name}({self.method}: {summary}{f'. {advice}' if advice else ''})"
