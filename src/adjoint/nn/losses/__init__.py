"""Losses: one number per example, from logits and plain targets, with what is known about them.

```python
ad.nn.losses.cross_entropy(np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([0, 1]))  # → [0.126928…, 0.693147…]
```
"""

from typing import Any

from adjoint.nn.elsewhere import explain_name
from adjoint.nn.losses.classification import cross_entropy, entropy, focal, kl, logistic, soft_cross_entropy
from adjoint.nn.losses.linear_models import least_squares, noise_variance, ridge
from adjoint.nn.losses.margin import exponential, hinge, margin, squared_hinge, zero_one
from adjoint.nn.losses.objectives import (
    average,
    empirical_risk,
    generalization_gap,
    log_prior,
    posterior,
    regularized,
)
from adjoint.nn.losses.regression import (
    absolute,
    gaussian_nll,
    huber,
    log_cosh,
    nll_of,
    poisson_nll,
    quantile,
    squared,
)
from adjoint.nn.losses.risk_theory import MARGIN_LOSSES, MarginLoss

__all__ = [
    "MARGIN_LOSSES", "MarginLoss", "absolute", "average", "cross_entropy", "empirical_risk", "entropy", "exponential",
    "focal", "gaussian_nll", "generalization_gap", "hinge", "huber", "kl", "least_squares", "log_cosh", "log_prior",
    "logistic", "margin", "nll_of", "noise_variance", "poisson_nll", "posterior", "quantile", "regularized", "ridge",
    "soft_cross_entropy", "squared", "squared_hinge", "zero_one",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    raise AttributeError(name if name.startswith("__") else explain_name("adjoint.nn.losses", name, __all__), name=name)
