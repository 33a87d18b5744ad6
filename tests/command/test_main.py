"""The command as a whole: help, versions, unknown commands, exit codes, Ctrl-C and pipes."""

import os
import signal
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.command.failures import Exit
from adjoint.command.main import main, parser_of
from tests.command.commands import ran, refused

ROOT = Path(__file__).resolve().parent.parent.parent
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {"PYTHONPATH": str(ROOT / "src")}
COMMANDS = ["explain", "check", "bench", "doctor", "demo"]


def test_version() -> None:
    found = ran("--version")
    assert (found.code, found.out, found.err) == (0, f"adjoint {ad.__version__}\n", "")


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["explian"]])
def test_what_needs_no_numbers_does_not_wait_for_numpy(argv: list[str]) -> None:
    code = f"import sys; from adjoint.command.main import main; main({argv}); print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False"


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["help"]])
def test_help_names_every_command_and_exit_code(argv: list[str]) -> None:
    found = ran(*argv)
    assert (found.code, found.err) == (0, "")
    for name in COMMANDS:
        assert f"\n  {name} " in found.out
    for code in Exit:
        assert f"\n  {code.value:<5}" in found.out
    assert max(map(len, found.out.splitlines())) <= 120


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    found = ran(name, "--help")
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(f"usage: adjoint {name} ")
    assert found.out == ran("help", name).out
    for action in parser_of(name)._actions:
        assert action.help


def test_no_command_shows_the_help() -> None:
    found = ran()
    assert found.code == 2
    assert "commands:" in found.out


@pytest.mark.parametrize(
    "argv, meant",
    [
        (["explian", "x"], "Did you mean explain?"),
        (["Check"], "Did you mean check?"),
        (["doctro"], "Did you mean doctor?"),
        (["xyz"], "The commands are explain, check, bench, doctor, demo."),
        (["--verson"], "Did you mean --version?"),
    ],
)
def test_unknown_commands_get_a_suggestion(argv: list[str], meant: str) -> None:
    assert meant in refused(*argv)


@pytest.mark.parametrize(
    "argv, said",
    [
        (["explain"], "the following arguments are required: target"),
        (["explain", "x", "x=1", "--mode", "sideways"], "invalid choice: 'sideways'"),
        (["bench", "--secnods", "1"], "unrecognized arguments: --secnods"),
        (["check", "x", "x=1", "--order", "two"], "invalid int value: 'two'"),
    ],
)
def test_wrong_options(argv: list[str], said: str) -> None:
    message = refused(*argv)
    assert said in message
    assert f"usage: adjoint {argv[0]}" in message


def test_traceback_on_request() -> None:
    for argv in (["--traceback", "explain", "sqr(x)", "x=1"], ["explain", "sqr(x)", "x=1", "--traceback"]):
        found = ran(*argv)
        assert found.code == 2
        assert "Traceback (most recent call last)" in found.err
        assert "Did you mean sqrt?" in found.err


def test_the_installed_command_is_this_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert EntryPoint("adjoint", project["scripts"]["adjoint"], "console_scripts").load() is main


def test_as_a_module() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "adjoint", "check", "-x**2", "x=3", "--order", "1"],
        env=ENVIRONMENT, capture_output=True, text=True, check=False, encoding="utf-8",
    )  # fmt: skip
    assert (run.returncode, run.stderr) == (0, "")
    assert "All 3 comparisons agree" in run.stdout
    assert "the value is -9" in run.stdout
    assert "\x1b" not in run.stdout  # no colors where there is no terminal


def test_letters_that_the_output_does_not_have() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "adjoint", "explain", "θ**2", "θ=3"],
        env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert b"?" in run.stdout
    assert run.stdout.isascii()


def test_control_c(tmp_path: Path) -> None:
    slow = "import time\n\ndef f(x):\n    print('ready', flush=True)\n    time.sleep(60)\n    return x\n"
    (tmp_path / "slow.py").write_text(slow, encoding="utf-8")
    command = [sys.executable, "-m", "adjoint", "check", "slow:f", "x=1.0"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # where the tests run in the background, the signal is ignored, and children inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, "", "\ninterrupted\n")


@pytest.mark.parametrize("argv", [["doctor"], ["explain", "sin(x)", "x=1"]])
def test_a_reader_that_goes_away(argv: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "adjoint", *argv]
    run = subprocess.run(command, env=ENVIRONMENT, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (run.returncode, run.stderr) == (141, "")
