"""Without the folder of samples these tests are left out; the header of the run says so."""

from tests.opinfo.place import PRESENT

collect_ignore = [] if PRESENT else ["test_opinfo.py", "test_opinfo_compiled.py", "test_opinfo_signal.py"]
