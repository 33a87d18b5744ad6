"""Linear maps without a matrix, over trees of arrays.

```python
from adjoint import linear
A = linear.diagonal(np.arange(1.0, 4.0)) + linear.low_rank(np.ones(3))
A @ np.ones(3)  # → [4.0, 5.0, 6.0]
A.has("positive definite"), A.method  # → (True, 'diagonal with a low-rank update (Woodbury)')
```
"""

from typing import TYPE_CHECKING

from adjoint.base.loading import open_lazily

if TYPE_CHECKING:
    from adjoint.linear.factorizations.factors import factored
    from adjoint.linear.functions.bartlett import Bartlett, bartlett, bartlett_diagonal
    from adjoint.linear.functions.determinants import logdet, slogdet
    from adjoint.linear.functions.estimates import estimate_diagonal, estimate_trace
    from adjoint.linear.functions.forward_gradient import forward_gradient
    from adjoint.linear.functions.probes import Estimate
    from adjoint.linear.functions.spectral import estimate_logdet, estimate_trace_of_function
    from adjoint.linear.operators.bilinear import BilinearMap, bilinear, bilinear_form, second_derivative
    from adjoint.linear.operators.blocks import block, block_diagonal, raveled
    from adjoint.linear.operators.checking import assume, check_adjoint, check_facts, find_facts
    from adjoint.linear.operators.complexify import complexified
    from adjoint.linear.operators.derivative_maps import fisher, gauss_newton, hessian, jacobian
    from adjoint.linear.operators.from_function import from_function
    from adjoint.linear.operators.kronecker import khatri_rao, kronecker
    from adjoint.linear.operators.maps import LinearMap
    from adjoint.linear.operators.metrics import (
        Covector,
        InnerProduct,
        adjoint,
        differential,
        euclidean,
        gradient,
        inner_product,
        pullback,
        pulled_back_metric,
        pushforward,
    )
    from adjoint.linear.operators.operations import congruence
    from adjoint.linear.operators.spaces import Space
    from adjoint.linear.operators.sparse_matrix import as_map, sparse
    from adjoint.linear.operators.structures import (
        diagonal,
        identity,
        low_rank,
        matrix,
        permutation,
        scaling,
        triangular,
        zero,
    )
    from adjoint.linear.solvers.least_squares import lsmr
    from adjoint.linear.solvers.methods import bicgstab, cg, gmres, minres
    from adjoint.linear.solvers.preconditioners import block_jacobi, incomplete_cholesky, incomplete_lu, jacobi
    from adjoint.linear.solvers.solution import Solution
    from adjoint.linear.solvers.solving import solve

__all__ = [
    "Bartlett",
    "BilinearMap",
    "Covector",
    "Estimate",
    "InnerProduct",
    "LinearMap",
    "Solution",
    "Space",
    "adjoint",
    "as_map",
    "assume",
    "bartlett",
    "bartlett_diagonal",
    "bicgstab",
    "bilinear",
    "bilinear_form",
    "block",
    "block_diagonal",
    "block_jacobi",
    "cg",
    "check_adjoint",
    "check_facts",
    "complexified",
    "congruence",
    "diagonal",
    "differential",
    "estimate_diagonal",
    "estimate_logdet",
    "estimate_trace",
    "estimate_trace_of_function",
    "euclidean",
    "factored",
    "find_facts",
    "fisher",
    "forward_gradient",
    "from_function",
    "gauss_newton",
    "gmres",
    "gradient",
    "hessian",
    "identity",
    "incomplete_cholesky",
    "incomplete_lu",
    "inner_product",
    "jacobi",
    "jacobian",
    "khatri_rao",
    "kronecker",
    "logdet",
    "low_rank",
    "lsmr",
    "matrix",
    "minres",
    "permutation",
    "pullback",
    "pulled_back_metric",
    "pushforward",
    "raveled",
    "scaling",
    "second_derivative",
    "slogdet",
    "solve",
    "sparse",
    "triangular",
    "zero",
]

# Everything is loaded when it is first used.
__getattr__, __dir__ = open_lazily(
    __name__,
    {
        "adjoint.linear.factorizations.factors": "factored",
        "adjoint.linear.functions.bartlett": "Bartlett bartlett bartlett_diagonal",
        "adjoint.linear.functions.determinants": "logdet slogdet",
        "adjoint.linear.functions.estimates": "estimate_diagonal estimate_trace",
        "adjoint.linear.functions.forward_gradient": "forward_gradient",
        "adjoint.linear.functions.probes": "Estimate",
        "adjoint.linear.functions.spectral": "estimate_logdet estimate_trace_of_function",
        "adjoint.linear.operators.bilinear": "BilinearMap bilinear bilinear_form second_derivative",
        "adjoint.linear.operators.blocks": "block block_diagonal raveled",
        "adjoint.linear.operators.checking": "assume check_adjoint check_facts find_facts",
        "adjoint.linear.operators.complexify": "complexified",
        "adjoint.linear.operators.derivative_maps": "fisher gauss_newton hessian jacobian",
        "adjoint.linear.operators.from_function": "from_function",
        "adjoint.linear.operators.kronecker": "khatri_rao kronecker",
        "adjoint.linear.operators.maps": "LinearMap",
        "adjoint.linear.operators.metrics": "Covector InnerProduct adjoint differential euclidean "
        "gradient inner_product pullback pulled_back_metric pushforward",
        "adjoint.linear.operators.operations": "congruence",
        "adjoint.linear.operators.spaces": "Space",
        "adjoint.linear.operators.sparse_matrix": "as_map sparse",
        "adjoint.linear.operators.structures": "diagonal identity low_rank matrix permutation scaling triangular zero",
        "adjoint.linear.solvers.least_squares": "lsmr",
        "adjoint.linear.solvers.methods": "bicgstab cg gmres minres",
        "adjoint.linear.solvers.preconditioners": "block_jacobi incomplete_cholesky incomplete_lu jacobi",
        "adjoint.linear.solvers.solution": "Solution",
        "adjoint.linear.solvers.solving": "solve",
    },
)
