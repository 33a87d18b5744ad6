"""Differentiate and compile the NumPy code you already have.

>>> import numpy as np
>>> import adjoint as ad
>>> ad.grad(lambda x: np.sum(np.sin(x) ** 2))(np.ones(3))
array([0.90929743, 0.90929743, 0.90929743])
"""

import importlib
from typing import TYPE_CHECKING, Any

from adjoint import debug, numpy, scipy, tree
from adjoint.api import grad, jet, jvp, linear_transpose, linearize, stop_gradient, value_and_grad, vjp, vmap
from adjoint.base.progress import progress
from adjoint.base.scopes import scope
from adjoint.debug import check
from adjoint.derivatives import hessian, jacfwd, jacobian, jacrev
from adjoint.extend import checkpoint, checkpoint_name, custom_rule
from adjoint.flow import associative_scan, cond, fori_loop, map, scan, switch, while_loop  # noqa: A004
from adjoint.program.types import ArrayType
from adjoint.tracing import load, trace

if TYPE_CHECKING:
    from adjoint import audit, curvature, linear, memory, random, signal, sparse, testing
    from adjoint.audit import cost, kinks
    from adjoint.hessian_products import hvp
    from adjoint.jitting import jit
    from adjoint.linear.estimates_gradient import forward_gradient
    from adjoint.memory import memory_report, reversible
    from adjoint.series import derivative, laplacian, partials, taylor
    from adjoint.show import explain
    from adjoint.show.profile import profile
    from adjoint.testing import check_grads

__version__ = "0.1.0"

__all__ = [  # noqa: RUF022  (by subject)
    # derivatives
    "grad",
    "value_and_grad",
    "jvp",
    "vjp",
    "linearize",
    "linear_transpose",
    "jet",
    "jacfwd",
    "jacrev",
    "jacobian",
    "hessian",
    "hvp",
    "forward_gradient",
    "derivative",
    "taylor",
    "partials",
    "laplacian",
    "stop_gradient",
    # many at once
    "vmap",
    # machine code
    "jit",
    # loops and branches
    "cond",
    "switch",
    "scan",
    "while_loop",
    "fori_loop",
    "map",
    "associative_scan",
    # rules and memory
    "custom_rule",
    "checkpoint",
    "checkpoint_name",
    "memory",
    "memory_report",
    "reversible",
    # programs
    "trace",
    "load",
    "ArrayType",
    # looking and checking
    "explain",
    "audit",
    "cost",
    "kinks",
    "check",
    "check_grads",
    "debug",
    "progress",
    "scope",
    "profile",
    "testing",
    # linear maps
    "linear",
    # second order
    "curvature",
    # sparse derivatives
    "sparse",
    # names
    "numpy",
    "random",
    "scipy",
    "signal",
    "tree",
]

# Loaded when they are first used, so that `import adjoint` stays quick.
_LATER = {
    "audit": "adjoint.audit",
    "cost": "adjoint.audit",
    "explain": "adjoint.show",
    "kinks": "adjoint.audit",
    "curvature": "adjoint.curvature",
    "linear": "adjoint.linear",
    "memory": "adjoint.memory",
    "memory_report": "adjoint.memory",
    "reversible": "adjoint.memory",
    "profile": "adjoint.show.profile",
    "random": "adjoint.random",
    "signal": "adjoint.signal",
    "sparse": "adjoint.sparse",
    "testing": "adjoint.testing",
    "check_grads": "adjoint.testing",
    "hvp": "adjoint.hessian_products",
    "forward_gradient": "adjoint.linear.estimates_gradient",
    "jit": "adjoint.jitting",
    "derivative": "adjoint.series",
    "laplacian": "adjoint.series",
    "partials": "adjoint.series",
    "taylor": "adjoint.series",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'adjoint' has no attribute {name!r}")
    module = importlib.import_module(_LATER[name])
    return module if _LATER[name] == f"adjoint.{name}" else getattr(module, name)


def __dir__() -> list[str]:
    return sorted(__all__)
