"""Which browser the tests of pages run in: Debian's chromium, driven by Playwright."""

import importlib.util
import os
import shutil

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
REQUIRED = os.environ.get("ADJOINT_BROWSER") == "required"


def missing() -> str:
    """What is not there; "" when pages can be opened."""
    if CHROMIUM is None:
        return "there is no chromium here (apt-get install chromium)"
    return "" if importlib.util.find_spec("playwright") else "playwright is not installed (pip install playwright)"
