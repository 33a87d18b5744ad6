"""What libraries and machine code take besides arrays: predicted, and measured by the resident size of a process."""

import ctypes
import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import extend
from adjoint.memory.workspace import program_peak
from adjoint.ops.linalg.eigenvalues import AdaptedEig
from adjoint.ops.linalg.spectral import AdaptedEigh
from tests.memory.test_report import in_place, waves

ROOT = Path(__file__).parent.parent.parent
X = np.linspace(0.1, 1, 3_000_000)
RNG = np.random.default_rng(0)
A = RNG.normal(size=(700, 700)) / 30
B = RNG.normal(size=(900, 400))


def slots_for_all(x):
    return np.sum(ad.fori_loop(0, 20, lambda i, x: np.sin(x) * 1.01, x, checkpoint=4))


def eigenvectors(a):
    w, v = np.linalg.eigh(a + a.T)
    return np.sum(w**3) + np.sum(v**4)


def singular_values(b):
    return np.sum(np.linalg.svd(b, full_matrices=False)[1] ** 3)


def orthonormal(b):
    q, r = np.linalg.qr(b)
    return np.sum(q**3) + np.sum(np.abs(np.diag(r)))


def equations(a):
    return np.sum(np.linalg.solve(a + 3 * np.eye(700), np.ones((700, 300))) ** 2)


def single_precision(a):
    return np.sum(np.linalg.inv(a.astype(np.float32) + 3 * np.eye(700, dtype=np.float32)) ** 2)


def volume(a):
    return np.linalg.slogdet(a + 3 * np.eye(700))[1]


def exponential(a):
    return np.sum(ad.scipy.linalg.expm(a[:400, :400]) ** 2)


def half_spectrum(x):
    return np.sum(np.abs(np.fft.rfft(x)) ** 3)


inner = ad.jit(lambda x: np.tanh(np.sin(x) * x))
inner_loop = ad.jit(lambda x: ad.fori_loop(0, 8, lambda i, x: x + 0.01 * np.sin(x), x, checkpoint=3))


def calls(x):
    return np.sum(inner(inner(x)) ** 2)


def calls_of_loops(x):
    return np.sum(inner_loop(x) ** 2)


# What is freed goes back to the system at once, and pages are small.
ENVIRONMENT = dict(os.environ, NUMPY_MADVISE_HUGEPAGE="0", OPENBLAS_NUM_THREADS="1") | {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "MALLOC_TRIM_THRESHOLD_": "65536",
}
COMPILED = [waves, slots_for_all]
LIBRARIES = [
    *[(eigenvectors, A), (singular_values, B), (orthonormal, B), (equations, A), (single_precision, A), (volume, A)],
    *[(exponential, A), (half_spectrum, X)],
]
CALLS = [(calls, X), (calls_of_loops, X)]


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def beyond(run, times: int) -> int:
    """The largest resident size while something runs, beyond what there was before."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what was freed may still be resident, and would hide the peak
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    for _ in range(times):
        run()
    return resident("VmHWM") - before


def print_predicted_and_resident() -> None:
    """A line for each program.

    Compiled functions keep their workspaces: it is touched in the second call, as the first one has one of its own.
    Those that are called inside have been compiled by the report.
    """
    for f in COMPILED:
        run = ad.jit(ad.value_and_grad(f))
        predicted = ad.memory_report(ad.jit(f))(X).peak
        run(X)
        print(f.__name__, predicted, beyond(lambda run=run: run(X), 1))
    for f, x in LIBRARIES:
        ad.value_and_grad(f)(x)
        print(f.__name__, ad.memory_report(f)(x).peak, beyond(lambda f=f, x=x: ad.value_and_grad(f)(x), 1))
    for f, x in CALLS:
        print(f.__name__, ad.memory_report(f)(x).peak, beyond(lambda f=f, x=x: ad.value_and_grad(f)(x), 3))


if sys.platform == "linux":

    @pytest.mark.sweep
    def test_within_a_fifth_of_the_resident_size() -> None:
        code = "from tests.memory.test_workspace import *; print_predicted_and_resident()"
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
        found = {line.split()[0]: [int(n) for n in line.split()[1:]] for line in run.stdout.splitlines()}
        assert len(found) == len(COMPILED) + len(LIBRARIES) + len(CALLS)
        for name, (predicted, measured) in found.items():
            assert predicted == pytest.approx(measured, rel=0.2), name


def product(x):
    """The program that was traced holds arrays that the simplified one does not need."""
    return np.sum(ad.hvp(lambda x: np.sum(np.sin(x) * x**2), (x,), (np.ones(60_000),))[0] ** 2)


@pytest.mark.parametrize("f", [in_place, slots_for_all, product])
def test_what_compiled_functions_keep(f) -> None:
    x = X[:60_000].copy()
    predicted = ad.memory_report(ad.jit(f))(x).peak
    run = ad.jit(ad.value_and_grad(f))
    tracemalloc.start()
    try:
        run(x)
        gc.collect()
        tracemalloc.reset_peak()  # after what compiling took
        run(x)
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert predicted == pytest.approx(measured, rel=0.2)


def test_a_compiled_function_keeps_one_workspace() -> None:
    x = X[:60_000].copy()
    run = ad.jit(ad.value_and_grad(slots_for_all))
    workspace = next(p for p in ad.memory_report(ad.jit(slots_for_all))(x).parts if "workspace" in p.line).nbytes
    assert workspace > 4 * x.nbytes
    tracemalloc.start()
    try:
        for _ in range(3):
            run(x)
        gc.collect()
        held = [trace.size for trace in tracemalloc.take_snapshot().traces if trace.size > workspace / 2]
    finally:
        tracemalloc.stop()
    assert held == pytest.approx([workspace], rel=0.01)


@extend.primitive
class Doubled(extend.Linear):
    """z = 2 x, by way of three arrays of the same size."""

    def evaluate(self, *xs):
        return 2 * xs[0]

    def result_type(self, *types):
        return types[0]

    def transpose(self, ct, xs):
        return (2 * ct,)

    def batch(self, xs, mapped, size):
        return self(xs[0])

    def workspace(self, types, results):
        return 3 * types[0].nbytes


def test_primitives_from_outside_state_their_workspace() -> None:
    x = X[:60_000]
    plain = ad.memory_report(lambda x: np.sum(2 * x))(x)
    doubled = ad.memory_report(lambda x: np.sum(Doubled()(x)))(x)
    assert doubled.peak - plain.peak == pytest.approx(3 * x.nbytes, rel=0.01)


def test_factors_that_are_handed_on_are_counted_once() -> None:
    """Vectors of equal eigenvalues follow a direction: the factors are given again, with its derivative."""
    kind = ad.ArrayType((300, 300), np.dtype(np.float64))
    wide, values = (ad.ArrayType(shape, np.dtype(np.complex128)) for shape in ((300, 300), (300,)))
    for op, types in (
        (AdaptedEigh(), (kind, ad.ArrayType((300,), kind.dtype), kind)),
        (AdaptedEig(), (kind, values, wide)),
    ):
        program = ad.trace(lambda a, w, v, op=op: op(a, w, v)[1])(*types).program
        assert program_peak(program) == 0
