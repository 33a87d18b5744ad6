"""The ufuncs of scipy.special. Arguments in which a function is differentiable are named when it is not in all."""

from adjoint.coverage.table import Table

UFUNCS = Table("scipy.special")

# error functions, Gaussian integrals
UFUNCS.differentiable("erf erfc erfcx erfi erfinv erfcinv dawsn wofz voigt_profile fresnel modfresnelm modfresnelp")
UFUNCS.differentiable("ndtr log_ndtr ndtri ndtri_exp owens_t")
# elementary
UFUNCS.differentiable("cbrt exp2 exp10 expm1 exprel log1p cosm1 powm1 xlogy xlog1py sindg cosdg tandg cotdg radian")
UFUNCS.differentiable("expit logit log_expit boxcox boxcox1p inv_boxcox inv_boxcox1p agm wrightomega")
UFUNCS.differentiable("entr rel_entr kl_div huber pseudo_huber")
# gamma and beta
UFUNCS.differentiable("gamma gammaln loggamma rgamma psi digamma poch binom beta betaln")
UFUNCS.constant("gammasgn")
UFUNCS.differentiable("gammainc gammaincc", "x")
UFUNCS.differentiable("gammaincinv gammainccinv", "y")
UFUNCS.differentiable("betainc betaincc", "x")
UFUNCS.differentiable("betaincinv betainccinv", "y")
# exponential integrals and their kin
UFUNCS.differentiable("exp1 expi shichi sici spence")
UFUNCS.differentiable("expn", "x")
# Bessel, Airy, Kelvin, Struve
UFUNCS.differentiable("j0 j1 y0 y1 i0 i0e i1 i1e k0 k0e k1 k1e")
UFUNCS.differentiable("jv jve yv yve iv ive kv kve hankel1 hankel1e hankel2 hankel2e jn", "x")
UFUNCS.differentiable("yn kn", "x")
UFUNCS.differentiable("airy airye itairy ber beip bei berp ker kerp kei keip kelvin")
UFUNCS.differentiable("iti0k0 itj0y0 it2i0k0 it2j0y0 itstruve0 it2struve0 itmodstruve0")
UFUNCS.differentiable("struve modstruve", "x")
UFUNCS.differentiable("wright_bessel log_wright_bessel", "x")
# elliptic integrals and functions
UFUNCS.differentiable("ellipk ellipkm1 ellipkinc ellipe ellipeinc ellipj elliprc elliprd elliprf elliprg")
# hypergeometric and parabolic cylinder functions
UFUNCS.differentiable("hyp0f1 hyp1f1 hyp2f1 hyperu", "x")
UFUNCS.differentiable("pbdv pbvv", "x")
UFUNCS.differentiable("pbwa", "x")
# orthogonal polynomials
UFUNCS.differentiable("eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_sh_chebyt eval_sh_chebyu", "x")
UFUNCS.differentiable(
    "eval_legendre eval_sh_legendre eval_laguerre eval_genlaguerre eval_hermite eval_hermitenorm", "x"
)
UFUNCS.differentiable("eval_gegenbauer eval_jacobi eval_sh_jacobi", "x")
# distributions: functions and quantiles
UFUNCS.differentiable("chdtr chdtrc", "x")
UFUNCS.differentiable("chdtri", "p")
UFUNCS.differentiable("pdtr pdtrc", "m")
UFUNCS.differentiable("pdtri", "y")
UFUNCS.differentiable("bdtr bdtrc nbdtr nbdtrc", "p")
UFUNCS.differentiable("bdtri nbdtri", "y")
UFUNCS.differentiable("gdtr gdtrc", "a, x")
UFUNCS.differentiable("gdtria", "p, x")
UFUNCS.differentiable("gdtrix", "a, p")
UFUNCS.differentiable("fdtr fdtrc", "x")
UFUNCS.differentiable("fdtri", "p")
UFUNCS.differentiable("stdtr", "t")
UFUNCS.differentiable("stdtrit", "p")
# steps
UFUNCS.constant("round")

PARAMETER = "it is the inverse of a distribution function in a parameter, and has no rule here"
SOLVE = "Solve for the parameter with a few steps of Newton's method, or give it a rule: @ad.custom_rule(jvp=…, vjp=…)"
UFUNCS.refused(
    "bdtrik bdtrin nbdtrik nbdtrin btdtria btdtrib gdtrib pdtrik chdtriv fdtridfd stdtridf", PARAMETER, SOLVE
)
UFUNCS.refused(
    "chndtridf chndtrinc nctdtridf nctdtrinc ncfdtridfd ncfdtridfn ncfdtrinc nrdtrimn nrdtrisd", PARAMETER, SOLVE
)
UFUNCS.refused(
    "chndtr chndtrix nctdtr nctdtrit ncfdtr ncfdtri kolmogorov kolmogi smirnov smirnovi tklmbda",
    "its density has no rule here",
    "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)",
)
UFUNCS.refused(
    "mathieu_a mathieu_b mathieu_cem mathieu_sem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2",
    "Mathieu functions have no rules here",
    "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)",
)
UFUNCS.refused(
    "obl_ang1 obl_ang1_cv obl_cv obl_rad1 obl_rad1_cv obl_rad2 obl_rad2_cv "
    "pro_ang1 pro_ang1_cv pro_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv",
    "spheroidal wave functions have no rules here",
    "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)",
)
UFUNCS.refused(
    "elliprj lpmv zetac besselpoly",
    "it has no rule here",
    "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)",
)
