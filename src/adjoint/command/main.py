"""The command `adjoint`: which command, its options, and how errors become messages and exit codes."""

from __future__ import annotations

import argparse
import io
import os
import sys
import textwrap
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from adjoint.base.errors import AdjointError
from adjoint.base.suggestions import did_you_mean
from adjoint.command.failures import CommandError, Exit, said_of

# Each command is a module beside this one, loaded when it is chosen: `adjoint --version` need not wait for NumPy.
_COMMANDS = {
    "explain": "what a function and its derivative do, step by step: a table, a page, a picture",
    "check": "derivatives of a function against differences, in every mode and order",
    "bench": "how fast gradients are on this machine, beside NumPy written by hand",
    "doctor": "versions, processor, cache and threads of this machine, and what is wrong with them",
    "demo": "an example explained step by step, then a tour of what can be differentiated",
}

_EXIT_CODES = """
exit codes:
  0    done
  1    the answer is no: derivatives disagree, a number is not finite, something is wrong on this machine
  2    bad input: a command, expression, value, file or function that cannot be used
  130  interrupted (Ctrl-C)
  141  the reader of the output went away
"""

_USAGE = "adjoint [--version] [--help] [--traceback] <command> [...]"


def _help() -> str:
    rows = "\n".join(f"  {name:9}{summary}" for name, summary in _COMMANDS.items())
    return f"""usage: {_USAGE}

Derivatives of the NumPy code you already have, from the command line.

commands:
{rows}

examples:
  adjoint explain "sqrt(x**2 + exp(x**2)) + cos(x**2 + exp(x**2))" x=1.0
  adjoint explain "sum(sin(w * x)**2)" w=0.5 "x=[1, 2, 3]" --html out.html --open
  adjoint check model:loss --args weights.npz
  adjoint help explain

options:
  --help       this text; after a command, what that command takes
  --version    the version
  --traceback  with an error, where in Python it came from
{_EXIT_CODES}"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are ours."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}.\n{self.format_usage().strip()}")


def command(name: str) -> Any:
    """The module of a command: its `HELP`, `add_options` and `run`."""
    return import_module(f"adjoint.command.{name}")


def parser_of(name: str) -> argparse.ArgumentParser:
    """The options of one command."""
    module = command(name)
    parser = _Parser(
        prog=f"adjoint {name}",
        description=textwrap.dedent(module.HELP).strip(),
        epilog=_EXIT_CODES.strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add_options(parser)
    parser.add_argument("--traceback", action="store_true", help="with an error, show where in Python it came from")
    return parser


def _with_signs(argv: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Expressions may begin with a minus: a space in front keeps them from being read as options."""
    options = set(parser._option_string_actions)
    return [f" {word}" if word[:1] == "-" and word[:2] != "--" and word not in options else word for word in argv]


def run(argv: Sequence[str]) -> int:
    """Run a command; CommandError for bad input."""
    words = [word for word in argv if word != "--traceback"] if argv[:1] == ["--traceback"] else list(argv)
    match words:
        case [] | ["help"]:
            print(_help(), end="")
            return Exit.WELL if words else Exit.BAD_INPUT
        case ["--help" | "-h", *_]:
            print(_help(), end="")
            return Exit.WELL
        case ["--version" | "-V", *_]:
            print(f"adjoint {sys.modules['adjoint'].__version__}")
            return Exit.WELL
        case ["help", name, *_]:
            return run([name, "--help"])
        case [name, *rest] if name in _COMMANDS:
            parser = parser_of(name)
            options = parser.parse_args(_with_signs(rest, parser))
            return int(command(name).run(options))
        case [name, *_]:
            kind = "option" if name.startswith("-") else "command"
            known = ["--help", "--version", "--traceback"] if kind == "option" else _COMMANDS
            near = did_you_mean(name, known) or f"The commands are {', '.join(_COMMANDS)}."
            raise CommandError(f"There is no {kind} {name!r}. {near}")
    raise AssertionError(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `adjoint` with these arguments (the process's own by default) and return the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    name = argv[0] if argv and argv[0] in _COMMANDS else ""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # letters that the terminal does not have become question marks
            stream.reconfigure(errors="replace")
    try:
        code = run(argv)
        sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # Python would complain once more when it flushes the stream at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return Exit.INTERRUPTED
    except SystemExit as leaving:  # argparse, after --help
        return int(leaving.code or 0)
    except CommandError as error:
        return _fail(name, str(error), error.code, argv)
    except AdjointError as error:
        return _fail(name, said_of(error), Exit.BAD_INPUT, argv)
    except Exception as error:
        return _fail(name, said_of(error), Exit.BAD_INPUT, argv)


def _fail(name: str, message: str, code: Exit, argv: Sequence[str]) -> int:
    if "--traceback" in argv:
        traceback.print_exc()
    print(f"adjoint{name and ' '}{name}: error: {message}", file=sys.stderr)
    return int(code)
