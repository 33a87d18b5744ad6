"""Minimization, roots and least squares, for NumPy functions of any tree of numbers.

```python
from adjoint import optimize
found = optimize.minimize(lambda p: (p["a"] - 1.0) ** 2 + (p["b"] + 2.0) ** 2, {"a": 0.0, "b": 0.0})
found.status, float(np.round(found.value["b"], 6))  # → ('converged', -2.0)
```
"""

from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from adjoint.base.loading import open_lazily
from adjoint.base.source import name_options

if TYPE_CHECKING:
    from adjoint.optimize import certificates, manifolds, proximal, sets, updates
    from adjoint.optimize.bilevel import bilevel
    from adjoint.optimize.comparison import Comparison, Trial, compare
    from adjoint.optimize.composite.coordinates import BlockCoordinateDescent
    from adjoint.optimize.composite.frank_wolfe import FrankWolfe
    from adjoint.optimize.composite.mirror_descent import ExponentiatedGradient, MirrorDescent
    from adjoint.optimize.composite.proximal_gradient import FISTA, ProjectedGradient, ProximalGradient
    from adjoint.optimize.composite.proximal_newton import ProximalNewton, ProximalQuasiNewton
    from adjoint.optimize.composite.splitting import ADMM, ThreeOperatorSplitting
    from adjoint.optimize.constrained.barrier import LogBarrier
    from adjoint.optimize.constrained.constraints import between, equality, inequality
    from adjoint.optimize.constrained.sparse_solvers import Uno
    from adjoint.optimize.first_order.conjugate_gradients import ConjugateGradients
    from adjoint.optimize.first_order.gradient_descent import GradientDescent
    from adjoint.optimize.first_order.momentum import HeavyBall, Nesterov
    from adjoint.optimize.iteration import Iterate
    from adjoint.optimize.least_squares.fit import Fit, Propagated
    from adjoint.optimize.least_squares.fitting import curve_fit, least_squares
    from adjoint.optimize.least_squares.gauss_newton import GaussNewton
    from adjoint.optimize.least_squares.marquardt import LevenbergMarquardt
    from adjoint.optimize.least_squares.sparse_marquardt import SparseMarquardt
    from adjoint.optimize.manifolds.on_manifold import OnManifold
    from adjoint.optimize.minimizing import minimize
    from adjoint.optimize.multistart import best_of, multistart
    from adjoint.optimize.optimum import Optimum
    from adjoint.optimize.paths import SolutionPath, path
    from adjoint.optimize.plots import contours
    from adjoint.optimize.programs.conic import conic
    from adjoint.optimize.programs.mixed_integer import milp
    from adjoint.optimize.programs.quadratic import lp, qp
    from adjoint.optimize.roots.anderson import Anderson, Picard
    from adjoint.optimize.roots.newton import Broyden, NewtonRoot
    from adjoint.optimize.roots.solving import fixed_point, root
    from adjoint.optimize.saddle import saddle
    from adjoint.optimize.scalars.brackets import ITP, Bisection, Brent, Chandrupatla
    from adjoint.optimize.scalars.minima import Golden, Parabolic
    from adjoint.optimize.scalars.open_methods import Halley, Newton1D, Secant
    from adjoint.optimize.scalars.solving import minimize_scalar, root_scalar
    from adjoint.optimize.searches.armijo import Armijo
    from adjoint.optimize.searches.hager_zhang import HagerZhang
    from adjoint.optimize.searches.strong_wolfe import StrongWolfe
    from adjoint.optimize.second_order.bfgs import BFGS
    from adjoint.optimize.second_order.cubic import CubicNewton
    from adjoint.optimize.second_order.lbfgs import LBFGS
    from adjoint.optimize.second_order.lbfgsb import LBFGSB
    from adjoint.optimize.second_order.newton import Newton, is_descent_direction
    from adjoint.optimize.second_order.newton_cg import NewtonCG
    from adjoint.optimize.second_order.prox_linear import prox_linear
    from adjoint.optimize.second_order.sparse_newton import SparseNewton
    from adjoint.optimize.second_order.trust_region import TrustRegion
    from adjoint.optimize.stochastic.armijo import StochasticArmijo
    from adjoint.optimize.stochastic.curved import NaturalGradient, StochasticGaussNewton, StochasticNewton
    from adjoint.optimize.stochastic.epochs import Epoch
    from adjoint.optimize.stochastic.kfac import KFAC
    from adjoint.optimize.stochastic.objectives import FiniteSum
    from adjoint.optimize.stochastic.stepping import TrainingState, training_step
    from adjoint.optimize.stochastic.trained import Trained
    from adjoint.optimize.stochastic.training import train
    from adjoint.optimize.stochastic.variance_reduced import SAGA, SVRG

