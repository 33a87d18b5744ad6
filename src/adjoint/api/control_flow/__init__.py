"""Control flow as functions: cond, switch, scan, while_loop, fori_loop, map, associative_scan.

All transformations pass through them.

Plain Python control flow works too in every eager transformation; these are for loops that should stay loops, and for
traced programs. Bodies are traced once, so a value-dependent `if` inside them has to be a `cond`.
"""

import adjoint.api.gradients  # pyright: ignore[reportUnusedImport]  (loads the primitives that bodies are recorded with)
from adjoint.api.control_flow.branches import cond, switch
from adjoint.api.control_flow.loops import Checkpoint, fori_loop, scan, while_loop
from adjoint.api.control_flow.stacks import associative_scan, map  # noqa: A004

__all__ = ["Checkpoint", "associative_scan", "cond", "fori_loop", "map", "scan", "switch", "while_loop"]
