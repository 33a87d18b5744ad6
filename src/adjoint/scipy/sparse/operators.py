"""Operators between traced values and plain sparse arrays of SciPy: `A @ x`, `x @ A`, `A * x`, `A + x`, `A / x`.

SciPy's operators leave an operand of which they know nothing to the operand's own operator; a traced value says so when
it is asked for an array.
"""

from __future__ import annotations

import operator
from typing import Any

from adjoint.base.errors import DtypeError
from adjoint.scipy.sparse.arrays import sparse_of
from adjoint.scipy.sparse.structure import is_plain_sparse

OPERATORS = {
    "matmul": operator.matmul,
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
}


def combined(op: Any, x: Any, y: Any) -> Any:
    """The operator of a primitive, where one of the two is a sparse array of SciPy and the other one traced."""
    function = OPERATORS.get(op.title)
    if function is None:
        raise DtypeError(f"{op.title} cannot combine a traced array with a sparse one: use A.toarray().")
    return function(*[sparse_of(value) if is_plain_sparse(value) else value for value in (x, y)])
