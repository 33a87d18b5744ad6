"""scipy.stats: `adjoint.scipy.stats` has its descriptive statistics; tests and what draws numbers take plain arrays."""

from adjoint.coverage.stats_distributions import DISTRIBUTIONS
from adjoint.coverage.table import SIZES, Table

SCIPY_STATS = Table("scipy.stats")

# means
SCIPY_STATS.differentiable("gmean hmean pmean", "a, weights", own=True)
SCIPY_STATS.differentiable("trim_mean trimboth trim1 tmean tvar tstd tsem tmin tmax", "a", own=True)
SCIPY_STATS.differentiable("circmean circvar circstd directional_stats", "samples", own=True)
# moments
SCIPY_STATS.differentiable("moment skew kurtosis sem variation gstd describe zscore gzscore", "a", own=True)
SCIPY_STATS.differentiable("zmap", "scores, compare", own=True)
SCIPY_STATS.differentiable("kstat kstatvar", "data", own=True)
# order
SCIPY_STATS.differentiable("iqr median_abs_deviation", "x", own=True)
SCIPY_STATS.differentiable("scoreatpercentile", "a", own=True)
SCIPY_STATS.differentiable("obrientransform", "samples", own=True)
SCIPY_STATS.constant("rankdata", own=True)
# relations
SCIPY_STATS.differentiable("pearsonr linregress", "x, y", own=True)
SCIPY_STATS.differentiable("pointbiserialr", "y", own=True)
SCIPY_STATS.differentiable("entropy", "pk, qk", own=True)
SCIPY_STATS.differentiable("wasserstein_distance energy_distance", "u_values, v_values, u_weights, v_weights", own=True)

SCIPY_STATS.include(DISTRIBUTIONS)

RANKS = "it is made of ranks, which are constant but for their steps"
SCIPY_STATS.refused("spearmanr kendalltau weightedtau somersd", RANKS, "Use pearsonr, or stop_gradient(x) outside")
SCIPY_STATS.refused("chatterjeexi", RANKS, "Use pearsonr, or stop_gradient(x) outside", since="1.15")
SCIPY_STATS.refused("spearmanrho", RANKS, "Use pearsonr, or stop_gradient(x) outside", since="1.17")
SCIPY_STATS.refused("percentileofscore tiecorrect", RANKS, "Use stop_gradient(x) outside")
SCIPY_STATS.refused("siegelslopes theilslopes", "SciPy computes it from plain arrays", "Use linregress")
SCIPY_STATS.refused(
    "mode", "the most frequent value is found by counting", "Use np.median, or stop_gradient(x) outside"
)
COUNTS = "it counts samples in bins"
BINS = "Use np.histogram, whose weights may be traced"
SCIPY_STATS.refused("binned_statistic binned_statistic_2d binned_statistic_dd cumfreq relfreq", COUNTS, BINS)
SCIPY_STATS.refused("ecdf logrank", COUNTS, "Use stop_gradient(x) outside")
SCIPY_STATS.refused("sigmaclip", "how many samples stay depends on values", "Use tmean or tvar with limits")
SCIPY_STATS.refused("expectile", "SciPy finds it by search", "Write the equation, and solve it")
SCIPY_STATS.refused("lmoment", "SciPy computes it from plain arrays", "Write it with np.sort", since="1.15")
SCIPY_STATS.refused("quantile", "SciPy computes it from plain arrays", "Use np.quantile", since="1.16")
SCIPY_STATS.refused("differential_entropy", "SciPy computes it from plain arrays", "Write it with np.sort and np.log")
TRANSFORM = "SciPy chooses the exponent by search"
SCIPY_STATS.refused("boxcox", TRANSFORM, "Use scipy.special.boxcox with an exponent of your own")
SCIPY_STATS.refused("boxcox_normmax boxcox_normplot", TRANSFORM, "Use scipy.special.boxcox")
SCIPY_STATS.refused("boxcox_llf", "SciPy computes it from plain arrays", "Write it with scipy.special.boxcox")
SCIPY_STATS.refused("yeojohnson yeojohnson_normmax yeojohnson_normplot", TRANSFORM, "Write it with np.log1p")
SCIPY_STATS.refused("yeojohnson_llf", "SciPy computes it from plain arrays", "Write it with np.log1p")
SCIPY_STATS.refused("ppcc_max ppcc_plot probplot", TRANSFORM, "Use stop_gradient(x) outside")

TEST = "it is a test, whose decision SciPy computes from plain arrays"
STATISTIC = "Write its statistic with NumPy; adjoint.scipy.stats has means, moments and correlations"
SCIPY_STATS.refused("alexandergovern anderson anderson_ksamp ansari barnard_exact bartlett binomtest", TEST, STATISTIC)
SCIPY_STATS.refused("boschloo_exact brunnermunzel bws_test chi2_contingency chisquare combine_pvalues", TEST, STATISTIC)
SCIPY_STATS.refused("cramervonmises cramervonmises_2samp dunnett epps_singleton_2samp f_oneway", TEST, STATISTIC)
SCIPY_STATS.refused(
    "false_discovery_control fisher_exact fligner friedmanchisquare jarque_bera kruskal", TEST, STATISTIC
)
SCIPY_STATS.refused("ks_1samp ks_2samp kstest kurtosistest levene mannwhitneyu median_test mood", TEST, STATISTIC)
SCIPY_STATS.refused("multiscale_graphcorr normaltest page_trend_test poisson_means_test", TEST, STATISTIC)
SCIPY_STATS.refused("power_divergence quantile_test ranksums shapiro skewtest ttest_1samp ttest_ind", TEST, STATISTIC)
SCIPY_STATS.refused("ttest_ind_from_stats ttest_rel tukey_hsd wilcoxon goodness_of_fit", TEST, STATISTIC)
SCIPY_STATS.refused("bayes_mvs mvsdist", TEST, STATISTIC)
DRAWS = "it draws numbers of its own"
SCIPY_STATS.refused("bootstrap monte_carlo_test permutation_test random_correlation", DRAWS, "Draw with ad.random")
SCIPY_STATS.refused("power", DRAWS, "Draw with ad.random", since="1.14")
SCIPY_STATS.refused(
    "sobol_indices wasserstein_distance_nd", "SciPy computes it from plain values", "Write it with NumPy"
)
SCIPY_STATS.refused("fit", "SciPy finds parameters by search", "Minimize the negative log likelihood")
SCIPY_STATS.refused("gaussian_kde", "SciPy computes it from plain arrays", "Use adjoint.scipy.spatial.distance.cdist")
SCIPY_STATS.constant("BootstrapMethod MonteCarloMethod PermutationMethod", SIZES)
