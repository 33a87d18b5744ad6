"""The errors of the library, each also the built-in error that a NumPy user would expect."""

__all__ = [
    "AdjointError",
    "CheckError",
    "ControlFlowError",
    "DtypeError",
    "IndexBoundsError",
    "LeakError",
    "NonFiniteError",
    "NotLinear",
    "RuleError",
    "ShapeError",
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


class CheckError(AdjointError, ValueError):
    """A condition that the program states about its values does not hold."""


class NonFiniteError(AdjointError, FloatingPointError):
    """A NaN or an infinity appeared while they are watched for."""


class UnsupportedError(AdjointError, TypeError):
    """A NumPy function, or a form of it, has no rule here."""


class IndexBoundsError(AdjointError, IndexError):
    """An index lies outside its axis."""
