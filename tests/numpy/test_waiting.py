"""Files of functions are read when one of their functions is first asked for, and answer for those that are stated."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import adjoint
import adjoint.numpy as adn
from adjoint.numpy import waiting
from adjoint.ops.operators import FUNCTIONS

ROOT = Path(adjoint.__file__).parents[1]


def run(code: str, **settings: str) -> list[str]:
    """The words that a fresh process prints."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("file", waiting.FILES)
def test_a_file_answers_for_what_is_stated(file: str) -> None:
    module = import_module(f"adjoint.numpy.{file}").__name__
    stated = [waiting._find(name) for name in waiting.FILES[file].split()]
    answered = [theirs for theirs, ours in FUNCTIONS.items() if ours.__module__ == module]
    assert [f for f in stated if f is not None and f not in FUNCTIONS] == []
    assert [f.__name__ for f in answered if f not in stated] == []


def test_a_file_answers_for_its_module() -> None:
    import_module("adjoint.numpy.fourier")
    answered = [theirs for theirs, ours in FUNCTIONS.items() if ours.__module__ == "adjoint.numpy.fourier"]
    assert len(answered) >= 16
    assert {f.__module__ for f in answered} == set(waiting.WHOLE)


def test_only_what_a_program_uses_is_read(tmp_path: Path) -> None:
    """From the disk cache: neither the compiler, nor the rules of primitives that the program does not have."""
    code = """
import sys
import numpy as np
import adjoint as ad
def f(W, x):
    return np.sum(np.tanh(W @ x) ** 2) + np.max(x)
print(ad.jit(ad.value_and_grad(f))(np.eye(2), np.arange(2.0))[0])
print(*[name for name in WANTED if name in sys.modules])
"""
    unused = [
        "adjoint.compile.lower", "adjoint.simplify", "llvmlite", "adjoint.ops.linalg.determinant",
        "adjoint.ops.linalg.spectral", "adjoint.numpy.linear_algebra", "adjoint.numpy.fourier", "numpy.fft",
        "adjoint.numpy.sets", "numpy.polynomial", "difflib", "_hashlib", "random", "sysconfig", "adjoint.ops.special",
    ]  # fmt: skip
    text = code.replace("WANTED", repr(unused))
    first = run(text, ADJOINT_CACHE_DIR=str(tmp_path / "kept"), ADJOINT_CACHE="1")
    assert "adjoint.compile.lower" in first  # compiled there
    again = run(text, ADJOINT_CACHE_DIR=str(tmp_path / "kept"), ADJOINT_CACHE="1")
    assert again == first[:1]


def test_functions_are_found_when_they_are_called() -> None:
    code = """
import numpy as np
import adjoint as ad
import adjoint.numpy as adn
x = np.array([1.0, 2.0, 4.0])
print(round(float(ad.grad(lambda t: np.linalg.det(np.diag(t)))(x)[0]), 6))
print(round(float(np.real(ad.grad(lambda t: np.real(np.fft.fft(t))[0])(x)[1])), 6))
print(ad.jit(lambda t: np.median(t))(x), ad.jit(lambda t: adn.polynomial.polynomial.polyval(2.0, t))(x))
print(adn.fft.fft is not None, adn.linalg.norm(x) > 4, adn.polynomial.Polynomial([1, 2])(3.0))
"""
    assert run(code) == ["8.0", "1.0", "2.0", "21.0", "True", "True", "7.0"]


def test_names_that_nobody_has() -> None:
    with pytest.raises(AttributeError, match="neither has NumPy"):
        adn.no_such_name
    assert adn.linalg is import_module("adjoint.numpy.linalg")
    np.testing.assert_allclose(adn.fft.fft([1.0, 2.0]), [3.0, -1.0])
