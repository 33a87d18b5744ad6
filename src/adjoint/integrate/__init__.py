"""Differential equations and integrals, with exact derivatives.

```python
from adjoint import integrate
path = integrate.solve(lambda t, y: -y, (0.0, 1.0), 1.0)
path.status, float(np.round(path.last, 6))  # → ('finished', 0.367879)
```
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint.integrate.adams import Adams
    from adjoint.integrate.adjoints.comparison import AdjointComparison, compare_adjoints
    from adjoint.integrate.bdf import BDF
    from adjoint.integrate.boundary import BoundarySolution, solve_boundary
    from adjoint.integrate.choosing import choose, methods
    from adjoint.integrate.closed_form import linear
    from adjoint.integrate.control import Controller
    from adjoint.integrate.controlled import Path, solve_cde
    from adjoint.integrate.diagonal import DiagonallyImplicit
    from adjoint.integrate.events import Event
    from adjoint.integrate.explicit import RungeKutta
    from adjoint.integrate.flows import Flow, flow
    from adjoint.integrate.hamiltonian import Hamiltonian
    from adjoint.integrate.properties import order, stability_function
    from adjoint.integrate.quadrature.integral import Integral, quad
    from adjoint.integrate.quadrature.rules import gauss
    from adjoint.integrate.quadrature.sampling import monte_carlo, qmc
    from adjoint.integrate.quadrature.several import cubature, nquad
    from adjoint.integrate.radau import Radau
    from adjoint.integrate.rosenbrock import Rosenbrock
    from adjoint.integrate.solving import solve
    from adjoint.integrate.splitting import Split
    from adjoint.integrate.steady import SteadyState, steady_state
    from adjoint.integrate.stochastic.brownian import Brownian
    from adjoint.integrate.stochastic.methods import StochasticMethod, stochastic_methods
    from adjoint.integrate.stochastic.solve import solve_sde
    from adjoint.integrate.structure import AsynchronousLeapfrog, Reversible, ReversibleHeun, Symplectic
    from adjoint.integrate.switching import Switching
    from adjoint.integrate.taylor import Taylor
    from adjoint.integrate.trajectory import Trajectory

__all__ = [
    "BDF",
    "Adams",
    "AdjointComparison",
    "AsynchronousLeapfrog",
    "BoundarySolution",
    "Brownian",
    "Controller",
    "DiagonallyImplicit",
    "Event",
    "Flow",
    "Hamiltonian",
    "Integral",
    "Path",
    "Radau",
    "Reversible",
    "ReversibleHeun",
    "Rosenbrock",
    "RungeKutta",
    "Split",
    "SteadyState",
    "StochasticMethod",
    "Switching",
    "Symplectic",
    "Taylor",
    "Trajectory",
    "choose",
    "compare_adjoints",
    "cubature",
    "flow",
    "gauss",
    "linear",
    "methods",
    "monte_carlo",
    "nquad",
    "order",
    "qmc",
    "quad",
    "solve",
    "solve_boundary",
    "solve_cde",
    "solve_sde",
    "stability_function",
    "steady_state",
    "stochastic_methods",
]

# Everything is loaded when it is first used.
_HOMES = {
    "adjoint.integrate.adjoints.comparison": "AdjointComparison compare_adjoints",
    "adjoint.integrate.adams": "Adams",
    "adjoint.integrate.boundary": "BoundarySolution solve_boundary",
    "adjoint.integrate.bdf": "BDF",
    "adjoint.integrate.radau": "Radau",
    "adjoint.integrate.splitting": "Split",
    "adjoint.integrate.steady": "SteadyState steady_state",
    "adjoint.integrate.choosing": "choose methods",
    "adjoint.integrate.control": "Controller",
    "adjoint.integrate.controlled": "Path solve_cde",
    "adjoint.integrate.flows": "Flow flow",
    "adjoint.integrate.hamiltonian": "Hamiltonian",
    "adjoint.integrate.diagonal": "DiagonallyImplicit",
    "adjoint.integrate.events": "Event",
    "adjoint.integrate.closed_form": "linear",
    "adjoint.integrate.properties": "order stability_function",
    "adjoint.integrate.explicit": "RungeKutta",
    "adjoint.integrate.rosenbrock": "Rosenbrock",
    "adjoint.integrate.quadrature.integral": "Integral quad",
    "adjoint.integrate.quadrature.rules": "gauss",
    "adjoint.integrate.quadrature.sampling": "monte_carlo qmc",
    "adjoint.integrate.quadrature.several": "cubature nquad",
    "adjoint.integrate.solving": "solve",
    "adjoint.integrate.stochastic.brownian": "Brownian",
    "adjoint.integrate.stochastic.methods": "StochasticMethod stochastic_methods",
    "adjoint.integrate.stochastic.solve": "solve_sde",
    "adjoint.integrate.structure": "AsynchronousLeapfrog Reversible ReversibleHeun Symplectic",
    "adjoint.integrate.switching": "Switching",
    "adjoint.integrate.taylor": "Taylor",
    "adjoint.integrate.trajectory": "Trajectory",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        if name.startswith("__"):
            raise AttributeError(name)
        elsewhere = import_module("adjoint.integrate.elsewhere")
        message = elsewhere.explain_name("module 'adjoint.integrate'", name, elsewhere.MODULE, __all__)
        raise AttributeError(message, name=name)
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value  # from now on it is found without this function
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
