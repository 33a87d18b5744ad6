"""What an example for the contract test is, and how its numbers are made."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.ops.arrays.index import LastWrite
from adjoint.program.op import Op

ALL = (None, None, None)  # the slice that takes everything
NO_DIFFERENCES = {"spacing", "nextafter"}  # steps as fine as rounding: differences see only noise
FLOAT, SINGLE, COMPLEX, SINGLE_COMPLEX = (np.dtype(t) for t in (np.float64, np.float32, np.complex128, np.complex64))


@dataclass(frozen=True)
class Example:
    """A primitive and its arguments."""

    op: Op
    args: tuple[Any, ...]
    note: str = ""
    smooth: bool = True  # False: a step function by decree (StopGradient), not to be compared with differences

    @property
    def active(self) -> list[int]:
        """The arguments that have tangents. Python numbers are constants."""
        n = len(self.args) - getattr(self.op, "parameters", 0)
        return [i for i, x in enumerate(self.args[:n]) if hasattr(x, "dtype") and x.dtype.kind in "fc"]

    @property
    def operands(self) -> int:
        """How many arguments are not indices or masks."""
        return 0 if isinstance(self.op, LastWrite) else len(self.args) - getattr(self.op, "parameters", 0)

    def __str__(self) -> str:
        shapes = ",".join(_shown(x) for x in self.args)
        return f"{self.op}({shapes}){self.note}".replace(" ", "")


def _shown(x: Any) -> str:
    if not hasattr(x, "dtype"):
        return repr(x)
    return f"{x.dtype.kind}{8 * x.dtype.itemsize}{list(x.shape)}"


def strided(x: Any) -> Any:
    """The same elements, every second one of a larger array, so that no axis is contiguous."""
    if not x.ndim:
        return x
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    view = wide[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


def normal(*shape: int, dtype: np.dtype[Any] = FLOAT, seed: int = 0) -> Any:
    """Normal numbers of a real or complex dtype."""
    rng = np.random.default_rng([seed, *shape])
    x = rng.normal(size=shape)
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype) if shape else dtype.type(x)


def apart(*shape: int, seed: int = 0) -> Any:
    """Numbers at a distance of at least one from each other, in no order."""
    rng = np.random.default_rng([seed, *shape])
    return rng.permutation(np.arange(np.prod(shape, dtype=int)) - 2.4).reshape(shape)[()]
