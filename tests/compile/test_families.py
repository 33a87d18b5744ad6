"""Rules that are read when they are needed: none for a simple program, all of them for primitives of a family."""

import subprocess
import sys
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint.compile.families import FILES

ROOT = Path(__file__).resolve().parents[2]


def test_a_simple_program_waits_for_none() -> None:
    code = """
import sys, numpy as np, adjoint as ad
ad.jit(lambda x: np.sum(np.sin(x) @ x))(np.ones((3, 3)))
print(sorted(m for m in sys.modules if m in {"adjoint.compile.lapack", "adjoint.compile.convolutions"}))
fast = ad.jit(lambda x: np.linalg.svd(x)[1])
fast(np.eye(3))
print("adjoint.compile.factorizations" in sys.modules, fast.report().specializations[0].callbacks)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.split("\n")[:2] == ["[]", "True []"]


def test_files_exist() -> None:
    for files in FILES.values():
        for file in files:
            assert (ROOT / "src" / "adjoint" / "compile" / f"{file}.py").is_file()


def test_primitives_inside_loops_bring_their_rules() -> None:
    looped = ad.jit(lambda x: ad.scan(lambda c, t: (c, np.fft.fft(c * t)), x, np.ones(2))[1])
    np.testing.assert_allclose(looped(np.ones(4)), np.fft.fft(np.ones((2, 4))))
    assert looped.report().specializations[0].callbacks == []