__all__ = [
    "ADMM",
    "BFGS",
    "FISTA",
    "ITP",
    "KFAC",
    "LBFGS",
    "LBFGSB",
    "SAGA",
    "SVRG",
    "Anderson",
    "Armijo",
    "Bisection",
    "BlockCoordinateDescent",
    "Brent",
    "Broyden",
    "Chandrupatla",
    "Comparison",
    "ConjugateGradients",
    "CubicNewton",
    "Epoch",
    "ExponentiatedGradient",
    "FiniteSum",
    "Fit",
    "FrankWolfe",
    "GaussNewton",
    "Golden",
    "GradientDescent",
    "HagerZhang",
    "Halley",
    "HeavyBall",
    "Iterate",
    "LevenbergMarquardt",
    "LogBarrier",
    "MirrorDescent",
    "NaturalGradient",
    "Nesterov",
    "Newton",
    "Newton1D",
    "NewtonCG",
    "NewtonRoot",
    "OnManifold",
    "Optimum",
    "Parabolic",
    "Picard",
    "ProjectedGradient",
    "Propagated",
    "ProximalGradient",
    "ProximalNewton",
    "ProximalQuasiNewton",
    "Secant",
    "SolutionPath",
    "SparseMarquardt",
    "SparseNewton",
    "StochasticArmijo",
    "StochasticGaussNewton",
    "StochasticNewton",
    "StrongWolfe",
    "ThreeOperatorSplitting",
    "Trained",
    "TrainingState",
    "Trial",
    "TrustRegion",
    "Uno",
    "best_of",
    "between",
    "bilevel",
    "certificates",
    "compare",
    "conic",
    "contours",
    "curve_fit",
    "equality",
    "fixed_point",
    "inequality",
    "is_descent_direction",
    "least_squares",
    "lp",
    "manifolds",
    "milp",
    "minimize",
    "minimize_scalar",
    "multistart",
    "path",
    "prox_linear",
    "proximal",
    "qp",
    "root",
    "root_scalar",
    "saddle",
    "sets",
    "train",
    "training_step",
    "updates",
]

# Everything is loaded when it is first used: the modules that are names, and the files that define the others.
_HOMES = {
    "adjoint.optimize": "certificates manifolds proximal sets updates",
    "adjoint.optimize.bilevel": "bilevel",
    "adjoint.optimize.comparison": "Comparison Trial compare",
    "adjoint.optimize.composite.coordinates": "BlockCoordinateDescent",
    "adjoint.optimize.composite.frank_wolfe": "FrankWolfe",
    "adjoint.optimize.composite.mirror_descent": "ExponentiatedGradient MirrorDescent",
    "adjoint.optimize.composite.proximal_gradient": "FISTA ProjectedGradient ProximalGradient",
    "adjoint.optimize.composite.proximal_newton": "ProximalNewton ProximalQuasiNewton",
    "adjoint.optimize.composite.splitting": "ADMM ThreeOperatorSplitting",
    "adjoint.optimize.constrained.barrier": "LogBarrier",
    "adjoint.optimize.constrained.constraints": "between equality inequality",
    "adjoint.optimize.constrained.sparse_solvers": "Uno",
    "adjoint.optimize.first_order.conjugate_gradients": "ConjugateGradients",
    "adjoint.optimize.first_order.gradient_descent": "GradientDescent",
    "adjoint.optimize.first_order.momentum": "HeavyBall Nesterov",
    "adjoint.optimize.iteration": "Iterate",
    "adjoint.optimize.least_squares.fit": "Fit Propagated",
    "adjoint.optimize.least_squares.fitting": "curve_fit least_squares",
    "adjoint.optimize.least_squares.gauss_newton": "GaussNewton",
    "adjoint.optimize.least_squares.marquardt": "LevenbergMarquardt",
    "adjoint.optimize.least_squares.sparse_marquardt": "SparseMarquardt",
    "adjoint.optimize.manifolds.on_manifold": "OnManifold",
    "adjoint.optimize.minimizing": "minimize",
    "adjoint.optimize.multistart": "best_of multistart",
    "adjoint.optimize.optimum": "Optimum",
    "adjoint.optimize.paths": "SolutionPath path",
    "adjoint.optimize.plots": "contours",
    "adjoint.optimize.programs.conic": "conic",
    "adjoint.optimize.programs.mixed_integer": "milp",
    "adjoint.optimize.programs.quadratic": "lp qp",
    "adjoint.optimize.roots.anderson": "Anderson Picard",
    "adjoint.optimize.roots.newton": "Broyden NewtonRoot",
    "adjoint.optimize.roots.solving": "fixed_point root",
    "adjoint.optimize.saddle": "saddle",
    "adjoint.optimize.scalars.brackets": "ITP Bisection Brent Chandrupatla",
    "adjoint.optimize.scalars.minima": "Golden Parabolic",
    "adjoint.optimize.scalars.open_methods": "Halley Newton1D Secant",
    "adjoint.optimize.scalars.solving": "minimize_scalar root_scalar",
    "adjoint.optimize.searches.armijo": "Armijo",
    "adjoint.optimize.searches.hager_zhang": "HagerZhang",
    "adjoint.optimize.searches.strong_wolfe": "StrongWolfe",
    "adjoint.optimize.second_order.bfgs": "BFGS",
    "adjoint.optimize.second_order.cubic": "CubicNewton",
    "adjoint.optimize.second_order.lbfgs": "LBFGS",
    "adjoint.optimize.second_order.lbfgsb": "LBFGSB",
    "adjoint.optimize.second_order.newton": "Newton is_descent_direction",
    "adjoint.optimize.second_order.newton_cg": "NewtonCG",
    "adjoint.optimize.second_order.prox_linear": "prox_linear",
    "adjoint.optimize.second_order.sparse_newton": "SparseNewton",
    "adjoint.optimize.second_order.trust_region": "TrustRegion",
    "adjoint.optimize.stochastic.armijo": "StochasticArmijo",
    "adjoint.optimize.stochastic.curved": "NaturalGradient StochasticGaussNewton StochasticNewton",
    "adjoint.optimize.stochastic.kfac": "KFAC",
    "adjoint.optimize.stochastic.objectives": "FiniteSum",
    "adjoint.optimize.stochastic.stepping": "TrainingState training_step",
    "adjoint.optimize.stochastic.epochs": "Epoch",
    "adjoint.optimize.stochastic.trained": "Trained",
    "adjoint.optimize.stochastic.training": "train",
    "adjoint.optimize.stochastic.variance_reduced": "SAGA SVRG",
}
_find, __dir__ = open_lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    value = _find(name)
    if isinstance(value, type) and is_dataclass(value):
        name_options(value)
    return value
