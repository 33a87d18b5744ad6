"""Loops are found again in programs that Python has written out: functions are traced as they are."""

from collections.abc import Iterator

import pytest

from adjoint.base.config import config


@pytest.fixture(autouse=True)
def loops_written_out() -> Iterator[None]:
    with config.override(convert=False):
        yield
