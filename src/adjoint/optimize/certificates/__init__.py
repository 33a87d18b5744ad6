"""Certificates: convexity, constants of smoothness, kinds of stationary points, rates, and promises held against a run.

```python
from adjoint.optimize import certificates
certificates.classify_stationary(lambda x: x[0] ** 2 - x[1] ** 2, np.zeros(2)).inertia  # → (1, 0, 1)
```
"""

from typing import TYPE_CHECKING

from adjoint.base.loading import open_lazily

if TYPE_CHECKING:
    from adjoint.optimize.certificates.constants import (
        bregman,
        check_sandwich,
        lipschitz,
        pinsker,
        smoothness,
        strong_convexity,
    )
    from adjoint.optimize.certificates.convexity import check_convex, classify_stationary
    from adjoint.optimize.certificates.promises import Promises
    from adjoint.optimize.certificates.rates import check_bounds, rate

__all__ = [
    "Promises",
    "bregman",
    "check_bounds",
    "check_convex",
    "check_sandwich",
    "classify_stationary",
    "lipschitz",
    "pinsker",
    "rate",
    "smoothness",
    "strong_convexity",
]

# Everything is loaded when it is first used.
__getattr__, __dir__ = open_lazily(
    __name__,
    {
        "adjoint.optimize.certificates.constants": "bregman check_sandwich lipschitz pinsker "
        "smoothness strong_convexity",
        "adjoint.optimize.certificates.convexity": "check_convex classify_stationary",
        "adjoint.optimize.certificates.promises": "Promises",
        "adjoint.optimize.certificates.rates": "check_bounds rate",
    },
)
