"""The derivative of a solution, whoever found it.

```python
from adjoint import implicit
x = implicit.root(lambda x, y: x * x + y * y - 1.0, lambda y: np.sqrt(1.0 - y * y))  # the right half of a circle
x(0.6), ad.grad(x)(0.6)  # → (0.8, -0.75)
```
"""

from adjoint.implicit import conditions
from adjoint.implicit.diagnosis import DerivativeWarning
from adjoint.implicit.function import ImplicitFunction
from adjoint.implicit.minima import argmin
from adjoint.implicit.roots import fixed_point, root

__all__ = ["DerivativeWarning", "ImplicitFunction", "argmin", "conditions", "fixed_point", "root"]
