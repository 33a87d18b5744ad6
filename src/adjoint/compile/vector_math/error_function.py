"""erf.

For |x| < 1 erf x = x + x E(x²); beyond, erf x = 1 - e^Q(x) with Q = log erfc, for which few digits suffice as x grows.
"""

from __future__ import annotations

from adjoint.compile.vector_math.exponential import exp_polynomial, reduced
from adjoint.compile.vector_math.lanes import Lanes, at_most, fma, polynomial, sign_bit, where, with_sign

# erf(x) / x - 1 in powers of x², |x| <= 1, relative to erf: tools/minimax.py erf, erf_single.
ERF = {
    "double": (
        0.12837916709551256, -0.37612638903183343, 0.11283791670936891, -0.026866170641937286,
        0.005223977596454779, -0.0008548325466795841, 0.00012055279815688047, -1.4924450023662417e-05,
        1.6443927584662447e-06, -1.618205867139983e-07, 1.3607400038900915e-08, -7.588760955666212e-10,
    ),
    "float": (
        0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026,
        0.005187162198126316, -0.0007997852517291903, 7.806896610418335e-05,
    ),
}  # fmt: skip

# log erfc x, 1 <= x <= 6 (double), 4 (float), error times erfc: tools/minimax.py log_erfc, log_erfc_single.
LOG_ERFC = {
    "double": (
        -5.135005411475021e-07, -1.128373989239972, -0.6366440660429025, -0.10270225991975909,
        0.018987985714570006, 0.0004136143396860741, -0.0019190270777140388, 0.0007731091640992799,
        -0.00013659622951918667, -1.9502722183857208e-05, 2.25249183070103e-05, -8.576314010737912e-06,
        2.1142068124531497e-06, -3.694573069679494e-07, 4.591877374822438e-08, -3.888683046692518e-09,
        2.0195880456349136e-10, -4.863115328142369e-12,
    ),
    "float": (
        -0.0003538245218805969, -1.1270395517349243, -0.6382265686988831, -0.10303653031587601, 0.021804895251989365,
        -0.0029394999146461487, 0.00018556352006271482,
    ),
}  # fmt: skip


def erf(x: Lanes) -> Lanes:
    form = x.format
    a = abs(x)
    z = a * a
    near = fma(a, polynomial(z, ERF[form.scalar]), a)
    b = at_most(a, 6.0 if form.scalar == "double" else 4.0)
    r, bits = reduced(polynomial(b, LOG_ERFC[form.scalar]), form.bias)
    far = fma(exp_polynomial(r), -((bits << form.mantissa).float()), 1.0)
    return with_sign(where(a < 1.0, near, far), sign_bit(x))
