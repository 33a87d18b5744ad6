"""The programs of the gallery run; they check their own numbers and stop when one is off."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize(
    "name, arguments, marks",
    [
        ("pendulum_swing_up", (), 1),
        ("gaussian_process", (25,), 2),
        ("hanging_net", (6,), 1),
        pytest.param("hyper_cleaning", (300, 10), 2, marks=pytest.mark.sweep),
        ("reference_fit", (500,), 3),
        ("coefficient_field", (16, 80), 2),
        pytest.param("language_model", (60.0, 100), 1, marks=pytest.mark.sweep),
        ("lasso_path", (12,), 3),
        pytest.param("model_predictive_control", (20,), 3, marks=pytest.mark.sweep),
        pytest.param("portfolio", (8,), 3, marks=pytest.mark.sweep),
        pytest.param("predator_and_prey", (5,), 3, marks=pytest.mark.sweep),
        pytest.param("bouncing_ball", (3,), 4, marks=pytest.mark.sweep),
        pytest.param("neural_equation", (400,), 3, marks=pytest.mark.sweep),
        pytest.param("dosing", (60,), 2, marks=pytest.mark.sweep),
        pytest.param("two_moons", (150,), 3, marks=pytest.mark.sweep),
        ("digits", (30,), 3),
    ],
)
def test_program(name: str, arguments: tuple[int, ...], marks: int, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / f"{name}.py"))["main"](*arguments)
    assert capsys.readouterr().out.count("✓") == marks


def test_every_program_is_in_the_gallery() -> None:
    gallery = (ROOT / "docs" / "examples" / "index.md").read_text(encoding="utf-8")
    for program in (ROOT / "examples").glob("*.py"):
        assert f"({program.stem}.md)" in gallery
        page = (ROOT / "docs" / "examples" / f"{program.stem}.md").read_text(encoding="utf-8")
        assert f'--8<-- "examples/{program.name}"' in page
