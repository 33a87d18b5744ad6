"""Libraries that are written against the Array API standard take traced values."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.special

import adjoint as ad
import adjoint.numpy as xp
import adjoint.numpy.special

ROOT = Path(__file__).resolve().parents[2]


def test_scipy_and_scikit_learn() -> None:
    """Gradients through their code, against difference quotients."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "tests.numpy.array_api_libraries"]
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert len(found) == 41
    for name, (derivative, quotient) in found.items():
        assert derivative == pytest.approx(quotient, rel=1e-6, abs=1e-6), name


def test_special_functions_where_scipy_looks_for_them() -> None:
    assert xp.special is adjoint.numpy.special
    assert xp.special.erf is scipy.special.erf
    assert {"erf", "gammaln", "jv"} <= set(dir(xp.special))
    assert ad.grad(lambda x: xp.special.erf(x))(0.0) == pytest.approx(2 / np.sqrt(np.pi))
    with pytest.raises(AttributeError, match="'logsumexp' is none"):
        xp.special.logsumexp
