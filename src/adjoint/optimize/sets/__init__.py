"""Sets to stay in, each with its projection, its linear maximizer and its support function.

```python
from adjoint.optimize import sets
sets.simplex().project(np.array([0.5, -1.0, 2.0]))  # → [0.0, 0.0, 1.0]
sets.l1_ball(2.0).lmo(np.array([1.0, -3.0]))  # → [0.0, -2.0]
```
"""

from typing import TYPE_CHECKING

from adjoint.base.loading import open_lazily

if TYPE_CHECKING:
    from adjoint.optimize.sets.balls import (
        l1_ball,
        l1_sphere,
        l2_ball,
        l2_sphere,
        linf_ball,
        linf_sphere,
        nuclear_ball,
        weighted_l1_ball,
    )
    from adjoint.optimize.sets.boxes import box, box_section, capped_simplex, free, nonnegative
    from adjoint.optimize.sets.cones import exponential_cone, psd, second_order_cone
    from adjoint.optimize.sets.ellipsoids import mahalanobis_ball, weighted_l2_ball
    from adjoint.optimize.sets.half_spaces import affine, half_space, hyperplane
    from adjoint.optimize.sets.polyhedra import polyhedron
    from adjoint.optimize.sets.products import intersection, product
    from adjoint.optimize.sets.set import Set
    from adjoint.optimize.sets.simplices import order_simplex, simplex
    from adjoint.optimize.sets.transport import birkhoff, transport

__all__ = [
    "Set",
    "affine",
    "birkhoff",
    "box",
    "box_section",
    "capped_simplex",
    "exponential_cone",
    "free",
    "half_space",
    "hyperplane",
    "intersection",
    "l1_ball",
    "l1_sphere",
    "l2_ball",
    "l2_sphere",
    "linf_ball",
    "linf_sphere",
    "mahalanobis_ball",
    "nonnegative",
    "nuclear_ball",
    "order_simplex",
    "polyhedron",
    "product",
    "psd",
    "second_order_cone",
    "simplex",
    "transport",
    "weighted_l1_ball",
    "weighted_l2_ball",
]

# Everything is loaded when it is first used.
__getattr__, __dir__ = open_lazily(
    __name__,
    {
        "adjoint.optimize.sets.balls": "l1_ball l1_sphere l2_ball l2_sphere "
        "linf_ball linf_sphere nuclear_ball weighted_l1_ball",
        "adjoint.optimize.sets.boxes": "box box_section capped_simplex free nonnegative",
        "adjoint.optimize.sets.cones": "exponential_cone psd second_order_cone",
        "adjoint.optimize.sets.ellipsoids": "mahalanobis_ball weighted_l2_ball",
        "adjoint.optimize.sets.half_spaces": "affine half_space hyperplane",
        "adjoint.optimize.sets.polyhedra": "polyhedron",
        "adjoint.optimize.sets.products": "intersection product",
        "adjoint.optimize.sets.set": "Set",
        "adjoint.optimize.sets.simplices": "order_simplex simplex",
        "adjoint.optimize.sets.transport": "birkhoff transport",
    },
)
