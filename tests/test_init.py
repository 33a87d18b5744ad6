"""The package's own names: each is loaded when it is first used, by whichever name a program begins with."""

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint as ad
from adjoint.base import errors

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src")}


def test_every_public_name_is_there() -> None:
    assert set(dir(ad)) == set(ad.__all__)
    assert {*ad._HOME_OF, "jit"} == set(ad.__all__)
    for name in ad._HOME_OF:
        value = getattr(ad, name)
        home = ad._HOME_OF[name]
        assert value is getattr(importlib.import_module(home), name)
        assert inspect.ismodule(value) == (home == "adjoint")


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'adjoint' has no attribute 'gradient'"):
        ad.gradient  # type: ignore[attr-defined]


def test_every_error_class_is_public() -> None:
    for name in errors.__all__:
        assert getattr(ad, name) is getattr(errors, name)
        assert name in ad.__all__


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, adjoint, adjoint.base.errors; print('numpy' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False"]


def test_the_first_compiled_call_loads_nothing_of_scipy() -> None:
    code = """if True:
        import sys, numpy as np, adjoint as ad
        ad.jit(ad.grad(lambda x: np.sum(np.sin(x) ** 2)))(np.ones(3))
        print(sorted(name for name in sys.modules if name.split(".")[0] == "scipy"))
    """
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# After whatever a program begins with, transformations find their rules, and NumPy's functions theirs.
FIRST = """
import importlib, sys
for name in {names}:
    for loaded in [module for module in sys.modules if module.split(".")[0] == "adjoint"]:
        del sys.modules[loaded]
    importlib.import_module(name)
    transforms = sys.modules.keys() & {{"adjoint.transform.drivers", "adjoint.transform.arguments"}}
    if transforms and not {{"adjoint.numpy", "adjoint.transform.tape_fast"}} <= sys.modules.keys():
        print(name)
"""


def test_whatever_is_imported_first_transformations_are_complete() -> None:
    by_themselves = {ad._HOME_OF[name] for name in ("scan", "trace", "checkpoint", "memory_report", "hessian")}
    code = FIRST.format(names=sorted({*by_themselves, "adjoint.jit.function"}))
    run = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr, run.stdout.split()) == (0, "", [])
