"""How the demonstration speaks: headings, code, tables, and numbers that are checked as they are shown."""

from __future__ import annotations

from typing import Any, final

from adjoint.command.failures import CommandError, Exit
from adjoint.command.printing import console


@final
class Stage:
    """Prints to the terminal, a hundred columns wide; counts what was checked."""

    def __init__(self) -> None:
        self.console = console(width=100)
        self.checks = 0
        self.chapters = 0

    def print(self, *things: Any) -> None:
        """Text with rich's markup, or tables and panels."""
        self.console.print(*things)

    def panel(self, text: str, style: str = "cyan") -> None:
        """Text in a frame."""
        from rich.panel import Panel

        self.print(Panel.fit(text, border_style=style, padding=(0, 2)))

    def heading(self, title: str) -> None:
        """The next chapter."""
        self.chapters += 1
        self.console.print()
        self.console.rule(f"[bold cyan]{self.chapters}[/]  [bold]{title}[/]", style="cyan", align="left")

    def code(self, text: str) -> None:
        """Python, in colors."""
        from rich.syntax import Syntax

        shown = Syntax(text.strip("\n"), "python", background_color="default", theme="ansi_dark", padding=(0, 2))
        self.print(shown)

    def table(self, *columns: str) -> Any:
        """A table of numbers; the first column has names."""
        from rich import box
        from rich.table import Table

        result = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=True)
        for column in columns:
            result.add_column(column, justify="right")
        result.columns[0].justify = "left"
        return result

    def verdict(self, text: str, error: float, tolerance: float) -> None:
        """Say how well two ways to a number agree; stop when they do not."""
        if not error <= tolerance:
            raise CommandError(f"{text}: off by {error:.1e}, more than {tolerance:.0e}.", Exit.NO)
        self.checks += 1
        self.print(f"  [green]✓[/] {text}: [bold]{error:.1e}[/]")
