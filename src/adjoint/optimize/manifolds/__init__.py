"""Manifolds on which the methods of `optimize` run: spheres, orthonormal columns, subspaces, rotations, SPD matrices.

```python
from adjoint.optimize import manifolds
manifolds.sphere().retract(np.array([1.0, 0.0]), np.array([0.0, 0.75]))  # → [0.8, 0.6]
```
"""

from adjoint.optimize.manifolds.manifold import Manifold, grassmann, product, rotations, spd, sphere, stiefel

__all__ = ["Manifold", "grassmann", "product", "rotations", "spd", "sphere", "stiefel"]
