"""Facts about maps, asserted and checked; the adjoint, checked by inner products."""

# pyright: reportPrivateUsage=false
# (maps ask other maps for their methods behind the public ones, which have checked the arguments)

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import tree
from adjoint.base.errors import CheckError, ShapeError, TraceError
from adjoint.linear.operators.facts import FACTS, read
from adjoint.linear.operators.maps import LinearMap
from adjoint.program.trace import Tracer

__all__ = ["assume", "check_adjoint", "check_facts", "find_facts"]


def assume(a: LinearMap, *facts: str) -> LinearMap:
    """The same map, with facts that you know of it. They are believed, and choose solvers; `check_facts` looks.

    ```python
    A = ad.linear.matrix(np.array([[2.0, 1.0], [1.0, 2.0]]))
    A.method, ad.linear.assume(A, "positive definite").method  # → ('lu', 'cholesky')
    ```
    """
    claims = read(facts)
    square = claims - {"orthonormal", "orthonormal rows", "zero"}
    if square and not a.is_square:
        raise ShapeError(f"assume: a map of shape {a.shape} cannot be {sorted(square)[0]}.")
    return a._claiming(claims)


def check_adjoint(a: LinearMap, *, rtol: float | None = None, trials: int = 3, seed: int = 0) -> None:
    """Raise CheckError unless ⟨A x, u⟩ = ⟨x, A* u⟩ for random x and u.

    ```python
    wrong = ad.linear.from_function(lambda x: 2 * x, 3, adjoint=lambda u: 3 * u)
    ad.linear.check_adjoint(wrong)  # → CheckError: not the adjoint
    ```
    """
    _plain("check_adjoint", a)
    rng = np.random.default_rng(seed)
    tolerance = _tolerance(a) if rtol is None else rtol
    for _ in range(trials):
        x, u = a.domain.random(rng), a.range.random(rng)
        y, w = a(x), a.adjoint(u)
        left, right = float(tree.vdot(y, u)), float(tree.vdot(x, w))
        size = float(tree.norm(y) * tree.norm(u) + tree.norm(x) * tree.norm(w))
        if not abs(left - right) <= tolerance * size:
            raise CheckError(
                f"This is not the adjoint of the map: ⟨A x, u⟩ = {left:.12g}, but ⟨x, A* u⟩ = {right:.12g}."
            )


def check_facts(a: LinearMap, *facts: str, rtol: float | None = None, dense_up_to: int = 500, seed: int = 0) -> None:
    """Raise CheckError unless the facts hold: those given, or all that are known of the map.

    The matrix is looked at up to `dense_up_to` rows and columns; larger maps are tried on random elements, which finds
    what is wrong about symmetry, orthonormality, definiteness and zero, and leaves the others unchecked.

    ```python
    A = ad.linear.matrix(np.array([[0.0, 1.0], [0.0, 0.0]]))
    ad.linear.check_facts(A, "symmetric")  # → CheckError: symmetric
    ```
    """
    _plain("check_facts", a)
    asked = sorted(read(facts) if facts else a.facts)
    tolerance = _tolerance(a) if rtol is None else rtol
    if max(a.shape) <= dense_up_to:
        dense = np.asarray(a.to_dense())
        wrong = [fact for fact in asked if not _holds(dense, fact, tolerance)]
    else:
        rng = np.random.default_rng(seed)
        wrong = [fact for fact in asked if not _holds_on_probes(a, fact, tolerance, rng)]
    if wrong:
        raise CheckError(f"{a._label()} {a.shape[0]}×{a.shape[1]} is not {wrong[0]}, though it was said to be.")


