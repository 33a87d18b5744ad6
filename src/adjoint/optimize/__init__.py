"""Minimization, roots and least squares, for NumPy functions of any tree of numbers.

```python
from adjoint import optimize
found = optimize.minimize(lambda p: (p["a"] - 1.0) ** 2 + (p["b"] + 2.0) ** 2, {"a": 0.0, "b": 0.0})
found.status, float(np.round(found.value["b"], 6))  # → ('converged', -2.0)
```
"""

from adjoint.optimize.first_order.gradient_descent import GradientDescent
from adjoint.optimize.iteration import Iterate
from adjoint.optimize.least_squares.fit import Fit, Propagated
from adjoint.optimize.least_squares.fitting import curve_fit, least_squares
from adjoint.optimize.least_squares.gauss_newton import GaussNewton
from adjoint.optimize.least_squares.marquardt import LevenbergMarquardt
from adjoint.optimize.minimizing import minimize
from adjoint.optimize.optimum import Optimum
from adjoint.optimize.searches.armijo import Armijo
from adjoint.optimize.searches.strong_wolfe import StrongWolfe
from adjoint.optimize.second_order.bfgs import BFGS
from adjoint.optimize.second_order.lbfgs import LBFGS
from adjoint.optimize.second_order.lbfgsb import LBFGSB
from adjoint.optimize.second_order.trust_region import TrustRegion

__all__ = [
    "BFGS",
    "LBFGS",
    "LBFGSB",
    "Armijo",
    "Fit",
    "GaussNewton",
    "GradientDescent",
    "Iterate",
    "LevenbergMarquardt",
    "Optimum",
    "Propagated",
    "StrongWolfe",
    "TrustRegion",
    "curve_fit",
    "least_squares",
    "minimize",
]
