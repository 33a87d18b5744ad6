"""scipy.special: its Python functions, and its ufuncs."""

from adjoint.coverage.special_ufuncs import UFUNCS
from adjoint.coverage.table import SIZES, Table

SPECIAL = Table("scipy.special")
SPECIAL.include(UFUNCS)

RULE = "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)"

# reductions and counts
SPECIAL.differentiable("logsumexp softmax log_softmax", own=True)
SPECIAL.differentiable("softplus", own=True, since="1.16")
SPECIAL.differentiable("comb perm factorial factorial2", own=True)
SPECIAL.differentiable("factorialk", "n", own=True)
# gamma, zeta and others
SPECIAL.differentiable("sinc")
SPECIAL.differentiable("zeta", own=True)
SPECIAL.differentiable("lambertw", "z", own=True)
SPECIAL.differentiable("diric polygamma", "x", own=True)
SPECIAL.differentiable("multigammaln", "a", own=True)
# Bessel and parabolic cylinder functions
SPECIAL.differentiable("jvp yvp ivp kvp h1vp h2vp", "v, z", own=True)
SPECIAL.differentiable("spherical_jn spherical_yn spherical_in spherical_kn", "z", own=True)
SPECIAL.differentiable("riccati_jn riccati_yn lmbda pbdv_seq pbvv_seq", "x", own=True)
# Legendre functions, spherical harmonics, polynomials
SPECIAL.differentiable("assoc_laguerre", own=True)
SPECIAL.differentiable("legendre_p legendre_p_all assoc_legendre_p assoc_legendre_p_all", "z", own=True, since="1.15")
SPECIAL.differentiable("sph_legendre_p sph_legendre_p_all", "theta", own=True, since="1.15")
SPECIAL.differentiable("sph_harm_y sph_harm_y_all", "theta, phi", own=True, since="1.15")
SPECIAL.differentiable("lqmn lqn", "z", own=True)
SPECIAL.differentiable("obl_cv_seq pro_cv_seq", "c", own=True)

SPECIAL.refused("ellip_harm ellip_harm_2 ellip_normal", "ellipsoidal harmonics have no rules here", RULE)
SPECIAL.refused("pbdn_seq", "SciPy's values are wrong off the real axis", "Use scipy.special.pbdv, one for each order")
SPECIAL.refused(
    "mathieu_even_coef mathieu_odd_coef",
    "how many coefficients there are depends on q",
    "Use scipy.special.mathieu_cem and mathieu_sem, which are the sums of the series",
)
SPECIAL.refused(
    "roots_jacobi roots_sh_jacobi roots_genlaguerre roots_gegenbauer j_roots js_roots la_roots cg_roots",
    "the nodes have no rule in the parameters of the weight",
    "Keep the parameters plain, outside",
)
SPECIAL.refused(
    "jacobi sh_jacobi genlaguerre gegenbauer",
    "it keeps its coefficients in a plain array",
    "Use scipy.special.eval_jacobi, eval_genlaguerre or eval_gegenbauer",
)

# names of older versions
SPECIAL.refused(
    "lpn lpmn clpmn sph_harm", "it left SciPy in version 1.17", "Use eval_legendre, lpmv or sph_harm_y", until="1.17"
)
SPECIAL.refused("btdtr", "it left SciPy in version 1.15", "Use scipy.special.betainc", until="1.15")
SPECIAL.refused("btdtri", "it left SciPy in version 1.15", "Use scipy.special.betaincinv", until="1.15")

# of integers
SPECIAL.constant("ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros kei_zeros keip_zeros ker_zeros", SIZES)
SPECIAL.constant("kerp_zeros kelvin_zeros erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros", SIZES)
SPECIAL.constant("jn_zeros jnp_zeros jnjnp_zeros jnyn_zeros yn_zeros ynp_zeros y0_zeros y1_zeros y1p_zeros", SIZES)
SPECIAL.constant("bernoulli euler stirling2", SIZES)
SPECIAL.constant("roots_legendre roots_chebyt roots_chebyu roots_chebyc roots_chebys roots_laguerre", SIZES)
SPECIAL.constant("roots_hermite roots_hermitenorm roots_sh_legendre roots_sh_chebyt roots_sh_chebyu", SIZES)
SPECIAL.constant("p_roots t_roots u_roots c_roots s_roots l_roots h_roots he_roots ps_roots ts_roots us_roots", SIZES)
SPECIAL.constant("legendre chebyt chebyu chebyc chebys laguerre hermite hermitenorm", SIZES)
SPECIAL.constant("sh_legendre sh_chebyt sh_chebyu", SIZES)
SPECIAL.constant("errstate geterr seterr", SIZES)
