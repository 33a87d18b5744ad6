"""scipy.spatial.distance."""

from adjoint.coverage.table import Table

SCIPY_DISTANCE = Table("scipy.spatial.distance")

SCIPY_DISTANCE.differentiable("cdist pdist squareform directed_hausdorff", own=True)
SCIPY_DISTANCE.differentiable("euclidean sqeuclidean seuclidean minkowski cityblock chebyshev", own=True)
SCIPY_DISTANCE.differentiable("mahalanobis correlation cosine braycurtis canberra jensenshannon", own=True)
# of truth values, or of numbers between 0 and 1 that stand for them
SCIPY_DISTANCE.differentiable("yule dice rogerstanimoto russellrao sokalsneath", own=True)
SCIPY_DISTANCE.differentiable("hamming jaccard", "w", own=True)
SCIPY_DISTANCE.constant("is_valid_dm is_valid_y num_obs_dm num_obs_y", own=True)
SCIPY_DISTANCE.refused(
    "kulczynski1 sokalmichener", "it left SciPy in version 1.17", "Use rogerstanimoto or jaccard", until="1.17"
)
