"""`adjoint doctor`: facts about this machine, and problems with remedies."""

import json
from pathlib import Path

import numpy as np
import pytest

from adjoint.base.config import config
from adjoint.command import doctor
from adjoint.compile import machine
from tests.command.commands import ran


def findings(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, doctor.Finding]:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    config.reset()
    return {f"{finding.part} {finding.name}": finding for finding in doctor.findings()}


@pytest.fixture(autouse=True)
def _fresh_settings():
    yield
    config.reset()


def test_a_machine_in_order() -> None:
    found = ran("doctor")
    assert (found.code, found.err) == (0, "")
    for word in (np.__version__, "LLVM", machine.host()[0], "cores", "BLAS", "entries", "right to", "All is well."):
        assert word in found.out


def test_json() -> None:
    found = {(row["part"], row["name"]): row["value"] for row in json.loads(ran("doctor", "--json").out)}
    assert found["versions", "numpy"] == np.__version__
    assert found["gradients", "compiled"].startswith("right to")


def test_a_folder_that_others_may_write_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    found = findings(monkeypatch, ADJOINT_CACHE_DIR=str(tmp_path))["cache folder"]
    assert found.state == doctor.WRONG
    assert "others may write here" in found.value
    assert "ADJOINT_CACHE_DIR" in found.remedy
    told = ran("doctor")
    assert told.code == 1
    assert "1 problem." in told.out


def test_a_cache_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(monkeypatch, ADJOINT_CACHE="0")["cache folder"].value == "switched off"
    assert ran("doctor").code == 0


def test_unknown_settings_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(monkeypatch, ADJOINT_CHACHE="0", ADJOINT_PROGRESS="0")
    assert found["settings ADJOINT_CHACHE"].state == doctor.REMARK
    assert "progress = False" in found["settings changed"].value


def test_threads_that_are_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(monkeypatch, OMP_NUM_THREADS="many")["threads OMP_NUM_THREADS"].state == doctor.WRONG


def test_packages_that_are_missing_or_old(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"numpy": "1.26.4", "rich": "13.0", "llvmlite": "0.44"}
    monkeypatch.setattr(doctor, "find_version", known.get)
    found = findings(monkeypatch)
    assert found["versions numpy"].remedy == "pip install 'numpy>=2.0'"
    assert found["versions scipy"] == doctor.Finding(
        "versions", "scipy", "not installed", doctor.WRONG, "pip install scipy"
    )
    assert "adjoint[plot]" in found["versions matplotlib"].value
    assert found["versions rich"].state == doctor.WELL
    assert ran("doctor").code == 1


def test_a_compiler_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("no such library")

    monkeypatch.setattr(machine, "host", refuse)
    found = [finding for finding in doctor.processor() if finding.name == "LLVM"]
    assert found[0].state == doctor.WRONG
    assert "no such library" in found[0].value
