"""Update rules of stochastic optimization: pairs of init and update that compose, and schedules for their numbers.

```python
from adjoint.optimize import updates
rule = updates.chain(updates.clip_by_norm(1.0), updates.adamw(updates.cosine(1e-3, 1000)))
state = rule.init(np.zeros(2))
step, state = rule.update(np.array([3.0, -4.0]), state, np.zeros(2))
np.round(updates.apply(np.zeros(2), step), 9)  # → [-0.001, 0.001]
```
"""

from adjoint.base.suggestions import did_you_mean
from adjoint.optimize.updates.adaptive import (
    scale_by_adadelta,
    scale_by_adagrad,
    scale_by_adam,
    scale_by_adamax,
    scale_by_lion,
    scale_by_momentum,
    scale_by_radam,
    scale_by_rmsprop,
)
from adjoint.optimize.updates.averages import accumulate, average, averaged, lookahead, on_plateau
from adjoint.optimize.updates.elsewhere import ELSEWHERE
from adjoint.optimize.updates.groups import frozen, groups, masked
from adjoint.optimize.updates.named import (
    adadelta,
    adagrad,
    adam,
    adamax,
    adamw,
    amsgrad,
    lamb,
    lion,
    momentum,
    nadam,
    nesterov,
    radam,
    rmsprop,
    sgd,
)
from adjoint.optimize.updates.rule import Rule, apply, chain
from adjoint.optimize.updates.scaling import (
    add_decayed_weights,
    clip_by_leaf_norm,
    clip_by_norm,
    clip_by_value,
    global_norm,
    identity,
    scale,
    scale_by_schedule,
    scale_by_sign,
    scale_by_trust_ratio,
)
from adjoint.optimize.updates.schedules import (
    Schedule,
    constant,
    cosine,
    cosine_restarts,
    exponential,
    inverse_sqrt,
    join,
    linear,
    one_cycle,
    piecewise,
    polynomial,
    warm_up,
)

__all__ = [
    "Rule",
    "Schedule",
    "accumulate",
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "add_decayed_weights",
    "amsgrad",
    "apply",
    "average",
    "averaged",
    "chain",
    "clip_by_leaf_norm",
    "clip_by_norm",
    "clip_by_value",
    "constant",
    "cosine",
    "cosine_restarts",
    "exponential",
    "frozen",
    "global_norm",
    "groups",
    "identity",
    "inverse_sqrt",
    "join",
    "lamb",
    "linear",
    "lion",
    "lookahead",
    "masked",
    "momentum",
    "nadam",
    "nesterov",
    "on_plateau",
    "one_cycle",
    "piecewise",
    "polynomial",
    "radam",
    "rmsprop",
    "scale",
    "scale_by_adadelta",
    "scale_by_adagrad",
    "scale_by_adam",
    "scale_by_adamax",
    "scale_by_lion",
    "scale_by_momentum",
    "scale_by_radam",
    "scale_by_rmsprop",
    "scale_by_schedule",
    "scale_by_sign",
    "scale_by_trust_ratio",
    "sgd",
    "warm_up",
]


def __getattr__(name: str) -> object:
    if name.startswith("__"):
        raise AttributeError(name)
    remedy = f"Here it is {ELSEWHERE[name]}." if name in ELSEWHERE else did_you_mean(name, __all__)
    raise AttributeError(
        f"module 'adjoint.optimize.updates' has no attribute {name!r}. {remedy}".rstrip(" ."), name=name
    )
