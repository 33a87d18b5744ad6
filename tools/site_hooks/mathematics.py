"""MkDocs hook: mathematics between dollars becomes MathML while the site is built, so pages need no script for it."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

# What pymdownx.arithmatex (generic: true) leaves of $…$ and $$…$$.
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def on_page_content(content: str, **_: Any) -> str:
    content = DISPLAY.sub(lambda match: convert(html.unescape(match[1]).strip(), display="block"), content)
    return INLINE.sub(lambda match: convert(html.unescape(match[1])), content)
