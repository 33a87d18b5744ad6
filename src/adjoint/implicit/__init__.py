"""The derivative of a solution, whoever found it.

```python
from adjoint import implicit
x = implicit.root(lambda x, y: x * x + y * y - 1.0, lambda y: np.sqrt(1.0 - y * y))  # the right half of a circle
x(0.6), ad.grad(x)(0.6)  # → (0.8, -0.75)
```
"""

from typing import TYPE_CHECKING

from adjoint.base.loading import open_lazily

if TYPE_CHECKING:
    from adjoint.implicit import conditions
    from adjoint.implicit.active_sets import ActiveSet
    from adjoint.implicit.adjoint_state import AdjointState, adjoint_state
    from adjoint.implicit.approximate import Neumann, OneStep, Unrolled
    from adjoint.implicit.constraints import Constraints, Projected, Proximal
    from adjoint.implicit.diagnosis import DerivativeWarning
    from adjoint.implicit.foreign import solution
    from adjoint.implicit.function import ImplicitFunction
    from adjoint.implicit.inverses import Inverse, inverse
    from adjoint.implicit.kkt import ConstrainedMinimizer
    from adjoint.implicit.minima import argmin
    from adjoint.implicit.report import Report, report, sensitivity
    from adjoint.implicit.roots import fixed_point, root
    from adjoint.implicit.values import OptimalValue, value
    from adjoint.implicit.warm_starts import WarmStarted

__all__ = [
    "ActiveSet",
    "AdjointState",
    "ConstrainedMinimizer",
    "Constraints",
    "DerivativeWarning",
    "ImplicitFunction",
    "Inverse",
    "Neumann",
    "OneStep",
    "OptimalValue",
    "Projected",
    "Proximal",
    "Report",
    "Unrolled",
    "WarmStarted",
    "adjoint_state",
    "argmin",
    "conditions",
    "fixed_point",
    "inverse",
    "report",
    "root",
    "sensitivity",
    "solution",
    "value",
]

# Everything is loaded when it is first used.
__getattr__, __dir__ = open_lazily(
    __name__,
    {
        "adjoint.implicit": "conditions",
        "adjoint.implicit.active_sets": "ActiveSet",
        "adjoint.implicit.adjoint_state": "AdjointState adjoint_state",
        "adjoint.implicit.approximate": "Neumann OneStep Unrolled",
        "adjoint.implicit.constraints": "Constraints Projected Proximal",
        "adjoint.implicit.diagnosis": "DerivativeWarning",
        "adjoint.implicit.foreign": "solution",
        "adjoint.implicit.function": "ImplicitFunction",
        "adjoint.implicit.inverses": "Inverse inverse",
        "adjoint.implicit.kkt": "ConstrainedMinimizer",
        "adjoint.implicit.minima": "argmin",
        "adjoint.implicit.report": "Report report sensitivity",
        "adjoint.implicit.roots": "fixed_point root",
        "adjoint.implicit.values": "OptimalValue value",
        "adjoint.implicit.warm_starts": "WarmStarted",
    },
)
