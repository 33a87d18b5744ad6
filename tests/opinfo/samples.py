"""Frozen samples of operators, from a folder beside this project: inputs, outputs, derivatives computed elsewhere.

`fault(sample)` runs one: the value, the reverse-mode derivative, the forward-mode one, and the second derivative.
`compiled_fault(sample)` compares value and reverse-mode derivative, compiled, with the same uncompiled.
"""

import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np

import adjoint as ad
from adjoint.scipy import linalg
from tests.opinfo.place import FOLDER

TOLERANCE = {"value": 1e-9, "vjp": 1e-7, "jvp": 1e-7, "hvp": 1e-6}
TOLERANCE_COMPILED = 1e-10  # between the same formulas, compiled and not


def module(name: str) -> ModuleType:
    """A file of the folder as a module (they import each other by their bare names)."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = loaded = importlib.util.module_from_spec(spec)
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # the folder is not ours
        spec.loader.exec_module(loaded)
        sys.dont_write_bytecode = written
    return sys.modules[name]


def load() -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The operators as functions, and the samples of each."""
    module("xp_linalg").use(linalg)
    module("xp_nn")
    operators = module("ops").OPS
    by_operator: dict[str, list[Any]] = {}
    for sample in module("load").samples(FOLDER / "data.npz"):
        by_operator.setdefault(sample.op, []).append(sample)
    return operators, by_operator


def mismatch(what: str, got: list[Any], want: list[Any], tolerance: float) -> str | None:
    """What differs, or None. Small elements are compared on the scale of the largest: cancellation made them."""
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        g = np.asarray(g)
        if g.shape != w.shape:
            return f"{what}[{k}]: shape {g.shape} instead of {w.shape}"
        finite = np.abs(w[np.isfinite(w)])
        scale = max(1e-6, np.max(finite, initial=0.0))
        wrong = ~np.isclose(g, w, rtol=tolerance, atol=0.1 * tolerance * scale, equal_nan=True)
        if np.any(wrong):
            return f"{what}[{k}]: {np.ravel(g[wrong])[:3]} instead of {np.ravel(w[wrong])[:3]}"
        if g.dtype.kind != w.dtype.kind:
            return f"{what}[{k}]: {g.dtype} instead of {w.dtype}"
    return None


def listed(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple) else [y]


def fault(sample: Any, operator: Any, tolerance: dict[str, float], *, derivatives: bool = True) -> str | None:
    """The first thing that is wrong with one sample, or None. Errors are faults too."""
    try:
        with np.errstate(all="ignore"):
            return _fault(sample, operator, tolerance, derivatives)
    except Exception as problem:
        return f"{type(problem).__name__}: {' '.join(str(problem).split())[:220]}"


def _fault(sample: Any, operator: Any, tolerance: dict[str, float], derivatives: bool) -> str | None:
    def f(*inputs: Any) -> Any:
        return sample.call(operator, *inputs)

    y, pull = ad.vjp(f, *sample.inputs)
    if found := mismatch("value", listed(y), sample.outputs, tolerance["value"]):
        return found
    if not derivatives:
        return None
    several = isinstance(y, tuple)

    def cotangent(u: list[Any]) -> Any:
        return tuple(u) if several else u[0]

    if found := mismatch("vjp", list(pull(cotangent(sample.cotangents))), sample.vjp, tolerance["vjp"]):
        return found
    _, dy = ad.jvp(f, tuple(sample.inputs), tuple(sample.tangents))
    if found := mismatch("jvp", listed(dy), sample.jvp, tolerance["jvp"]):
        return found
    if sample.hvp is None:
        return None

    def paired(*inputs: Any) -> Any:
        gradients = ad.vjp(f, *inputs)[1](cotangent(sample.cotangents))
        return sum(np.sum(np.real(np.conj(v) * g)) for g, v in zip(gradients, sample.tangents, strict=True))

    places = tuple(range(len(sample.inputs)))
    return mismatch("hvp", list(ad.grad(paired, argnums=places)(*sample.inputs)), sample.hvp, tolerance["hvp"])


def compiled_fault(sample: Any, operator: Any, *, derivatives: bool = True) -> str | None:
    """What is different when a sample is compiled, or None: its value, its reverse-mode derivative, how it runs."""
    try:
        with np.errstate(all="ignore"):
            return _compiled_fault(sample, operator, derivatives)
    except Exception as problem:
        return f"{type(problem).__name__}: {' '.join(str(problem).split())[:220]}"


def _compiled_fault(sample: Any, operator: Any, derivatives: bool) -> str | None:
    def f(*inputs: Any) -> Any:
        return sample.call(operator, *inputs)

    def pulled(*inputs: Any) -> Any:
        y, pull = ad.vjp(f, *inputs)
        return pull(tuple(sample.cotangents) if isinstance(y, tuple) else sample.cotangents[0])

    for what, function in {"value": f, "vjp": pulled}.items() if derivatives else [("value", f)]:
        compiled = ad.jit(function)
        want = [np.asarray(y) for y in listed(function(*sample.inputs))]
        for _ in range(2):  # the second call enters the machine code without Python
            got = listed(compiled(*sample.inputs))
            if found := mismatch(f"compiled {what}", got, want, TOLERANCE_COMPILED):
                return found
        for k, (g, w) in enumerate(zip(got, want, strict=True)):
            if np.asarray(g).dtype != w.dtype:
                return f"compiled {what}[{k}]: {np.asarray(g).dtype} instead of {w.dtype}"
        report = compiled.report()
        if report.eager_calls or [one.how for one in report.specializations] != ["compiled"]:
            return f"{what} is not compiled: {report}"
    return None
