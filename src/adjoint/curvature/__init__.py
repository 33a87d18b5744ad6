"""Second order: Hessians, Gauss-Newton and Fisher matrices, their products, blocks, diagonals and inverses.

```python
from adjoint import curvature
loss, model = lambda z: np.sum(z**2), lambda w: np.array([1.0, 2.0]) * w**2
curvature.gauss_newton_product(loss, model, (np.ones(2),), (np.ones(2),))  # → [8.0, 32.0]
```
"""

from adjoint.api.hessian_products import HvpTimes, hvp_times, predicted_hvp_costs
from adjoint.curvature.backpropagation import SecondOrder, backpropagate, block_gauss_newton, block_hessian
from adjoint.curvature.diagonals import FirstAndDiagonal, diagonal_hessian
from adjoint.curvature.fisher import (
    empirical_fisher,
    empirical_fisher_product,
    fisher,
    fisher_product,
    output_fisher,
)
from adjoint.curvature.gauss_newton import (
    HessianSplit,
    factor_product,
    gauss_newton,
    gauss_newton_factor,
    gauss_newton_product,
    hessian_split,
)
from adjoint.curvature.inverse import factored_hessian, inverse_hvp, inverse_hvp_costs
from adjoint.curvature.kronecker_factors import kronecker_gauss_newton
from adjoint.curvature.quadratic import QuadraticModel, quadratic_model

__all__ = [
    "FirstAndDiagonal",
    "HessianSplit",
    "HvpTimes",
    "QuadraticModel",
    "SecondOrder",
    "backpropagate",
    "block_gauss_newton",
    "block_hessian",
    "diagonal_hessian",
    "empirical_fisher",
    "empirical_fisher_product",
    "factor_product",
    "factored_hessian",
    "fisher",
    "fisher_product",
    "gauss_newton",
    "gauss_newton_factor",
    "gauss_newton_product",
    "hessian_split",
    "hvp_times",
    "inverse_hvp",
    "inverse_hvp_costs",
    "kronecker_gauss_newton",
    "output_fisher",
    "predicted_hvp_costs",
    "quadratic_model",
]
