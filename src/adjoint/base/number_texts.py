"""How a number is shown by f-strings, `format` and templates with %."""

from __future__ import annotations

from typing import Any

import numpy as np

PERCENT = -2  # the conversion of a number that a template with % shows


def show_number(value: Any, conversion: int, spec: str) -> str:
    """One number as an f-string shows it; the numbers of a batch, one by one."""
    if np.ndim(value) and spec:
        return np.array2string(value, formatter={"all": lambda v: show_number(v, conversion, spec)})
    if type(value) is np.ndarray and not np.ndim(value):
        return show_number(value.item(), conversion, spec)
    if conversion == PERCENT:
        return spec % value
    if conversion in (114, 115, 97):
        value = {114: repr, 115: str, 97: ascii}[conversion](value)
    return format(value, spec)
