"""The ufuncs of scipy.special. Arguments in which a function is differentiable are named when it is not in all."""

from adjoint.coverage.table import Table

UFUNCS = Table("scipy.special")

RULE = "Give it a rule: @ad.custom_rule(jvp=…, vjp=…)"

# error functions, Gaussian integrals
UFUNCS.differentiable("erf erfc erfcx erfi erfinv erfcinv dawsn wofz voigt_profile fresnel modfresnelm modfresnelp")
UFUNCS.differentiable("ndtr log_ndtr ndtri ndtri_exp owens_t")
# elementary
UFUNCS.differentiable("cbrt exp2 exp10 expm1 exprel log1p cosm1 powm1 xlogy xlog1py sindg cosdg tandg cotdg radian")
UFUNCS.differentiable("expit logit log_expit boxcox boxcox1p inv_boxcox inv_boxcox1p agm wrightomega entr rel_entr")
UFUNCS.differentiable("kl_div huber pseudo_huber")
UFUNCS.constant("round")
# gamma, beta, zeta
UFUNCS.differentiable("gamma gammaln loggamma rgamma psi digamma poch binom beta betaln gammainc gammaincc gammaincinv")
UFUNCS.differentiable("gammainccinv betainc betaincc betaincinv betainccinv zetac")
UFUNCS.constant("gammasgn")
# exponential integrals and their kin
UFUNCS.differentiable("exp1 expi shichi sici spence")
UFUNCS.differentiable("expn", "x")
# Bessel, Airy, Kelvin, Struve
UFUNCS.differentiable("j0 j1 y0 y1 i0 i0e i1 i1e k0 k0e k1 k1e jv jn jve yv yve iv ive kv kve hankel1 hankel1e hankel2")
UFUNCS.differentiable("hankel2e airy airye itairy ber bei berp beip ker kei kerp keip kelvin iti0k0 itj0y0 it2i0k0")
UFUNCS.differentiable("it2j0y0 itstruve0 it2struve0 itmodstruve0 besselpoly struve modstruve wright_bessel")
UFUNCS.differentiable("yn kn", "x")
UFUNCS.differentiable("log_wright_bessel", since="1.14")
# elliptic integrals and functions
UFUNCS.differentiable("ellipk ellipkm1 ellipkinc ellipe ellipeinc ellipj elliprc elliprd elliprf elliprg elliprj")
# hypergeometric and parabolic cylinder functions
UFUNCS.differentiable("hyp0f1 hyp1f1 hyp2f1 hyperu pbdv pbvv pbwa")
# orthogonal polynomials
UFUNCS.differentiable("eval_chebyc eval_chebys eval_chebyt eval_chebyu eval_sh_chebyt eval_sh_chebyu eval_legendre")
UFUNCS.differentiable("eval_sh_legendre eval_laguerre eval_genlaguerre eval_gegenbauer eval_jacobi eval_sh_jacobi")
UFUNCS.differentiable("eval_hermite eval_hermitenorm", "x")
UFUNCS.differentiable("lpmv", "v, x")
# distributions: functions, quantiles, parameters
UFUNCS.differentiable("chdtr chdtrc chdtri chdtriv pdtr pdtrc pdtrik bdtrik bdtrin nbdtrik nbdtrin btdtria btdtrib")
UFUNCS.differentiable("gdtr gdtrc gdtria gdtrib gdtrix fdtr fdtrc fdtri fdtridfd stdtr stdtrit stdtridf chndtr")
UFUNCS.differentiable("chndtrix chndtridf chndtrinc nctdtr nctdtrit nctdtridf nctdtrinc ncfdtr ncfdtri ncfdtridfd")
UFUNCS.differentiable("ncfdtridfn ncfdtrinc nrdtrimn nrdtrisd kolmogorov kolmogi tklmbda")
UFUNCS.differentiable("pdtri nbdtri", "y")
UFUNCS.differentiable("bdtr bdtrc", "k, p")
UFUNCS.differentiable("bdtri", "k, y")
UFUNCS.differentiable("nbdtr nbdtrc smirnovi", "p")
UFUNCS.differentiable("smirnov", "d")
# Mathieu functions
UFUNCS.differentiable("mathieu_a mathieu_b", "q")
UFUNCS.differentiable("mathieu_cem mathieu_sem mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2", "q, x")
# spheroidal wave functions
UFUNCS.differentiable("obl_ang1 obl_rad1 pro_ang1 pro_rad1", "c, x")
UFUNCS.differentiable("obl_ang1_cv obl_rad1_cv obl_rad2 obl_rad2_cv pro_ang1_cv pro_rad1_cv pro_rad2 pro_rad2_cv", "x")
UFUNCS.differentiable("obl_cv pro_cv", "c")
