"""What holds for every test: no windows, no deadlines, the same examples in every run."""

import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Generator

import hypothesis
import pytest

import adjoint.api.gradients  # noqa: F401  (tests of single files, too, find traced values complete)
from tests.opinfo.place import PRESENT
from tests.support import browsers

os.environ.pop("COLUMNS", None)  # workers of pytest-xdist set it, and what is printed would depend on it

os.environ["MPLBACKEND"] = "Agg"
os.environ.setdefault("ADJOINT_THREADS", "1")  # tests run side by side; those of threads set how many they want
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


def pytest_configure() -> None:
    """Where a browser is required, nothing runs without it."""
    if browsers.REQUIRED and (lacks := browsers.missing()):
        raise pytest.UsageError(f"ADJOINT_BROWSER=required, but {lacks}")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """All that collecting makes stays: garbage collections meanwhile would find nothing, in a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests in a browser are left out where there is none."""
    inside = {item for item in items if item.get_closest_marker("browser")} if browsers.missing() else set()
    if inside:
        config.hook.pytest_deselected(items=list(inside))
        items[:] = [item for item in items if item not in inside]


def pytest_collection_finish() -> None:
    """Collected tests and imported modules stay: gc.collect, which many tests call, need not search them each time.

    Programs that were compiled stay as well, half a million objects in some files, so Python's own collections search
    them less often than they would: that was a tenth of the time of all tests.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 100)


@pytest.fixture(scope="module", autouse=True)
def settled_heap(request: pytest.FixtureRequest) -> None:
    """What the tests before left behind (compiled functions, caches) is not searched either by tests that collect."""
    if hasattr(request.module, "gc"):
        pytest_collection_finish()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was left out."""
    if lacks := browsers.missing():
        terminalreporter.write_line(f"left out: the tests of pages in a browser, as {lacks}")
