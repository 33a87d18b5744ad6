"""Fills in docs/how_it_works.md: the tables below its code, and the pictures that it shows.

Run it from anywhere: `python tools/guide.py`. The page's code runs block by block. A ```text block after it becomes
what the block printed, and a picture in docs/pictures/how_it_works/ becomes the graph of `explained`.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "how_it_works.md"
PIECE = re.compile(
    r"(?P<code>^```python\n.*?^```$)|(?P<text>^```text\n.*?^```$)|(?P<picture>\(pictures/how_it_works/[\w-]+\.svg\))",
    re.MULTILINE | re.DOTALL,
)


def filled(page: str, name: str) -> Iterator[tuple[str, str | None, Any]]:
    """The page piece by piece: (text of the piece, None or the name of a picture, what the picture shows)."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    linecache.cache[name] = (len(page), None, page.splitlines(keepends=True), name)  # so that loops find their source
    printed, end = "", 0
    for match in PIECE.finditer(page):
        yield page[end : match.start()], None, None
        end = match.end()
        if match["code"]:
            line = page.count("\n", 0, match.start()) + 1
            code = match["code"].removeprefix("```python\n").removesuffix("```")
            output = io.StringIO()
            with contextlib.redirect_stdout(output):
                exec(compile("\n" * line + code, name, "exec"), namespace)  # the code of our own page
            printed = output.getvalue().rstrip("\n")
            yield match[0], None, None
        elif match["text"]:
            yield f"```text\n{printed}\n```", None, None
        else:
            yield match[0], match["picture"].strip("()"), namespace["explained"]
    yield page[end:], None, None


def main() -> None:
    """Write the page and its pictures anew."""
    before, after = "", PAGE.read_text(encoding="utf-8")
    while before != after:  # the tables name lines of the page, which move while tables grow
        before, pieces = after, []
        for text, picture, explained in filled(before, PAGE.name):
            pieces.append(text)
            if picture is not None:
                path = DOCS / picture
                path.parent.mkdir(parents=True, exist_ok=True)
                explained.svg(path)
        after = "".join(pieces)
    PAGE.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
