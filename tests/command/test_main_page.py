"""The commands on the page about the command line print what the page says."""

import re
import shlex
from pathlib import Path

import pytest

from tests.command.commands import ran

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "command_line.md").read_text(encoding="utf-8")


def shown() -> list[tuple[str, str]]:
    """Each command of the page with the output shown below it."""
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    return [(command, output) for command, _, output in (part.partition("\n") for part in parts)]


@pytest.mark.parametrize("command, output", shown())
def test_output_is_as_shown(command: str, output: str) -> None:
    name, *argv = shlex.split(command)
    assert name == "adjoint"
    found = ran(*argv)
    printed = re.sub(r"<(expression|statements)-\d+>", r"<\1>", found.out + found.err)
    pattern = ".*".join(re.escape("".join(piece.split())) for piece in output.split("…"))
    assert re.fullmatch(pattern, "".join(printed.split()), re.DOTALL), printed


def test_there_are_commands() -> None:
    assert len(shown()) >= 8
