"""Where output goes: tables with color in a terminal, plain text elsewhere."""

from __future__ import annotations

import os
import sys
from typing import Any

_WIDTH = 120  # where there is no terminal to ask


def console(width: int | None = None) -> Any:
    """A console of rich's on standard output. NO_COLOR and COLUMNS are respected."""
    from rich.console import Console

    if width is None and not is_terminal() and not os.environ.get("COLUMNS"):
        width = _WIDTH
    terminal = Console(file=sys.stdout, highlight=False, width=width)
    terminal.on_broken_pipe = _broken_pipe
    return terminal


def _broken_pipe() -> None:
    """What went wrong is told by the exit code, in one place; rich would leave at once with another one."""
    raise BrokenPipeError


def is_terminal() -> bool:
    """Is somebody looking?"""
    return sys.stdout.isatty()


def table(title: str, *columns: str, left: int = 1) -> Any:
    """A table; the first `left` columns are set to the left, the rest to the right."""
    from rich import box
    from rich.table import Table

    result = Table(
        box=box.SIMPLE_HEAD, header_style="bold", title=title or None, title_justify="left", title_style="bold"
    )
    for number, column in enumerate(columns):
        result.add_column(column, justify="left" if number < left else "right", overflow="fold")
    return result


def warn(command: str, message: str) -> None:
    """A remark beside the output."""
    print(f"adjoint {command}: {message}", file=sys.stderr)
