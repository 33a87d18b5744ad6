"""Differentiate and compile the NumPy code you already have."""

import importlib
from typing import TYPE_CHECKING, Any

from adjoint import debug, numpy, tree
from adjoint.api import grad, jet, jvp, linear_transpose, linearize, stop_gradient, value_and_grad, vjp, vmap
from adjoint.base.progress import progress
from adjoint.base.scopes import scope
from adjoint.debug import check
from adjoint.derivatives import hessian, hvp, jacfwd, jacobian, jacrev
from adjoint.extend import checkpoint, custom_rule
from adjoint.flow import associative_scan, cond, fori_loop, map, scan, switch, while_loop  # noqa: A004
from adjoint.program.types import ArrayType
from adjoint.tracing import load, trace

__version__ = "0.1.0"

if TYPE_CHECKING:
    from adjoint import random


def __getattr__(name: str) -> Any:
    if name == "random":  # loaded when it is first used
        return importlib.import_module("adjoint.random")
    raise AttributeError(f"module 'adjoint' has no attribute {name!r}")
