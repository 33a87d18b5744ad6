"""The public packages, and their names."""

import importlib
from types import ModuleType
from typing import Any

# Packages whose names are our own; those of the mirrors of NumPy, SciPy and autograd stand in tables.
OWN = (
    "adjoint",
    "adjoint.audit",
    "adjoint.curvature",
    "adjoint.data",
    "adjoint.debug",
    "adjoint.extend",
    "adjoint.implicit",
    "adjoint.implicit.conditions",
    "adjoint.integrate",
    "adjoint.linear",
    "adjoint.memory",
    "adjoint.nn",
    "adjoint.nn.evaluation.calibration",
    "adjoint.nn.evaluation.conformal",
    "adjoint.nn.evaluation.conformal_scores",
    "adjoint.nn.initializers",
    "adjoint.nn.losses",
    "adjoint.optimize",
    "adjoint.optimize.certificates",
    "adjoint.optimize.manifolds",
    "adjoint.optimize.proximal",
    "adjoint.optimize.sets",
    "adjoint.optimize.updates",
    "adjoint.random",
    "adjoint.series",
    "adjoint.show",
    "adjoint.signal",
    "adjoint.sparse",
    "adjoint.testing",
    "adjoint.tree",
)


def names_of(package: str) -> dict[str, Any]:
    """The public names of a package that are no packages themselves, with their values."""
    module = importlib.import_module(package)
    values = {name: getattr(module, name) for name in module.__all__}
    return {name: value for name, value in values.items() if not isinstance(value, ModuleType)}
