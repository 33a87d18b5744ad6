"""Solvers tell their iterations when they are asked, and in a block that shows all long work."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import linear
from adjoint.base import progress as module

MATRIX = np.diag(np.linspace(1.0, 3.0, 12))


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", -1.0)


def test_silent_unless_asked(capsys):
    linear.cg(MATRIX, np.ones(12))
    assert capsys.readouterr().err == ""


def test_a_block_that_shows_all_work(capsys):
    with ad.progress.showing():
        linear.cg(MATRIX, np.ones(12))
        ad.grad(lambda b: np.sum(linear.cg(MATRIX, b).value))(np.ones(12))
    shown = capsys.readouterr().err
    assert "cg: " in shown
    assert "residual=" in shown
    linear.cg(MATRIX, np.ones(12))
    assert capsys.readouterr().err == ""


def test_compiled_functions_keep_quiet_in_it(capsys):
    with ad.progress.showing():
        ad.jit(lambda b: linear.cg(MATRIX, b).value)(np.ones(12))
    assert capsys.readouterr().err == ""


def test_colorings_are_shown_too(capsys):
    with ad.progress.showing():
        ad.sparse.jacobian(lambda x: x[1:] * x[:-1] + x[1:])(np.ones(30))
    assert "coloring: " in capsys.readouterr().err
