"""Exported functions: called, saved, loaded, and linked into C, equal to the functions they come from."""

import ctypes
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad

WEIGHTS = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def assert_close(a, b) -> None:
    """Equal leaf by leaf, but for rounding."""
    for x, y in zip(ad.tree.leaves(a), ad.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-14)


def network(x, params):
    hidden = np.tanh(x @ WEIGHTS + params["b"])
    return np.mean(np.sum(hidden * params["v"], axis=1))


def call_library(exported, folder, *arguments, sizes=()):
    """Call the shared library of an exported function; (status, results)."""
    files = exported.library(folder / exported.name)
    function = getattr(ctypes.CDLL(str(files["shared"])), exported.name)
    function.restype = ctypes.c_int64
    shapes = [tuple(dict(sizes).get(n, n) for n in t.shape) for t in exported.output_types]
    results = [np.empty(shape, t.dtype) for shape, t in zip(shapes, exported.output_types, strict=True)]
    given: list = [ctypes.c_int64(n) for _, n in sizes]
    kept = []
    for a in arguments:
        if isinstance(a, float):
            given.append(ctypes.c_double(a))
        elif isinstance(a, int):
            given.append(ctypes.c_int64(a))
        else:
            kept.append(np.ascontiguousarray(a))
            given.append(kept[-1].ctypes.data_as(ctypes.c_void_p))
    given += [r.ctypes.data_as(ctypes.c_void_p) for r in results]
    return function(*given, None), results


def test_call_equals_function() -> None:
    exported = ad.export(ad.value_and_grad(network, argnums=1), np.zeros((5, 3)), {"b": np.zeros(4), "v": np.zeros(4)})
    rng = np.random.default_rng(0)
    x, params = rng.normal(size=(5, 3)), {"b": rng.normal(size=4), "v": rng.normal(size=4)}
    assert_close(exported(x, params), ad.value_and_grad(network, argnums=1)(x, params))


def test_exported_functions_are_differentiated_and_mapped() -> None:
    exported = ad.export(lambda x: np.sum(np.sin(x) ** 2), np.zeros(3), name="f")
    x = np.array([0.3, -1.0, 2.0])
    assert_close(ad.grad(exported)(x), np.sin(2 * x))
    assert_close(
        ad.vmap(exported)(np.stack([x, 2 * x])), np.array([np.sum(np.sin(x) ** 2), np.sum(np.sin(2 * x) ** 2)])
    )
    assert_close(ad.jit(ad.hessian(exported))(x), np.diag(2 * np.cos(2 * x)))


@pytest.mark.parametrize("n", [1, 2, 7, 64, 1000])
def test_named_sizes(n: int) -> None:
    types = ad.ArrayType(("n", 3), np.float64), {"b": np.zeros(4), "v": np.zeros(4)}
    exported = ad.export(ad.value_and_grad(network), *types, name="network")
    rng = np.random.default_rng(n)
    x, params = rng.normal(size=(n, 3)), {"b": rng.normal(size=4), "v": rng.normal(size=4)}
    assert_close(exported(x, params), ad.value_and_grad(network)(x, params))


def test_named_sizes_behind_arrays_and_numbers_of_known_sizes(tmp_path: Path) -> None:
    f = lambda k, w, x: np.sum(np.tanh(k * x @ w), axis=0)
    exported = ad.export(f, 1.0, np.ones((2, 3)), ad.ArrayType(("n", 2), np.float64), name="f")
    exported.save(tmp_path / "f.adj")
    w, x = np.arange(6.0).reshape(2, 3), np.random.default_rng(0).normal(size=(7, 2))
    for made in (exported, ad.load(tmp_path / "f.adj")):
        assert_close(made(0.5, w, x), f(0.5, w, x))
        assert_close(made(np.float64(0.5), w, x[:5]), f(0.5, w, x[:5]))


