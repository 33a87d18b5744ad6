"""The distributions of scipy.stats: objects whose methods take plain arrays."""

from adjoint.coverage.table import Table

DISTRIBUTIONS = Table("scipy.stats")

PLAIN = "the methods of SciPy's distributions take plain arrays"
DENSITY = "Call them in a function that can be converted, or write the log density with NumPy and scipy.special"
CONTINUOUS = """
    alpha anglit arcsine argus beta betaprime bradford burr burr12 cauchy chi chi2 cosine crystalball dgamma dweibull
    erlang expon exponnorm exponpow exponweib f fatiguelife fisk foldcauchy foldnorm gamma gausshyper genexpon
    genextreme gengamma genhalflogistic genhyperbolic geninvgauss genlogistic gennorm genpareto gibrat gompertz gumbel_l
    gumbel_r halfcauchy halfgennorm halflogistic halfnorm hypsecant invgamma invgauss invweibull jf_skew_t
    johnsonsb johnsonsu kappa3 kappa4 ksone kstwo kstwobign laplace laplace_asymmetric levy levy_l levy_stable
    loggamma logistic loglaplace lognorm loguniform lomax maxwell mielke moyal nakagami ncf nct ncx2 norm norminvgauss
    pareto pearson3 powerlaw powerlognorm powernorm rayleigh rdist recipinvgauss reciprocal rel_breitwigner rice
    semicircular skewcauchy skewnorm studentized_range t trapezoid triang truncexpon truncnorm truncpareto
    truncweibull_min tukeylambda uniform vonmises vonmises_line wald weibull_max weibull_min wrapcauchy
"""
DISCRETE = """
    bernoulli betabinom betanbinom binom boltzmann dlaplace geom hypergeom logser nbinom nchypergeom_fisher
    nchypergeom_wallenius nhypergeom planck poisson randint skellam yulesimon zipf zipfian
"""
SEVERAL = """
    dirichlet dirichlet_multinomial invwishart matrix_normal multinomial multivariate_hypergeom multivariate_normal
    multivariate_t ortho_group random_table special_ortho_group uniform_direction unitary_group
    vonmises_fisher wishart
"""
DISTRIBUTIONS.refused(CONTINUOUS + DISCRETE + SEVERAL, PLAIN, DENSITY)
DISTRIBUTIONS.refused("irwinhall", PLAIN, DENSITY, since="1.14")
DISTRIBUTIONS.refused("dpareto_lognorm landau poisson_binom normal_inverse_gamma", PLAIN, DENSITY, since="1.15")
DISTRIBUTIONS.refused("matrix_t", PLAIN, DENSITY, since="1.17")
DISTRIBUTIONS.refused("rv_continuous rv_discrete rv_histogram Covariance CensoredData", PLAIN, DENSITY)
DISTRIBUTIONS.refused("Normal Uniform Mixture", PLAIN, DENSITY, since="1.15")
DISTRIBUTIONS.refused("Binomial", PLAIN, DENSITY, since="1.16")
DISTRIBUTIONS.refused("Logistic", PLAIN, DENSITY, since="1.17")
DISTRIBUTIONS.refused("make_distribution order_statistic truncate abs exp log", PLAIN, DENSITY, since="1.15")
