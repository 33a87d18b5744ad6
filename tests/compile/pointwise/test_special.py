"""Functions of scipy.special agree with SciPy."""

from __future__ import annotations

import numpy as np

import adjoint.ops.special  # noqa: F401  (declares the rules)
from adjoint.compile import vector_math
from adjoint.ops.special.declare import RULES
from tests.support.element_kernels import Kernels, check, check_complex, grid, native

X = np.array(
    [0.0, -0.0, 0.3, 0.7, 1.0, 1.5, 2.0, 2.5, 7.0, 30.0, 1e-20, -0.3, -1.0, -2.5, -7.0, np.inf, -np.inf, np.nan]
)
# what `vector_math` has under SciPy's names
UNARY = [n for n, arity in vector_math.NAMES.items() if arity == 1 and n in RULES]
COMPOSED = ("entr", "exprel", "cosm1", "round", "gammasgn")
BINARY = ("xlogy", "xlog1py", "rel_entr", "huber", "pseudo_huber")
BOX_COX = ("boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p")


def test_functions_of_vector_math() -> None:
    """Names, dtypes and special values; `vector_math` answers for accuracy, and SciPy is not exact everywhere."""
    kernels = Kernels()
    assert {"expit", "log_expit", "logit", "erf", "erfc", "ndtr", "log_ndtr", "gammaln", "gamma"} <= {*UNARY}
    for name in (*UNARY, "psi", "loggamma"):
        for dtype in "fd":
            assert native(RULES[name], X.astype(dtype)), name
            kernels.add(RULES[name], X.astype(dtype))
    check(kernels, ulps=2000.0, zeros=False)


def test_composed_functions() -> None:
    kernels = Kernels()
    for name in COMPOSED:
        for dtype in "fd":
            assert native(RULES[name], X.astype(dtype)), name
            kernels.add(RULES[name], X.astype(dtype))
    for name in BINARY:
        for dtype in "fd":
            kernels.add(RULES[name], *grid(X.astype(dtype), X.astype(dtype)))
    check(kernels, ulps=8.0, zeros=False)


def test_functions_that_magnify_rounding() -> None:
    """exp(λ log x) magnifies the rounding of λ log x; x log(x/y) - x + y cancels."""
    kernels = Kernels()
    for name in (*BOX_COX, "kl_div"):
        for dtype in "fd":
            kernels.add(RULES[name], *grid(X.astype(dtype), X.astype(dtype)))
    check(kernels, ulps=40.0, zeros=False)


def test_scipys_own_elementary_functions() -> None:
    kernels = Kernels()
    for name in ("special.exp2", "special.expm1", "special.log1p", "special.cbrt"):
        kernels.add(RULES[name], X)
    check(kernels, ulps=5.0)


def test_complex_functions() -> None:
    rng = np.random.default_rng(1)
    z, w = (rng.normal(size=100) + 1j * rng.normal(size=100) for _ in range(2))
    kernels = Kernels()
    kernels.add(RULES["xlogy"], z, w)
    kernels.add(RULES["xlogy"], np.zeros(100, complex), w)
    kernels.add(RULES["xlog1py"], z, w)
    kernels.add(RULES["special.log1p"], z)
    check_complex(kernels, ulps=8.0)


def test_what_is_left_to_scipy() -> None:
    assert not native(RULES["gamma"], X + 1j)
    assert not native(RULES["jv"], X, X)
