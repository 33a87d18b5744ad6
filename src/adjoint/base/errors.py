"""The errors of the library, each also the built-in error that a NumPy user would expect."""

from collections.abc import Sequence

__all__ = [
    "AdjointError",
    "CaptureError",
    "CheckError",
    "ControlFlowError",
    "DtypeError",
    "IndexBoundsError",
    "LeakError",
    "NonFiniteError",
    "NotLinear",
    "ProgramError",
    "RuleError",
    "ShapeError",
    "SolveError",
    "TraceError",
    "TreeError",
    "UnsupportedError",
]


class AdjointError(Exception):
    """Any error that the library raises on purpose."""


class TraceError(AdjointError, TypeError):
    """A traced value was used where only a plain one can go: `float(x)`, `np.asarray(x)`, ..."""


class LeakError(TraceError):
    """A traced value was used after its trace ended, or in another thread."""


class ControlFlowError(TraceError):
    """Python asked a traced value for its truth or its integer where its value is not known."""


class ShapeError(AdjointError, ValueError):
    """The shapes of the arguments do not fit the operation."""


class DtypeError(AdjointError, TypeError):
    """An operation does not exist, or loses something, for the element types it was given."""


class NotLinear(AdjointError, TypeError):  # noqa: N818 (a statement about the function, not about a failure)
    """A transpose was asked of something that is not linear."""


class TreeError(AdjointError, ValueError):
    """A container cannot be taken apart, put together, or matched with another."""


class RuleError(AdjointError, TypeError):
    """A custom rule returned something of the wrong kind, shape or element type."""


class ProgramError(AdjointError, ValueError):
    """A program is not well formed, or cannot be saved or loaded."""


class CheckError(AdjointError, ValueError):
    """A condition that the program states about its values does not hold; `lanes` says where under vmap."""

    def __init__(self, message: str, lanes: Sequence[tuple[int, ...]] = ()) -> None:
        super().__init__(message, *((tuple(lanes),) if lanes else ()))
        self.message, self.lanes = message, tuple(lanes)

    def __str__(self) -> str:
        if not self.lanes:
            return self.message
        shown = [str(lane[0] if len(lane) == 1 else lane) for lane in self.lanes[:8]] + ["…"] * (len(self.lanes) > 8)
        return f"{self.message}, in {'lane' if len(self.lanes) == 1 else 'lanes'} {', '.join(shown)} of vmap"

    def among(self, lanes: Sequence[int]) -> "CheckError":
        """The same error when the lanes it knows are only some of all."""
        return CheckError(self.message, [(int(lanes[first]), *rest) for first, *rest in self.lanes])


class NonFiniteError(AdjointError, FloatingPointError):
    """A NaN or an infinity appeared while they are watched for."""


class SolveError(AdjointError, ArithmeticError):
    """An equation was not solved to the accuracy that was asked for."""


class UnsupportedError(AdjointError, TypeError):
    """A NumPy function, or a form of it, has no rule here."""


class IndexBoundsError(AdjointError, IndexError):
    """An index lies outside its axis."""


class CaptureError(AdjointError, ValueError):
    """An array that a record refers to was written to, or an attempt was made."""
