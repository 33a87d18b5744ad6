"""NumPy's ufuncs."""

from adjoint.coverage.table import Table

UFUNCS = Table("numpy")

# arithmetic
UFUNCS.differentiable("add subtract multiply divide true_divide negative positive power pow float_power reciprocal")
UFUNCS.differentiable("square sqrt cbrt hypot abs absolute fabs copysign")
UFUNCS.differentiable("remainder mod fmod divmod modf")
UFUNCS.differentiable("ldexp", "x1")
UFUNCS.differentiable("frexp nextafter")
UFUNCS.differentiable("maximum minimum fmax fmin")
UFUNCS.differentiable("conj conjugate")
UFUNCS.differentiable("matmul vecdot")
UFUNCS.differentiable("matvec vecmat", since="2.2")
# exponentials and logarithms
UFUNCS.differentiable("exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2")
# angles
UFUNCS.differentiable("sin cos tan arcsin asin arccos acos arctan atan arctan2 atan2")
UFUNCS.differentiable("sinh cosh tanh arcsinh asinh arccosh acosh arctanh atanh")
UFUNCS.differentiable("deg2rad radians rad2deg degrees")

# steps
UFUNCS.constant("floor ceil rint trunc floor_divide sign spacing")
UFUNCS.differentiable("heaviside", "x2")
# comparisons and truth
UFUNCS.constant("equal not_equal less less_equal greater greater_equal")
UFUNCS.constant("logical_and logical_or logical_xor logical_not isnan isinf isfinite signbit")
# integers
UFUNCS.constant("bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_invert invert bitwise_count gcd lcm")
UFUNCS.constant("left_shift bitwise_left_shift right_shift bitwise_right_shift")

UFUNCS.refused(
    "isnat",
    "it asks whether dates are missing, and a date is never traced",
    "Ask it of the plain dates, outside; np.isnan is for numbers",
)
