"""The lasso path of the diabetes data: all penalties in one compiled call, with the derivative of every coefficient.

    python examples/lasso_path.py [penalties]

    w*(λ) = argmin ‖X w - y‖² / 2n + λ ‖w‖₁        dw*/dλ = -(X_SᵀX_S / n)⁻¹ sign(w_S) on the support, 0 off it

A proximal gradient method finds w*, and its derivative is that of the condition that it fulfills. Between two kinks the
path is straight, so that the derivative at one penalty predicts where the next coefficient vanishes.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import lasso_path

import adjoint as ad
from adjoint import optimize
from adjoint.optimize import proximal


def data() -> tuple[Any, Any]:
    """Ten measurements of 442 patients, and how their diabetes went on; all with mean 0 and deviation 1."""
    X, y = load_diabetes(return_X_y=True)
    normal = lambda a: (a - a.mean(0)) / a.std(0)
    return normal(X), normal(y)


def solved(lam: Any, X: Any, y: Any) -> Any:
    """w*(λ)."""
    squares = lambda w: np.sum((X @ w - y) ** 2) / (2 * len(y))
    method = optimize.FISTA(proximal.l1(lam))
    return optimize.minimize(squares, np.zeros(X.shape[1]), method=method, tol=1e-12, max_iterations=5000).value


def path(count: int) -> tuple[Any, Any, Any]:
    """Penalties, the coefficients at each, and their derivatives."""
    X, y = data()
    largest = np.max(np.abs(X.T @ y)) / len(y)  # from here on all coefficients are zero
    penalties = largest * np.geomspace(0.9, 1e-3, count)
    both = ad.jit(ad.vmap(lambda lam: (solved(lam, X, y), ad.jvp(lambda v: solved(v, X, y), (lam,), (1.0,))[1])))
    w, rates = both(penalties)
    return penalties, w, rates


def main(count: int = 40) -> None:
    X, y = data()
    penalties, w, rates = path(count)
    _, theirs, _ = lasso_path(X, y, alphas=penalties, tol=1e-14, max_iter=100_000)
    error = np.max(np.abs(w - theirs.T))
    print(f"{count} penalties: {error:.1e} from scikit-learn's coefficients")
    assert error < 1e-7
    print("✓ the path")

    worst = 0.0
    for k in range(count):
        on = w[k] != 0
        expected = np.zeros(len(on))
        expected[on] = -np.linalg.solve(X[:, on].T @ X[:, on] / len(y), np.sign(w[k, on]))
        worst = max(worst, float(np.max(np.abs(rates[k] - expected) / (1 + np.abs(expected)))))
    print(f"derivatives: {worst:.1e} from those of the support")
    assert worst < 1e-6
    print("✓ the derivatives, at every penalty and off the support too")

    k = count // 3
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = penalties[k] - w[k] / rates[k]  # where each straight line meets zero
    ahead = zero[(w[k] != 0) & (zero > penalties[k])]
    leaves = float(np.min(ahead))
    before, after = (np.count_nonzero(solved(leaves * s, X, y)) for s in (1 - 1e-6, 1 + 1e-6))
    print(f"at λ = {penalties[k]:.4f} the tangents say that a coefficient vanishes at {leaves:.4f}: "
          f"{before} are left below it, {after} above")  # fmt: skip
    assert after == before - 1
    print("✓ the next kink, from one derivative")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
