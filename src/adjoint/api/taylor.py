"""Taylor mode: higher derivatives along a curve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from adjoint import tree
from adjoint.api.function import Function, transformation
from adjoint.api.gradients import all_arguments
from adjoint.api.linearized import tangents_of
from adjoint.base.errors import ShapeError
from adjoint.base.source import here
from adjoint.program.trace import running
from adjoint.program.types import Value, type_of
from adjoint.transform.arguments import fresh, leave_trace, run
from adjoint.transform.drivers import check_leaf
from adjoint.transform.nonfinite import active_watch, lift
from adjoint.transform.taylor import Known, Taylor, TaylorTracer

__all__ = ["jet"]


@transformation
def jet(function: Function, primals: Sequence[tree.Tree], series: Sequence[tree.Tree]) -> tuple[tree.Tree, tree.Tree]:
    """Taylor mode: derivatives of t ↦ f(x(t)) up to any order, from those of x.

    `series[i]` lists the first, second, … derivatives of argument i at t = 0 (each like primals[i]). Returns (f(x),
    [first, second, …]). The cost of each product grows with the square of the order.

    ```python
    ad.jet(np.exp, (0.0,), ((1.0, 0.0, 0.0),))  # → (1.0, [1.0, 1.0, 1.0])
    ```
    """
    chosen = all_arguments(function, primals, "jet")
    if len(series) != len(primals):
        raise TypeError(
            f"jet: {len(primals)} primals but {len(series)} series. Give a list of derivatives for each argument: "
            "jet(f, (x,), ([v, w],))."
        )
    orders = {len(s) for s in series}
    if len(orders) != 1:
        raise ShapeError(f"jet: all series must have the same number of terms; got {sorted(orders)}.")
    order = orders.pop()
    terms = [tangents_of(chosen, tuple(s[k] for s in series), f"jet series of order {k + 1}") for k in range(order)]
    trace = Taylor(order)
    with running(trace):
        trace.started = here()
        inputs = [
            TaylorTracer(
                trace,
                Known(
                    [v, *[None if terms[k][i] is None else terms[k][i] / math.factorial(k + 1) for k in range(order)]]
                ),
            )
            for i, v in enumerate(lift(chosen.values, active_watch()))
        ]
        y = run(trace, lambda: chosen.call(chosen.completed(inputs)))
        leaves, structure = tree.flatten(y)
        leaves = [check_leaf(leaf) for leaf in leaves]
        found = [trace.coefficients(leaf._series) if _mine(leaf, trace) else [leaf] + [None] * order for leaf in leaves]
    values = [c[0] for c in found]
    out = [
        [type_of(v).zeros() if c[k] is None else c[k] * math.factorial(k) for v, c in zip(values, found, strict=True)]
        for k in range(1, order + 1)
    ]
    result = tree.unflatten(structure, fresh([leave_trace(v, trace, chosen.values) for v in values]))
    return result, [tree.unflatten(structure, fresh(terms_k)) for terms_k in out]


def _mine(leaf: Value, trace: Any) -> bool:
    return isinstance(leaf, TaylorTracer) and leaf._trace is trace
