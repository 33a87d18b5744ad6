"""Without the folder of samples these tests are left out; the header of the run says so.

The samples stand in one table: that compiled functions do not watch it is said by a warning, and no fault here.
"""

from pathlib import Path

import pytest

from tests.opinfo.place import PRESENT

collect_ignore = [] if PRESENT else ["test_opinfo.py", "test_opinfo_compiled.py", "test_opinfo_signal.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:jit of .* changes inside"))
