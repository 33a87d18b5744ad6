"""Differentiate and compile the NumPy code you already have.

```python
import numpy as np
import adjoint as ad
ad.grad(lambda x: np.sum(np.sin(x) ** 2))(np.ones(3))  # → [0.909297…, 0.909297…, 0.909297…]
```
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adjoint.base.garbage import loading
from adjoint.jit import jit  # bound before the folder of this name is

if TYPE_CHECKING:
    from adjoint import (
        audit,
        curvature,
        data,
        debug,
        extend,
        implicit,
        integrate,
        linear,
        memory,
        nn,
        numpy,
        optimize,
        random,
        scipy,
        signal,
        sparse,
        testing,
        tree,
    )
    from adjoint.api.checkpoint import checkpoint, checkpoint_name
    from adjoint.api.control_flow import associative_scan, cond, fori_loop, map, scan, switch, while_loop  # noqa: A004
    from adjoint.api.conversion import convert, do_not_convert, show_converted
    from adjoint.api.custom_rules import custom_rule
    from adjoint.api.gradients import (
        grad,
        jvp,
        linear_transpose,
        linearize,
        stop_gradient,
        value_and_grad,
        vjp,
        vmap,
    )
    from adjoint.api.hessian_products import hvp
    from adjoint.api.jacobians import hessian, jacfwd, jacobian, jacrev
    from adjoint.api.taylor import jet
    from adjoint.api.tracing import trace
    from adjoint.audit import cost, kinks
    from adjoint.base.config import config
    from adjoint.base.errors import (
        AdjointError,
        CaptureError,
        CheckError,
        ControlFlowError,
        DtypeError,
        LeakError,
        NonFiniteError,
        NotLinear,
        ProgramError,
        ReadOnlyError,
        RuleError,
        ShapeError,
        SolveError,
        TraceError,
        TreeError,
        UnsupportedError,
    )
    from adjoint.base.progress import progress
    from adjoint.base.scopes import scope
    from adjoint.debug import check
    from adjoint.deployment.exported import export
    from adjoint.deployment.loading import load
    from adjoint.linear.functions.forward_gradient import forward_gradient
    from adjoint.memory import memory_report, reversible
    from adjoint.program.types import ArrayType
    from adjoint.series import derivative, laplacian, partials, taylor
    from adjoint.show import explain
    from adjoint.show.profile.driver import profile
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
    # functions as they are written
    "convert",
    "do_not_convert",
    "show_converted",
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
    "export",
    "ArrayType",
    # looking and checking
    "explain",
    "audit",
    "cost",
    "kinks",
    "check",
    "check_grads",
    "debug",
    "extend",
    "config",
    "progress",
    "scope",
    "profile",
    "testing",
    # linear maps
    "linear",
    # solutions
    "implicit",
    "optimize",
    "integrate",
    # networks
    "nn",
    # second order
    "curvature",
    # sparse derivatives
    "sparse",
    # examples
    "data",
    # errors
    "AdjointError",
    "CaptureError",
    "CheckError",
    "ControlFlowError",
    "DtypeError",
    "LeakError",
    "NonFiniteError",
    "NotLinear",
    "ProgramError",
    "ReadOnlyError",
    "RuleError",
    "ShapeError",
    "SolveError",
    "TraceError",
    "TreeError",
    "UnsupportedError",
    # names
    "numpy",
    "random",
    "scipy",
    "signal",
    "tree",
]

# Everything is loaded when it is first used: the module that defines each name, and the modules that are names.
_HOMES = {
    "adjoint": "audit curvature data debug extend implicit integrate linear memory nn numpy optimize random scipy "
    "signal sparse testing tree",
    "adjoint.api.taylor": "jet",
    "adjoint.api.gradients": "grad jvp linear_transpose linearize stop_gradient value_and_grad vjp vmap",
    "adjoint.audit": "cost kinks",
    "adjoint.base.errors": (
        "AdjointError CaptureError CheckError ControlFlowError DtypeError LeakError NonFiniteError "
        "NotLinear ProgramError ReadOnlyError RuleError ShapeError SolveError TraceError TreeError UnsupportedError"
    ),
    "adjoint.base.config": "config",
    "adjoint.base.progress": "progress",
    "adjoint.base.scopes": "scope",
    "adjoint.debug": "check",
    "adjoint.api.jacobians": "hessian jacfwd jacobian jacrev",
    "adjoint.api.checkpoint": "checkpoint checkpoint_name",
    "adjoint.api.conversion": "convert do_not_convert show_converted",
    "adjoint.api.custom_rules": "custom_rule",
    "adjoint.api.control_flow": "associative_scan cond fori_loop map scan switch while_loop",
    "adjoint.api.hessian_products": "hvp",
    "adjoint.linear.functions.forward_gradient": "forward_gradient",
    "adjoint.memory": "memory_report reversible",
    "adjoint.program.types": "ArrayType",
    "adjoint.series": "derivative laplacian partials taylor",
    "adjoint.show": "explain",
    "adjoint.show.profile.driver": "profile",
    "adjoint.testing": "check_grads",
    "adjoint.api.tracing": "trace",
    "adjoint.deployment.exported": "export",
    "adjoint.deployment.loading": "load",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'adjoint' has no attribute {name!r}", name=name, obj=sys.modules[__name__])
    home = _HOME_OF[name]
    with loading():
        value = import_module(f"adjoint.{name}") if home == "adjoint" else getattr(import_module(home), name)
    globals()[name] = value  # from now on it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
