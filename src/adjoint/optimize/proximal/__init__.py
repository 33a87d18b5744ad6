"""Terms of an objective by their proximal operators, prox(x, γ) = argmin Ω(p) + ‖p - x‖² / 2γ, and how to combine them.

```python
from adjoint.optimize import proximal
proximal.l1(1.0).prox(np.array([3.0, -0.5]))  # → [2.0, 0.0]
proximal.l1(1.0)(np.array([3.0, -0.5]))  # → 3.5
```
"""

from typing import TYPE_CHECKING

from adjoint.base.loading import open_lazily

if TYPE_CHECKING:
    from adjoint.optimize.proximal.calculus import (
        add_linear,
        add_square,
        compose,
        conjugate,
        scale,
        translate,
    )
    from adjoint.optimize.proximal.nonconvex import l0, mcp, scad
    from adjoint.optimize.proximal.norms import elastic_net, group, l1, l2, linf, maximum, nuclear, owl
    from adjoint.optimize.proximal.separable import from_set, separable
    from adjoint.optimize.proximal.smooth import huber, log_barrier, negentropy, quadratic, squared_l2, zero
    from adjoint.optimize.proximal.term import Term
    from adjoint.optimize.proximal.total_variation import total_variation

__all__ = [
    "Term",
    "add_linear",
    "add_square",
    "compose",
    "conjugate",
    "elastic_net",
    "from_set",
    "group",
    "huber",
    "l0",
    "l1",
    "l2",
    "linf",
    "log_barrier",
    "maximum",
    "mcp",
    "negentropy",
    "nuclear",
    "owl",
    "quadratic",
    "scad",
    "scale",
    "separable",
    "squared_l2",
    "total_variation",
    "translate",
    "zero",
]

# Everything is loaded when it is first used.
__getattr__, __dir__ = open_lazily(
    __name__,
    {
        "adjoint.optimize.proximal.calculus": "add_linear add_square compose conjugate scale translate",
        "adjoint.optimize.proximal.nonconvex": "l0 mcp scad",
        "adjoint.optimize.proximal.norms": "elastic_net group l1 l2 linf maximum nuclear owl",
        "adjoint.optimize.proximal.separable": "from_set separable",
        "adjoint.optimize.proximal.smooth": "huber log_barrier negentropy quadratic squared_l2 zero",
        "adjoint.optimize.proximal.term": "Term",
        "adjoint.optimize.proximal.total_variation": "total_variation",
    },
)
