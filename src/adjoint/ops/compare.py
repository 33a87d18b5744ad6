"""Comparisons, rounding, tests and bit operations: piecewise constant, so their derivative is zero."""

import numpy as np

from adjoint.ops.pointwise import FlatUfunc

for _function in (
    *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
    *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
    *(np.isnan, np.isinf, np.isfinite, np.signbit),
    *(np.floor, np.ceil, np.rint, np.trunc, np.sign, np.floor_divide, np.spacing),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift, np.bitwise_count),
    *(np.gcd, np.lcm),
):
    FlatUfunc(_function)
