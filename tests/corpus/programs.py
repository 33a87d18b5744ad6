"""What each file of the corpus lists: plain NumPy programs, with the point at which they are looked at."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Program:
    """A function as people write it with NumPy, and example arguments.

    The function takes floats and arrays of floats, returns a float or an array of floats, and is smooth in every one
    of the arguments near the example. Parameters beyond the arguments have defaults.
    """

    function: Callable[..., Any]
    arguments: tuple[float | np.ndarray, ...]

    @property
    def name(self) -> str:
        """File and function, as a label."""
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"
