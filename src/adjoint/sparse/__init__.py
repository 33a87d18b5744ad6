"""Sparse derivatives: patterns found from programs, colorings, Jacobians and Hessians as SciPy matrices.

```python
from adjoint import sparse
J = sparse.jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0]))
J.toarray()  # → [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]]
```
"""

from adjoint.sparse.coloring import Coloring, color
from adjoint.sparse.derivatives import SparseDerivative, hessian, jacobian
from adjoint.sparse.pattern import pattern

__all__ = ["Coloring", "SparseDerivative", "color", "hessian", "jacobian", "pattern"]
