"""The compiled half of a profile: the machine code timed as a whole, and an estimate of which lines the time goes to.

Inside machine code there is no clock: loops of several lines are one. So the measured time of the whole is shared out
by predicted cost, the model that the compiler itself decides by. What the model says nothing about (decompositions,
sorting: they stay calls of a library) is timed apart.
"""

# pyright: basic
from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.jit.function import Jitted
from adjoint.jit.pipeline import build_executable
from adjoint.show.profile.timing import Site, least, time_program
from adjoint.simplify.costs import cost
from adjoint.transform.lines import Lining, lined

__all__ = ["CompiledProfile", "compiled_profile"]


@dataclass(frozen=True)
class CompiledProfile:
    """Measured seconds of the compiled value, and of value and gradient in one; the steps of the latter's code."""

    value_seconds: float
    seconds: float
    first_call: float  # tracing, simplifying, compiling, running once
    how: str  # "compiled", or why not
    steps: tuple[str, ...]
    callbacks: tuple[str, ...]
    sites: tuple[Site, ...]  # their seconds are estimates
    measured: float  # seconds of those that were timed apart


def compiled_profile(
    value: Callable[..., Any], whole: Jitted, args: Sequence[Any], kwargs: dict[str, Any], seconds: float
) -> CompiledProfile:
    """Compile and time a value, and the whole that is wanted of it; `whole` must not have run yet."""
    begin = time.perf_counter()
    with lined(Lining()):
        whole(*args, **kwargs)
    first = time.perf_counter() - begin
    value(*args, **kwargs)
    value_seconds = least(lambda: value(*args, **kwargs), seconds)
    spent = least(lambda: whole(*args, **kwargs), seconds)
    report = whole.report()
    programs = whole.guarded_programs
    if not programs or not report.specializations:
        reasons = "; ".join(report.eager_reasons) or "unknown reasons"
        return CompiledProfile(value_seconds, spent, first, f"plain Python: {reasons}", (), (), (), 0.0)
    one = report.specializations[-1]
    values = whole.read_call(tuple(args), kwargs).values
    sites, measured = share_out(build_executable(programs[-1].program).program, values, spent)
    return CompiledProfile(
        value_seconds, spent, first, one.how, tuple(one.kernels), tuple(one.callbacks), sites, measured
    )


def share_out(program: Any, values: Sequence[Any], whole: float) -> tuple[tuple[Site, ...], float]:
    """The sites of a compiled program, with the seconds of the whole shared out by predicted cost."""
    sites = [site for site in time_program(program, values, 0.0).sites if site.calls]
    prices = [cost(site.equation) * site.calls for site in sites]
    apart = sum(site.seconds for site, price in zip(sites, prices, strict=True) if math.isinf(price))
    known = sum(price for price in prices if math.isfinite(price))
    apart = min(apart, whole) if known else whole
    unit = (whole - apart) / known if known else 0.0
    own = sum(site.seconds for site, price in zip(sites, prices, strict=True) if math.isinf(price)) or 1.0
    for site, price in zip(sites, prices, strict=True):
        site.seconds = site.seconds * apart / own if math.isinf(price) else unit * price
    return tuple(sites), apart if any(map(math.isinf, prices)) else 0.0
