"""Every function that takes traced values, and control flow, compiled under and over the transformations.

The functions of a subject are compiled together; where something differs, each is tried alone to say which it is.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.jit.function import Jitted
from adjoint.ops.elementwise.pointwise import BY_NAME
from adjoint.ops.operators import FUNCTIONS as IMPLEMENTED
from tests.support.matrix_algebra import Function, X, words
from tests.support.matrix_functions import FUNCTIONS, SHAPES_BY_VALUE, UFUNCS

V = np.array([0.5, -1.0, 2.0, 0.7])
NEAR = (1.0, 0.97, 1.02)  # lanes take the same branches
Pair = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # compiled, and not

# They give texts, dtypes, facts, counts or places; polynomials whose degree depends on values have tests of their own.
NOT_TRIED = set(
    words(
        "array2string array_repr array_str can_cast common_type einsum_path min_scalar_type result_type iscomplexobj "
        "isrealobj may_share_memory shares_memory ndim shape size amax amin "
        "histogram histogram2d histogramdd histogram_bin_edges packbits unpackbits ravel_multi_index unravel_index "
        "polydiv roots"
    )
)


def floats(y: Any) -> list[Any]:
    """The results that have derivatives."""
    return [leaf for leaf in ad.tree.leaves(y) if leaf.dtype.kind in "fc"]


def scalar(f: Function) -> Function:
    """A weighted sum of all results."""

    def weighted(x: Any) -> Any:
        leaves = [np.ravel(np.real(leaf)) for leaf in [0.1 * x, *floats(f(x))]]
        return np.sum(np.concatenate(leaves) * np.cos(np.arange(sum(leaf.size for leaf in leaves))))

    return weighted


def of(transformed: Callable[[Function], Function]) -> Callable[[Function], Pair]:
    """jit outside."""
    return lambda f: (ad.jit(transformed(f)), transformed(f))


def inside(transformed: Callable[[Function], Function], prepared: Callable[[Function], Function]) -> Any:
    """jit inside."""
    return lambda f: (transformed(ad.jit(prepared(f))), transformed(prepared(f)))


def lanes(f: Function) -> Function:
    return lambda x: ad.vmap(f)(np.stack([x * k for k in NEAR]))


def pushed(f: Function) -> Function:
    return lambda x: ad.jvp(f, (x,), (V,))


TRANSFORMATIONS: dict[str, Callable[[Function], Pair]] = {
    "jit": of(lambda f: f),
    "grad of jit": inside(ad.grad, scalar),
    "jit of grad": of(lambda f: ad.grad(scalar(f))),
    "jit of grad of grad": of(lambda f: ad.grad(lambda x: np.sum(V * ad.grad(scalar(f))(x)))),
    "jit of jvp": of(pushed),
    "jvp of jit": inside(pushed, lambda f: f),
    "jit of vmap": of(lanes),
    "vmap of jit": inside(lanes, lambda f: f),
    "jit of jet": of(lambda f: lambda x: ad.jet(f, (x,), ([V, x],))),
    "jit of hessian": of(lambda f: ad.hessian(scalar(f))),
    "jit of jacobian": of(lambda f: ad.jacobian(lambda x: floats(f(x)))),
}
SECOND = ("jit of grad of grad", "jit of jet", "jit of hessian")


def together(functions: dict[str, Function]) -> Function:
    return lambda x: {name: f(x) for name, f in functions.items()}


def differences(got: Any, want: Any, tolerance: float) -> Iterator[str]:
    a, s = ad.tree.flatten(got)
    b, t = ad.tree.flatten(want)
    if s != t:
        yield f"a result {s} instead of {t}"
        return
    for k, (p, q) in enumerate(zip(map(np.asarray, a), map(np.asarray, b), strict=True)):
        if (p.shape, p.dtype) != (q.shape, q.dtype):
            yield f"result {k} is {p.dtype}{p.shape} instead of {q.dtype}{q.shape}"
        elif p.dtype.kind in "fc":
            scale = np.max(np.abs(q[np.isfinite(q)]), initial=1.0)
            wrong = ~np.isclose(p, q, rtol=tolerance, atol=0.1 * tolerance * scale, equal_nan=True)
            if np.any(wrong):
                yield f"result {k}: {p[wrong][:3]} instead of {q[wrong][:3]}"
        elif not np.array_equal(p, q):
            yield f"result {k}: {p} instead of {q}"


def faults(f: Function, transformation: str, tolerance: float) -> list[str]:
    compiled, plain = TRANSFORMATIONS[transformation](f)
    with np.errstate(all="ignore"):
        want = plain(X)
        try:
            found = list(differences(compiled(X), want, tolerance))
            if isinstance(compiled, Jitted):
                found += [f"{p} the second time" for p in differences(compiled(X), want, tolerance)]
                found += [one.how for one in compiled.report().specializations if one.how != "compiled"]
            return found
        except Exception as problem:
            return [f"{type(problem).__name__}: {problem}"]


def functions_of(subject: str, transformation: str) -> dict[str, Function]:
    """Those that a transformation takes; of large programs, each function in one of them."""
    functions = FUNCTIONS[subject]
    if "vmap" in transformation:
        functions = {name: f for name, f in functions.items() if name not in SHAPES_BY_VALUE}
    if transformation in SECOND:
        functions = dict(list(functions.items())[SECOND.index(transformation) :: len(SECOND)])
    return functions


def compare(functions: dict[str, Function], subject: str, transformation: str) -> None:
    tolerance = 1e-4 if subject == "single precision" else 1e-9
    found = faults(together(functions), transformation, tolerance)
    if found:
        alone = [f"{name}: {p}" for name, f in functions.items() for p in faults(f, transformation, tolerance)]
        pytest.fail("\n".join(alone or ["together:", *found]))


@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("subject", FUNCTIONS)
def test_compiled(subject: str, transformation: str) -> None:
    """A sixth of the functions in each transformation, all of them in the gradient."""
    part, step = (0, 1) if transformation == "jit of grad" else (list(TRANSFORMATIONS).index(transformation) % 6, 6)
    compare(dict(list(functions_of(subject, transformation).items())[part::step]), subject, transformation)


@pytest.mark.sweep
@pytest.mark.parametrize("transformation", [name for name in TRANSFORMATIONS if name != "jit of grad"])
@pytest.mark.parametrize("subject", FUNCTIONS)
def test_compiled_all(subject: str, transformation: str) -> None:
    compare(functions_of(subject, transformation), subject, transformation)


@pytest.mark.parametrize("name", ["unique", "union1d"])
def test_lanes_whose_lengths_depend_on_values(name: str) -> None:
    f = SHAPES_BY_VALUE[name]
    for g in (ad.vmap(f), ad.jit(ad.vmap(f)), ad.vmap(ad.jit(f))):
        np.testing.assert_array_equal(g(np.stack([X, 2.0 * X])), np.stack([f(X), f(2.0 * X)]))
        with pytest.raises(ad.base.errors.ShapeError, match="different shapes"):
            g(np.stack([X, np.full_like(X, 0.25)]))


def test_every_function_is_tried() -> None:
    names = {f"{f.__module__}.{f.__name__}".removeprefix("numpy.") for f in IMPLEMENTED}
    tried = {name for functions in FUNCTIONS.values() for name in functions}
    assert sorted({name.removeprefix("lib.stride_tricks.") for name in names} - tried - NOT_TRIED) == []
    assert sorted({name for name in BY_NAME if isinstance(getattr(np, name, None), np.ufunc)} - set(UFUNCS)) == []
    assert not tried & NOT_TRIED
