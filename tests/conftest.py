"""What holds for every test: no windows, no deadlines, the same examples in every run."""

import os

import hypothesis

from tests.opinfo.place import PRESENT

os.environ["MPLBACKEND"] = "Agg"

# Without deadlines, as a busy machine is no error. `pytest --hypothesis-profile=explore` looks for new examples.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("repeatable")


def pytest_report_header() -> str | None:
    """What this machine lacks."""
    return None if PRESENT else "tests/opinfo: no samples at ../shared/opinfo, so these operators are not tried"
