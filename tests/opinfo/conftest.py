"""Without the folder of samples these tests are left out, and a line says so."""

from tests.opinfo.samples import FOLDER, PRESENT

collect_ignore = [] if PRESENT else ["test_opinfo.py"]


def pytest_report_header() -> str | None:
    return None if PRESENT else f"tests/opinfo: no samples of operators at {FOLDER}, so they are not tried"
