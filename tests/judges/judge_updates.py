"""Update rules and schedules: the numbers of tests/data/updates.json, computed again by PyTorch and optax."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch

ROOT = Path(__file__).parents[2]
FROZEN = json.loads((ROOT / "tests/data/updates.json").read_text())


def load_tool() -> Any:
    spec = importlib.util.spec_from_file_location("update_references", ROOT / "tools/update_references.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    jax.config.update("jax_enable_x64", True)
    return tool


TOOL = load_tool()


@pytest.mark.parametrize("name", FROZEN["torch"])
def test_torch(name: str) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        np.testing.assert_allclose(TOOL.run_torch(name), FROZEN["torch"][name], rtol=1e-12, atol=1e-14)
    finally:
        torch.set_default_dtype(before)


@pytest.mark.parametrize("name", FROZEN["optax"])
def test_optax(name: str) -> None:
    np.testing.assert_allclose(TOOL.run_optax(name), FROZEN["optax"][name], rtol=1e-12, atol=1e-14)