def test_a_model_that_holds_a_function_is_saved_when_it_is_closed_over(tmp_path: Path) -> None:
    model, x = ad.nn.MLP.init(ad.random.default_rng(0), [2, 4, 1], activation=np.tanh), np.ones((3, 2))
    with pytest.raises(ad.ProgramError, match=r"tanh.*Close over the tree"):
        ad.export(lambda model, x: model(x), model, x).save(tmp_path / "f.adj")
    ad.export(lambda x: model(x), x).save(tmp_path / "f.adj")
    assert_close(ad.load(tmp_path / "f.adj")(x), model(x))


def test_several_named_sizes_and_their_products() -> None:
    f = lambda a, b: np.var(a @ b) + np.mean(np.concatenate([a.ravel(), b.ravel()]))
    exported = ad.export(f, ad.ArrayType(("n", "k"), np.float64), ad.ArrayType(("k", "m"), np.float64), name="f")
    for n, k, m in [(2, 3, 4), (1, 1, 1), (30, 7, 19)]:
        rng = np.random.default_rng(n)
        a, b = rng.normal(size=(n, k)), rng.normal(size=(k, m))
        assert_close(exported(a, b), f(a, b))


def test_saved_and_loaded(tmp_path: Path) -> None:
    exported = ad.export(ad.grad(network), np.zeros((5, 3)), {"b": np.zeros(4), "v": np.zeros(4)}, name="g")
    exported.save(tmp_path / "g.adj")
    loaded = ad.load(tmp_path / "g.adj")
    x, params = np.random.default_rng(0).normal(size=(5, 3)), {"b": np.ones(4), "v": np.arange(4.0)}
    np.testing.assert_array_equal(loaded(x, params), exported(x, params))
    assert loaded.header() == exported.header()


def test_loading_takes_the_machine_code_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ad.export(lambda x: np.exp(x) * 3.5, np.zeros(4), name="f").save(tmp_path / "f.adj")
    monkeypatch.setattr("adjoint.compile.kernel.compile_object", None)
    monkeypatch.setattr("adjoint.compile.kernel.object_for", None)
    assert_close(ad.load(tmp_path / "f.adj")(np.zeros(4)), np.full(4, 3.5))


def test_code_for_another_machine_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjoint.deployment.files.ABI", 0)
    ad.export(lambda x: x * 2, np.zeros(2), name="f").save(tmp_path / "f.adj")
    monkeypatch.undo()
    assert_close(ad.load(tmp_path / "f.adj")(np.ones(2)), np.full(2, 2.0))


def test_named_sizes_are_saved(tmp_path: Path) -> None:
    ad.export(lambda x: x - np.mean(x), ad.ArrayType(("n",), np.float64), name="center").save(tmp_path / "c.adj")
    assert_close(ad.load(tmp_path / "c.adj")(np.array([1.0, 2.0, 6.0])), np.array([-2.0, -1.0, 3.0]))


@pytest.mark.parametrize("member", ["code.o", "code.json", "program.json"])
def test_damaged_files_are_refused(tmp_path: Path, member: str) -> None:
    path, damaged = tmp_path / "f.adj", tmp_path / "damaged.adj"
    ad.export(lambda x: np.sin(x), np.zeros(4), name="f").save(path)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(damaged, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content if name != member else content[: len(content) // 2])
    with pytest.raises(ad.ProgramError, match="damaged"):
        ad.load(damaged)


def test_single_bytes_that_were_changed_are_noticed_or_do_not_matter(tmp_path: Path) -> None:
    path, x = tmp_path / "f.adj", np.arange(4.0)
    ad.export(lambda x: np.sin(x), x, name="f").save(path)
    content, refused = path.read_bytes(), 0
    for k in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:k] + bytes([content[k] ^ 65]) + content[k + 1 :])
        try:
            result = ad.load(path)(x)
        except ad.ProgramError:
            refused += 1
        else:
            assert_close(result, np.sin(x))
    assert refused > 20


def test_a_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "no.adj").write_bytes(b"not a program at all")
    with pytest.raises(ad.ProgramError, match="not a saved program"):
        ad.load(tmp_path / "no.adj")


