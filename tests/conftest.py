"""What holds for every test: no windows, no deadlines, the same examples in every run."""

import atexit
import os
import shutil
import tempfile

import hypothesis

from tests.opinfo.place import PRESENT

os.environ["MPLBACKEND"] = "Agg"
if "ADJOINT_CACHE_DIR" not in os.environ:  # machine code made by tests does not go into the user's cache
    os.environ["ADJOINT_CACHE_DIR"] = tempfile.mkdtemp(prefix="adjoint-tests-")
    atexit.register(shutil.rmtree, os.environ["ADJOINT_CACHE_DIR"], ignore_errors=True)

# Without deadlines, as a busy machine is no error. `pytest --hypothesis-profile=explore` looks for new examples.
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("repeatable")


def pytest_report_header() -> str | None:
    """What this machine lacks."""
    return None if PRESENT else "tests/opinfo: no samples at ../shared/opinfo, so these operators are not tried"
