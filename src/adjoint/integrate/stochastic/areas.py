"""Iterated integrals of Brownian motion over a step, from its increment W and space-time Lévy area H."""

from __future__ import annotations

import numpy as np

from adjoint.integrate.stochastic.brownian import normals
from adjoint.program.types import Value
from adjoint.random.draws import FoldedKey

__all__ = ["approximate_integrals"]


def approximate_integrals(key: Value, step: Value, h: Value, W: Value, H: Value) -> Value:
    """Itô's I(j, k) = ∫ W_j dW_k, with Davie's approximation of the Lévy area.

        A(j, k) ≈ H_j W_k - W_j H_k + N(0, h²/12),   I = (W Wᵀ - h I)/2 + A

    It has the mean and the covariances of A given W and H, not its law (Davie 2014; Flint and Lyons 2015).
    """
    m = W.shape[0]
    z = normals(FoldedKey()(key, step), np.uint64(0), m * m, W.dtype)
    upper = np.triu(np.reshape(z, (m, m)), 1) * (h * np.sqrt(1 / 12)).astype(W.dtype)
    area = np.outer(H, W) - np.outer(W, H) + upper - upper.T
    return 0.5 * (np.outer(W, W) - h.astype(W.dtype) * np.eye(m, dtype=W.dtype)) + area
