"""What elementwise functions take: one fact for `ad.cost`, for simplification and for fusion."""

from typing import NamedTuple


class Work(NamedTuple):
    """What one element takes: flops by the model of `ad.cost` (None: a call of an elementary function), and the price
    in a compiled loop, in additions.
    """

    flops: int | None
    price: float
    complex_flops: int = 2


FREE, CHEAP, PRODUCT = Work(0, 0.5), Work(1, 0.5), Work(1, 0.5, 6)
QUOTIENT, REMAINDER = Work(1, 2.0, 11), Work(1, 2.0)
EXPONENTIAL, TRIGONOMETRIC, FUNCTION = Work(None, 12.0), Work(None, 20.0), Work(None, 60.0)
