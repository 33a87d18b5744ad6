"""The errors of the library, each also the built-in error that a NumPy user would expect."""

from collections.abc import Sequence

__all__ = [
    "AdjointError",
    "CaptureError",
    "CheckError",
    "ControlFlowError",
    "DtypeError",
    "LeakError",
    "NonFiniteError",
    "NotLinear",
    "ProgramError",
    "ReadOnlyError",
    "RuleError",
    "ShapeError",
    "SolveError",
    "TraceError",
    "TreeError",
    "UnsupportedError",
]


class AdjointError(Exception):
    """Any error that the library raises on purpose.

    ```python
    issubclass(ad.ShapeError, ad.AdjointError)  # → True
    ```
    """


class TraceError(AdjointError, TypeError):
    """A traced value was used where only a plain one can go: `float(x)`, `np.asarray(x)`, ...

    ```python
    ad.grad(ad.do_not_convert(lambda x: float(x)))(1.0)  # → TraceError: float()
    ```
    """


class LeakError(TraceError):
    """A traced value was used after its trace ended, or in another thread.

    ```python
    kept = []
    ad.grad(lambda x: (kept.append(x), x * x)[1])(1.0)
    kept[0] + 1  # → LeakError: outlived
    ```
    """


class ControlFlowError(TraceError):
    """Python asked a traced value for its truth or its integer where its value is not known.

    ```python
    body = ad.do_not_convert(lambda c, x: (c if c > 0 else x, None))  # ad.cond does it
    ad.scan(body, 0.0, np.ones(3))  # → ControlFlowError: bool()
    ```
    """


class ShapeError(AdjointError, ValueError):
    """The shapes of the arguments do not fit the operation.

    ```python
    ad.grad(lambda x: x**2)(np.ones(3))  # → ShapeError: needs a scalar output
    ```
    """


class ReadOnlyError(AdjointError, ValueError):
    """An array was assigned to that NumPy makes read-only: a diagonal, a repeated array.

    ```python
    def f(x):
        np.diagonal(x * 1.0)[0] = 2.0
    ad.grad(f)(np.eye(2))  # → ReadOnlyError: read-only
    ```
    """


class DtypeError(AdjointError, TypeError):
    """An operation does not exist, or loses something, for the element types it was given.

    ```python
    ad.grad(np.sin, holomorphic=True)(1.0)  # → DtypeError: needs complex arguments
    ```
    """


class NotLinear(AdjointError, TypeError):  # noqa: N818 (a statement about the function, not about a failure)
    """A transpose was asked of something that is not linear.

    ```python
    ad.linear_transpose(np.sin, 1.0)(1.0)  # → NotLinear: sin is not linear
    ```
    """


class TreeError(AdjointError, ValueError):
    """A container cannot be taken apart, put together, or matched with another.

    ```python
    ad.jvp(lambda p: p["a"], ({"a": 1.0},), ({"b": 1.0},))  # → TreeError: the trees differ
    ```
    """


class RuleError(AdjointError, TypeError):
    """A custom rule returned something of the wrong kind, shape or element type.

    ```python
    wrong = ad.custom_rule(np.sin, jvp=lambda primals, tangents: np.sin(primals[0]))
    ad.grad(wrong)(1.0)  # → RuleError: must return (y, dy)
    ```
    """


class ProgramError(AdjointError, ValueError):
    """A program is not well formed, or cannot be saved or loaded.

    ```python
    import io
    ad.load(io.BytesIO(b"no program"))  # → ProgramError: not a saved program
    ```
    """


class CheckError(AdjointError, ValueError):
    """A condition that the program states about its values does not hold; `batch_elements` says where under vmap.

    ```python
    ad.check(False, "the step is {}", 0.5)  # → CheckError: the step is 0.5
    ```
    """

    def __init__(self, message: str, batch_elements: Sequence[tuple[int, ...]] = ()) -> None:
        super().__init__(message, *((tuple(batch_elements),) if batch_elements else ()))
        self.message, self.batch_elements = message, tuple(batch_elements)

    def __str__(self) -> str:
        if not self.batch_elements:
            return self.message
        shown = [str(i[0] if len(i) == 1 else i) for i in self.batch_elements[:8]] + ["…"] * (
            len(self.batch_elements) > 8
        )
        return (
            f"{self.message}, in batch element{'' if len(self.batch_elements) == 1 else 's'} {', '.join(shown)} of vmap"
        )

    def among(self, indices: Sequence[int]) -> "CheckError":
        """The same error when the batch elements it knows are only some of all."""
        return CheckError(self.message, [(int(indices[first]), *rest) for first, *rest in self.batch_elements])


class NonFiniteError(AdjointError, FloatingPointError):
    """A NaN or an infinity appeared while they are watched for.

    ```python
    ad.debug.nans()(ad.grad(np.log))(0.0)  # → NonFiniteError: log
    ```
    """


class SolveError(AdjointError, ArithmeticError):
    """An equation was not solved to the accuracy that was asked for.

    ```python
    short = ad.linear.cg(np.diag([1.0, 10.0, 100.0]), np.ones(3), max_iterations=1)
    short.raise_if_failed()  # → SolveError: residual
    ```
    """


class UnsupportedError(AdjointError, TypeError):
    """A NumPy function, or a form of it, has no rule here.

    ```python
    ad.grad(lambda x: np.busday_count(x, x))(1.0)  # → UnsupportedError: busday_count
    ```
    """


class CaptureError(AdjointError, ValueError):
    """An array that a record refers to was written to, or an attempt was made.

    ```python
    w = np.ones(5_000_000)
    def f(x):
        y = np.sum(x * w)
        w[0] = 2.0
        return y
    ad.grad(f)(w.copy())  # → CaptureError: Write to a copy
    ```
    """