@needs_compiler
@pytest.mark.parametrize("n", [1, 3, 8, 17, 500])
def test_library_of_named_sizes(tmp_path: Path, n: int) -> None:
    types = ad.ArrayType(("n", 3), np.float64), {"b": np.zeros(4), "v": np.zeros(4)}
    exported = ad.export(ad.value_and_grad(network), *types, name="network")
    rng = np.random.default_rng(n)
    x, b, v = rng.normal(size=(n, 3)), rng.normal(size=4), rng.normal(size=4)
    status, results = call_library(exported, tmp_path, x, b, v, sizes=[("n", n)])
    assert status == 0
    assert_close(results, ad.value_and_grad(network)(x, {"b": b, "v": v}))


@needs_compiler
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_products_of_any_size(tmp_path: Path, dtype: type) -> None:
    kinds = [ad.ArrayType(shape, np.dtype(dtype)) for shape in (("n", "k"), ("m", "k"))]
    exported = ad.export(lambda a, b: a @ b.T, *kinds, name="product")
    for n, k, m in [(1, 1, 1), (3, 5, 2), (9, 4, 33)]:
        rng = np.random.default_rng(n)
        a, b = (rng.normal(size=s).astype(dtype) + dtype(1) for s in ((n, k), (m, k)))
        status, (result,) = call_library(exported, tmp_path, a, b, sizes=[("n", n), ("k", k), ("m", m)])
        assert status == 0
        np.testing.assert_allclose(result, a @ b.T, rtol=1e-4 if dtype is np.float32 else 1e-12)


@needs_compiler
def test_checks_and_exceptions_are_statuses(tmp_path: Path) -> None:
    def root(x):
        if x < 0:
            raise ValueError("negative")
        y = 1.0
        while abs(y * y - x) > 1e-12:
            y = (y + x / y) / 2
        return y

    exported = ad.export(ad.value_and_grad(root), 1.0, name="root")
    status, (value, slope) = call_library(exported, tmp_path, 2.0)
    assert (status, round(float(value), 10), round(float(slope), 10)) == (0, 1.4142135624, 0.3535533906)
    assert call_library(exported, tmp_path, -2.0)[0] == -21


@needs_compiler
def test_index_out_of_bounds_is_a_status(tmp_path: Path) -> None:
    exported = ad.export(lambda x, i: x[i], np.zeros(4), np.int64(0), name="pick")
    assert call_library(exported, tmp_path, np.arange(4.0), 2)[1][0] == 2.0
    assert call_library(exported, tmp_path, np.arange(4.0), 9)[0] == -2


