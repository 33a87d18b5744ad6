"""Minimization, roots and least squares, for NumPy functions of any tree of numbers.

```python
from adjoint import optimize
found = optimize.minimize(lambda p: (p["a"] - 1.0) ** 2 + (p["b"] + 2.0) ** 2, {"a": 0.0, "b": 0.0})
found.status, float(np.round(found.value["b"], 6))  # → ('converged', -2.0)
```
"""

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
from adjoint.optimize.scalars.brackets import ITP, Bisection, Chandrupatla
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
from adjoint.optimize.stochastic.kfac import KFAC
from adjoint.optimize.stochastic.objectives import FiniteSum
from adjoint.optimize.stochastic.stepping import TrainingState, training_step
from adjoint.optimize.stochastic.trained import Epoch, Trained
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