def find_facts(a: LinearMap, *, rtol: float | None = None) -> LinearMap:
    """The same map, with all facts that its matrix shows (it is made for that).

    ```python
    ad.linear.find_facts(ad.linear.matrix(np.diag([1.0, 2.0]))).has("positive definite")  # → True
    ```
    """
    _plain("find_facts", a)
    dense, tolerance = np.asarray(a.to_dense()), _tolerance(a) if rtol is None else rtol
    usable = FACTS if a.is_square else {"orthonormal", "orthonormal rows", "zero"}
    return a._claiming(frozenset(fact for fact in usable if _holds(dense, fact, tolerance)))


def _plain(name: str, a: LinearMap) -> None:
    if any(isinstance(leaf, Tracer) for leaf in tree.leaves(a)):
        raise TraceError(
            f"{name} looks at the elements of a map, and inside jit, vmap or a derivative they are not at hand. Call "
            "it outside; inside, say what you know with linear.assume."
        )


def _tolerance(a: LinearMap) -> float:
    return 1e3 * float(np.finfo(a.dtype).eps)


def _holds(m: Any, fact: str, rtol: float) -> bool:
    """Whether a matrix is what a word says, up to rounding."""
    scale = float(np.max(np.abs(m), initial=0.0)) * max(m.shape, default=1)
    close = lambda p, q: bool(np.all(np.abs(p - q) <= rtol * max(scale, 1e-300)))
    if fact == "zero":
        return not np.any(m)
    if fact == "orthonormal":
        return close(m.conj().T @ m, np.eye(m.shape[1]))
    if fact == "orthonormal rows":
        return close(m @ m.conj().T, np.eye(m.shape[0]))
    if m.shape[0] != m.shape[1]:
        return False
    looks = {
        "symmetric": lambda: close(m, m.conj().T),
        "identity": lambda: close(m, np.eye(len(m))),
        "diagonal": lambda: close(m, np.diag(np.diagonal(m))),
        "tridiagonal": lambda: close(m, np.triu(np.tril(m, 1), -1)),
        "lower triangular": lambda: close(m, np.tril(m)),
        "upper triangular": lambda: close(m, np.triu(m)),
        "unit diagonal": lambda: close(np.diagonal(m), np.ones(len(m))),
        "permutation": lambda: (
            close(m, (np.abs(m) > 0.5) * 1.0)
            and close(np.abs(m).sum(0), np.ones(len(m)))
            and close(np.abs(m).sum(1), np.ones(len(m)))
        ),
        "invertible": lambda: bool(np.linalg.cond(m) < 1 / np.finfo(m.dtype).eps) if len(m) else True,
    }
    if fact in looks:
        return bool(looks[fact]())
    if not close(m, m.conj().T):
        return False
    sign = -1 if fact.startswith("negative") else 1
    smallest = float(np.min(sign * np.linalg.eigvalsh((m + m.conj().T) / 2), initial=np.inf))
    return smallest > 0 if fact.endswith(" definite") else smallest >= -rtol * scale


def _holds_on_probes(a: LinearMap, fact: str, rtol: float, rng: np.random.Generator) -> bool:
    """Whether random elements are compatible with a fact."""
    x, z = a.domain.random(rng), a.domain.random(rng)
    y = a(x)
    near = lambda p, q: float(tree.norm(tree.subtract(p, q))) <= rtol * float(tree.norm(p) + tree.norm(q))
    if fact == "zero":
        return float(tree.norm(y)) == 0
    if fact == "symmetric":
        left, right = float(tree.vdot(y, z)), float(tree.vdot(x, a(z)))
        return abs(left - right) <= rtol * float(tree.norm(y) * tree.norm(z) + tree.norm(x) * tree.norm(a(z)))
    if fact == "orthonormal":
        return near(a.adjoint(y), x)
    if fact == "orthonormal rows":
        u = a.range.random(rng)
        return near(a(a.adjoint(u)), u)
    if fact == "identity":
        return near(y, x)
    if "definite" in fact:
        sign = -1 if fact.startswith("negative") else 1
        return sign * float(tree.vdot(x, y)) >= -rtol * float(tree.norm(x) * tree.norm(y))
    return True