@needs_compiler
def test_singular_matrices_missing_arrays_and_sizes_are_statuses(tmp_path: Path) -> None:
    """In a loop and its derivative too, and valgrind finds nothing."""

    def settled(a, b):
        return np.sum(ad.scan(lambda c, t: (np.linalg.solve(a * t, c), None), b, np.ones(4))[0])

    iterated = lambda x: ad.while_loop(lambda s: np.sum(s * s) < 9.0, lambda s: s + np.sin(x) + x, x)
    square, vector = np.zeros((3, 3)), np.zeros(3)
    parts = {
        "slope": ad.export(ad.grad(settled), square, vector, name="slope"),
        "curve": ad.export(ad.hessian(lambda x: np.sum(iterated(x) ** 2)), ad.ArrayType(("n",), float), name="curve"),
    }
    for name, exported in parts.items():
        exported.library(tmp_path / name, shared=False, target="x86-64-v3" if platform.machine() == "x86_64" else None)
    (tmp_path / "main.c").write_text(
        """
#include <stdio.h>
#include "slope.h"
#include "curve.h"
int main(void) {
    double a[9] = {1, 2, 3, 2, 4, 6, 1, 0, 1}, b[3] = {1, 2, 3}, x[2] = {0.5, 0.25}, out[9];
    printf("%d", (int)slope(a, b, out, NULL));
    a[4] = 5;
    printf(" %d", (int)slope(a, b, out, NULL));
    printf(" %.6f", out[0]);
    printf(" %d %d %d", (int)slope(NULL, b, out, NULL), (int)slope(a, b, NULL, NULL), (int)curve(0, x, out, NULL));
    printf(" %d", (int)curve(2, x, out, NULL));
    printf(" %.6f %.6f", out[0], out[1]);
    return 0;
}
"""
    )
    command = ["cc", "-Wall", "-Werror", "main.c", "slope.o", "curve.o", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    checked = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"] if shutil.which("valgrind") else []
    done = subprocess.run([*checked, "./main"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    a, b, x = np.array([[1.0, 2, 3], [2, 5, 6], [1, 0, 1]]), np.array([1.0, 2, 3]), np.array([0.5, 0.25])
    curve = ad.hessian(lambda x: np.sum(iterated(x) ** 2))(x)
    expected = [-5, 0, ad.grad(settled)(a, b)[0, 0], -22, -22, -20, 0, curve[0, 0], curve[0, 1]]
    np.testing.assert_allclose([float(word) for word in done.stdout.split()], expected, atol=1e-6)


def c_program() -> str:
    """The program in C of the guide."""
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text(encoding="utf-8")
    return page.split("```c\n")[1].split("```")[0]


@needs_compiler
def test_a_program_in_c(tmp_path: Path) -> None:
    energy = lambda x: np.sum((x[1:] - x[:-1]) ** 2) + np.sum(x**3)
    ad.export(ad.value_and_grad(energy), ad.ArrayType(("n",), np.float64), name="energy").library(
        tmp_path / "energy", shared=False, target="x86-64-v3" if platform.machine() == "x86_64" else None
    )  # valgrind does not know wider vectors
    (tmp_path / "main.c").write_text(c_program())
    subprocess.run(["cc", "-Wall", "-Werror", "main.c", "energy.o", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    command = ["./main"]
    if shutil.which("valgrind"):
        command = ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", *command]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "38", "1", "12", "29"]


@pytest.mark.parametrize("target", ["aarch64", "x86-64-v3"])
def test_other_targets(tmp_path: Path, target: str) -> None:
    exported = ad.export(ad.grad(lambda x: np.sum(np.exp(x) @ x)), np.zeros((4, 4)), name="f")
    files = exported.library(tmp_path / "f", target=target)
    assert set(files) == {"object", "header"}
    machine = {"aarch64": 183, "x86-64-v3": 62}[target]  # of ELF
    assert int.from_bytes(files["object"].read_bytes()[18:20], "little") == machine
    assert "f" in exported.assembly(target)


def test_libraries_have_no_python() -> None:
    def noisy(x):
        ad.debug.callback(print, x)
        return x * 2

    with pytest.raises(ad.ProgramError, match=r"no library can be made, since callback.* is run by Python"):
        ad.export(noisy, 1.0).llvm()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_spectra_without_numpy(tmp_path: Path, dtype: type) -> None:
    """Of one line and of several, with their tables inside; lengths with other factors are refused."""
    x = np.linspace(0.0, 7.0, 360).astype(dtype) % 1

    def f(x):
        rows = np.reshape(x, (12, 30))
        return [np.abs(np.fft.fft(x)), np.fft.irfft(np.fft.rfft(x) ** 2), np.abs(np.fft.fft2(rows)), np.fft.ifft(x)[:9]]

    status, results = call_library(ad.export(f, x, name="spectra"), tmp_path, x)
    assert status == 0
    for got, want in zip(results, f(x), strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=(1e-12 if dtype == np.float64 else 1e-3))
    with pytest.raises(ad.ProgramError, match="fft is a function in C of NumPy's"):
        ad.export(lambda x: np.abs(np.fft.fft(x)), x[:11], name="f").llvm()


def test_derivatives_of_solutions_are_exported_without_their_warnings(tmp_path) -> None:
    def inverse(check):  # x³ + x = a
        solve = lambda a: ad.optimize.root_scalar(lambda x: x**3 + x - a, x0=1.0, check=check).value
        return ad.export(ad.value_and_grad(solve), 2.0, name="inverse")

    with pytest.raises(ad.ProgramError, match="give the solver check='ignore'"):
        inverse("warn").llvm()
    status, (x, slope) = call_library(inverse("ignore"), tmp_path, 10.0)
    assert status == 0
    assert_close((x, slope), (2.0, 1 / 13))


def test_refusals() -> None:
    with pytest.raises(ad.ProgramError, match="more than its sizes"):
        ad.export(lambda x: x + np.arange(x.shape[0]) ** 2, ad.ArrayType(("n",), np.float64))
    with pytest.raises(ValueError, match="name 'not a name'"):
        ad.export(np.sin, 1.0, name="not a name")
    with pytest.raises(ValueError, match="name 'int'"):
        ad.export(np.sin, 1.0, name="int")
    with pytest.raises(ValueError, match="name 'new'"):  # the header is for C++ as well
        ad.export(np.sin, 1.0, name="new")
    with pytest.raises(ValueError, match="target must be None"):
        ad.export(np.sin, 1.0, name="f").assembly("sparc")
    exported = ad.export(lambda x, y: x + y, *[ad.ArrayType(("n",), np.float64)] * 2, name="f")
    with pytest.raises(ad.ShapeError, match="the size n is 2 in one argument and 3 in"):
        exported(np.zeros(2), np.zeros(3))
    with pytest.raises(ad.ShapeError, match="has shape"):
        ad.export(lambda x: x, np.zeros(3), name="f")(np.zeros(4))


def test_a_fresh_process_loads_and_runs(tmp_path: Path) -> None:
    ad.export(ad.grad(network), np.zeros((5, 3)), {"b": np.zeros(4), "v": np.zeros(4)}, name="g").save(
        tmp_path / "g.adj"
    )
    code = (
        "import numpy as np, adjoint as ad\n"
        f"g = ad.load({str(tmp_path / 'g.adj')!r})\n"
        "print(g(np.ones((5, 3)), {'b': np.ones(4), 'v': np.ones(4)}).sum())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    expected = ad.grad(network)(np.ones((5, 3)), {"b": np.ones(4), "v": np.ones(4)}).sum()
    assert_close(float(done.stdout), expected)


def test_lowered_shows_the_stages() -> None:
    lowered = ad.jit(lambda x: np.sum(x * 2 + 0)).lower(ad.ArrayType((5,), np.float64))
    assert [len(p.equations) for p in (lowered.program, lowered.simplified)] == [3, 2]
    assert "define i64 @adjoint_kernel" in lowered.llvm
    assert "adjoint_kernel" in lowered.optimized
    assert "ret" in lowered.assembly
    assert "lowered" in repr(lowered)


@pytest.mark.parametrize(
    "decides",
    [
        lambda x, y: np.sum(x) if x.shape[0] > 3 else np.prod(x),
        lambda x, y: np.sum(x) if x.shape[0] % 2 else np.prod(x),
        lambda x, y: np.sum(x) / min(x.shape[0], 10),
        lambda x, y: np.sum(x) / (x.shape[0] // 2),
        lambda x, y: np.sum(x) if len(x) < len(y) else np.prod(y),
        lambda x, y: np.sum(x[: len(y)]) * np.sum(y),
        lambda x, y: np.sum(x) if x.shape == y.shape else np.prod(y),
        lambda x, y: np.squeeze(x) * 1.0,
    ],
)
def test_python_that_decides_by_named_sizes_is_refused(decides):
    with pytest.raises(ad.ProgramError, match=r"Python decides by a size|no formula|more than its sizes"):
        ad.export(decides, ad.ArrayType(("n",), np.float64), ad.ArrayType(("m",), np.float64))
