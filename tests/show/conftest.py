"""Pages of explanations, opened in a browser."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.browsers import CHROMIUM


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """One browser for the tests of a file; while it is open, an event loop counts as running in this thread."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any, tmp_path: Any) -> Iterator[Callable[..., Any]]:
    """opened(explanation, **options of the context): its page. What the console complains about fails the test."""
    complaints: list[str] = []
    with contextlib.ExitStack() as stack:

        def open_page(explanation: Any, **options: Any) -> Any:
            path = tmp_path / f"page{len(stack._exit_callbacks)}.html"
            text = explanation if isinstance(explanation, str) else explanation.html()
            path.write_text(text, encoding="utf-8")
            context = chromium.new_context(**({"viewport": {"width": 1300, "height": 850}} | options), offline=True)
            stack.callback(context.close)
            page = context.new_page()
            page.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
            page.on("pageerror", lambda problem: complaints.append(str(problem)))
            page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url))
            page.goto(path.as_uri())
            return page

        yield open_page
    assert not complaints
