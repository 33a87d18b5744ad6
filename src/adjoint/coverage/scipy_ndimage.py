"""scipy.ndimage: `adjoint.scipy.ndimage` takes traced images, weights, coordinates and matrices; labels are plain."""

from adjoint.coverage.table import SIZES, Table

NDIMAGE = Table("scipy.ndimage")

# linear filters
NDIMAGE.differentiable("correlate correlate1d convolve convolve1d", "input, weights", own=True)
NDIMAGE.differentiable("gaussian_filter gaussian_filter1d gaussian_laplace", "input, sigma", own=True)
NDIMAGE.differentiable("gaussian_gradient_magnitude", "input, sigma", own=True)
NDIMAGE.differentiable("uniform_filter uniform_filter1d sobel prewitt laplace", "input", own=True)
NDIMAGE.differentiable("generic_laplace generic_gradient_magnitude", "input", own=True)
NDIMAGE.differentiable("fourier_gaussian", "input, sigma", own=True)
NDIMAGE.differentiable("fourier_shift", "input, shift", own=True)
NDIMAGE.differentiable("fourier_uniform fourier_ellipsoid", "input", own=True)
# filters that choose
NDIMAGE.differentiable("median_filter percentile_filter rank_filter", "input", own=True)
NDIMAGE.differentiable("minimum_filter minimum_filter1d maximum_filter maximum_filter1d", "input", own=True)
NDIMAGE.differentiable("vectorized_filter", "input", own=True, since="1.16")
NDIMAGE.differentiable("grey_erosion grey_dilation grey_opening grey_closing", "input, structure", own=True)
NDIMAGE.differentiable("morphological_gradient morphological_laplace", "input, structure", own=True)
NDIMAGE.differentiable("white_tophat black_tophat", "input, structure", own=True)
# interpolation
NDIMAGE.differentiable("spline_filter spline_filter1d", "input", own=True)
NDIMAGE.differentiable("map_coordinates", "input, coordinates", own=True)
NDIMAGE.differentiable("affine_transform", "input, matrix, offset", own=True)
NDIMAGE.differentiable("shift", "input, shift", own=True)
NDIMAGE.differentiable("zoom", "input", own=True)
NDIMAGE.differentiable("rotate", "input, angle", own=True)
NDIMAGE.differentiable("geometric_transform", "input", own=True)
# by labels
NDIMAGE.differentiable("sum sum_labels mean variance standard_deviation", "input", own=True)
NDIMAGE.differentiable("minimum maximum median extrema center_of_mass", "input", own=True)
NDIMAGE.constant("minimum_position maximum_position", own=True)
NDIMAGE.constant("distance_transform_edt")

NDIMAGE.constant("generate_binary_structure iterate_structure", SIZES)

PLAIN = "SciPy computes it from plain arrays, and the result is constant but for its steps"
OUTSIDE = "Give it plain arrays, from outside of the function"
NDIMAGE.refused("label find_objects value_indices watershed_ift", PLAIN, OUTSIDE)
NDIMAGE.refused("binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss", PLAIN, OUTSIDE)
NDIMAGE.refused("binary_opening binary_propagation", PLAIN, OUTSIDE)
NDIMAGE.refused("histogram", PLAIN, "Use np.histogram of the elements of a label")
NDIMAGE.refused("distance_transform_bf distance_transform_cdt", PLAIN, OUTSIDE)
CALLED = "SciPy calls the function with plain numbers"
NDIMAGE.refused("generic_filter generic_filter1d", CALLED, "Use adjoint.scipy.ndimage.vectorized_filter")
NDIMAGE.refused("labeled_comprehension", CALLED, "Call the function with x[labels == name]")
