"""Networks for people who write NumPy: a model is a tree of arrays, a layer is a function.

```python
from adjoint import nn
nn.softargmax(nn.relu(np.array([-1.0, 0.0, 1.0])))  # → [0.211941…, 0.211941…, 0.576116…]
```

Everything is loaded when it is first used.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.nn.activations import (
        elu,
        gelu,
        glu,
        hardmax,
        leaky_relu,
        log_softargmax,
        logistic,
        logsumexp,
        power,
        prelu,
        relu,
        selu,
        silu,
        softargmax,
        softargmax_inverse,
        softmax,
        softplus,
        step,
        swiglu,
    )
    from adjoint.nn.encoding import decode, in_simplex, log_product, log_sum, logit, one_hot

__all__ = [  # noqa: RUF022  (by subject)
    # activations
    "elu",
    "gelu",
    "glu",
    "hardmax",
    "leaky_relu",
    "log_softargmax",
    "logistic",
    "logsumexp",
    "power",
    "prelu",
    "relu",
    "selu",
    "silu",
    "softargmax",
    "softargmax_inverse",
    "softmax",
    "softplus",
    "step",
    "swiglu",
    # classes, probabilities, logarithms
    "decode",
    "in_simplex",
    "log_product",
    "log_sum",
    "logit",
    "one_hot",
]

# The file that defines each name.
_HOMES = {
    "activations": (
        "elu gelu glu hardmax leaky_relu log_softargmax logistic logsumexp power prelu relu selu silu softargmax "
        "softargmax_inverse softmax softplus step swiglu"
    ),
    "encoding": "decode in_simplex log_product log_sum logit one_hot",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'adjoint.nn' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    home, whole = import_module(f"adjoint.nn.{_HOME_OF[name]}"), f"adjoint.nn.{name}"
    value = home if home.__name__ == whole else getattr(home, name)
    globals()[name] = value  # from now on it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
