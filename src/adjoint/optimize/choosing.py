"""Which method: objects, names of ours, names of SciPy's, or the one that fits the problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjoint.base.loading import deferred
from adjoint.base.suggestions import did_you_mean
from adjoint.optimize.limits import is_method
from adjoint.optimize.problem import Problem

if TYPE_CHECKING:
    from adjoint.optimize.first_order.conjugate_gradients import ConjugateGradients
    from adjoint.optimize.first_order.gradient_descent import GradientDescent
    from adjoint.optimize.second_order.bfgs import BFGS
    from adjoint.optimize.second_order.cubic import CubicNewton
    from adjoint.optimize.second_order.lbfgs import LBFGS
    from adjoint.optimize.second_order.lbfgsb import LBFGSB
    from adjoint.optimize.second_order.newton import Newton
    from adjoint.optimize.second_order.newton_cg import NewtonCG
    from adjoint.optimize.second_order.sparse_newton import SparseNewton
    from adjoint.optimize.second_order.trust_region import TrustRegion
else:
    ConjugateGradients = deferred("adjoint.optimize.first_order.conjugate_gradients", "ConjugateGradients")
    GradientDescent = deferred("adjoint.optimize.first_order.gradient_descent", "GradientDescent")
    BFGS = deferred("adjoint.optimize.second_order.bfgs", "BFGS")
    CubicNewton = deferred("adjoint.optimize.second_order.cubic", "CubicNewton")
    LBFGS = deferred("adjoint.optimize.second_order.lbfgs", "LBFGS")
    LBFGSB = deferred("adjoint.optimize.second_order.lbfgsb", "LBFGSB")
    Newton = deferred("adjoint.optimize.second_order.newton", "Newton")
    NewtonCG = deferred("adjoint.optimize.second_order.newton_cg", "NewtonCG")
    SparseNewton = deferred("adjoint.optimize.second_order.sparse_newton", "SparseNewton")
    TrustRegion = deferred("adjoint.optimize.second_order.trust_region", "TrustRegion")

__all__ = ["CONSTRAINED", "METHODS", "SCIPY", "choose_method", "is_plain"]

METHODS: dict[str, Callable[[], Any]] = {
    "gradient descent": GradientDescent,
    "bfgs": BFGS,
    "lbfgs": LBFGS,
    "lbfgsb": LBFGSB,
    "trust-exact": TrustRegion,
    "newton": Newton,
    "saddle-free": lambda: Newton(curvature="absolute"),
    "cubic": CubicNewton,
    "newton-cg": NewtonCG,
    "newton-sparse": SparseNewton,
    "dogleg": lambda: TrustRegion(step_rule="dogleg"),
    "cg": ConjugateGradients,
}
_SYNONYMS = {
    "gd": "gradient descent",
    "l-bfgs": "lbfgs",
    "l-bfgs-b": "lbfgsb",
    "trust-region": "trust-exact",
    "trust-ncg": "newton-cg",
}
CONSTRAINED = frozenset({"sqp", "augmented lagrangian", "interior point", "uno"})  # also where there is no constraint
SCIPY = ("nelder-mead", "powell", "tnc", "cobyla", "cobyqa", "slsqp", "trust-constr", "trust-krylov")
MATRIX = 300  # unknowns up to which an n × n matrix is kept


def is_plain(method: Any) -> bool:
    """Whether it is a method that takes plain arrays only, such as those of SciPy."""
    if isinstance(method, str):
        return method.lower().replace("_", "-") in {*SCIPY, "newton-sparse"}
    return getattr(method, "plain", False)


def choose_method(title: str, method: Any, problem: Problem) -> Any:
    """The method, or the name of one of SciPy's."""
    if method == "auto":
        method = "lbfgsb" if problem.bounded else "bfgs" if problem.size <= MATRIX else "lbfgs"
    if isinstance(method, str):
        name = method.lower().replace("_", "-")
        name = _SYNONYMS.get(name, name)
        name = name if name in METHODS or name in SCIPY else name.replace("-", " ")
        if name in SCIPY:
            return name
        if name not in METHODS:
            known = [*METHODS, *SCIPY]
            near = did_you_mean(method, known)
            raise ValueError(f"{title}: {method!r} is no method. {near or 'They are: ' + ', '.join(known) + '.'}")
        if name == "lbfgs" and problem.bounded:
            name = "lbfgsb"  # the same method within bounds
        method = METHODS[name]()
    if not is_method(title, method):
        raise TypeError(f"{title}: method is a {type(method).__name__}; it is the name of a method, or an object with "
                        "init(problem, x), step(problem, x, state), done(problem, x, state) and needs.")  # fmt: skip
    if problem.bounded and not getattr(method, "bounds", False):
        raise ValueError(
            f"{title}: {type(method).__name__} takes no bounds. Use method='lbfgsb', 'trust-exact', or 'auto'."
        )
    for name in method.needs:
        problem.require(name, method)
    return method
