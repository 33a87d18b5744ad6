"""Files that are read when something in them is first used."""

import subprocess
import sys

import pytest

from adjoint.base.loading import deferred


def test_the_file_is_read_by_the_first_call() -> None:
    code = """
import sys
from adjoint.base.loading import deferred
rot = deferred("colorsys", "rgb_to_hls")
print("colorsys" in sys.modules, rot(1.0, 1.0, 1.0), "colorsys" in sys.modules, rot.__name__, rot.__module__)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False (0.0, 1.0, 0.0) True rgb_to_hls colorsys"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        deferred("colorsys", "nonsense")()


def test_code_from_the_disk_needs_neither_llvm_nor_what_writes_it(tmp_path: object) -> None:
    code = """
import sys
import numpy as np
import adjoint as ad
f = ad.jit(ad.value_and_grad(lambda x, a: np.sum(np.tanh(a @ x) ** 2) + np.linalg.det(a)))
print(f(np.arange(3.0), np.eye(3))[0])
heavy = ("llvmlite", "adjoint.simplify", "adjoint.compile.lower", "adjoint.compile.emit", "adjoint.compile.ir")
print(*[name for name in heavy if name in sys.modules])
"""
    runs = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={"ADJOINT_CACHE_DIR": f"{tmp_path}/kept", "ADJOINT_CACHE": "1", "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0]
    assert "llvmlite" in runs[0][1]
    assert runs[1][1:] == [""]


def test_what_loading_makes_is_old_and_what_users_froze_stays_frozen() -> None:
    code = """
import gc
from adjoint.base.garbage import loading

def young(things):
    ids = {id(thing) for generation in (0, 1) for thing in gc.get_objects(generation)}
    return sum(id(thing) in ids for thing in things)

with loading():
    made = [[] for _ in range(1000)]
    inside = gc.isenabled()
print(inside, gc.isenabled(), young(made), gc.get_freeze_count())
gc.freeze()
before = gc.get_freeze_count()
with loading():
    others = [[] for _ in range(100)]
print(young(others), gc.get_freeze_count() == before > 0)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["False True 0 0", "100 True"]


def test_functions_keep_their_names_when_files_of_the_same_name_are_read() -> None:
    code = """
import adjoint.optimize.bilevel, adjoint.optimize.least_squares.fitting, adjoint.optimize.sets
from adjoint import optimize
from inspect import isfunction, ismodule
import adjoint.implicit.report
from adjoint import implicit, linear
print(isfunction(optimize.bilevel), isfunction(optimize.least_squares), isfunction(implicit.report))
print(ismodule(optimize.sets), ismodule(optimize.updates), "adjoint.optimize.saddle" in __import__("sys").modules)
print(*[dir(p) == sorted(p.__all__) for p in (optimize, implicit, linear, optimize.sets)])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["True True True", "True True False", "True True True True"]


def test_a_minimization_reads_its_own_method_alone() -> None:
    code = """
import sys
import numpy as np
from adjoint import optimize
found = optimize.minimize(lambda x: np.sum((x - 1.0) ** 2), np.zeros(3), method="bfgs")
others = ("adjoint.sparse", "adjoint.simplify", "adjoint.linear.operators.maps", "adjoint.optimize.second_order.newton",
          "adjoint.optimize.constrained.solving", "adjoint.optimize.composite.proximal_gradient", "scipy.linalg")
print(found.converged, *[name for name in others if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True"]
