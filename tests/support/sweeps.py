"""Which cases of an exhaustive list run always, and which with the sweeps alone (`make test-sweeps`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

Parameter = type(pytest.param())


def sampled(cases: Iterable[Any], every: int, subject: Callable[[Any], Any] = lambda case: None) -> list[Any]:
    """Cases for `parametrize`: of each subject the first one and each `every`-th after it; the others are sweeps."""
    seen: dict[Any, int] = {}
    parameters: list[Any] = []
    for case in cases:
        number = seen[subject(case)] = seen.get(subject(case), -1) + 1
        parameter = case if isinstance(case, Parameter) else pytest.param(*(case if type(case) is tuple else (case,)))
        marks = () if number % every == 0 else (pytest.mark.sweep,)
        parameters.append(parameter._replace(marks=(*parameter.marks, *marks)))
    return parameters
