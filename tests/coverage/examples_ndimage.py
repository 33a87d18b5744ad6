"""Arguments for the functions of scipy.ndimage: those not named here are called with an image."""

import numpy as np

from adjoint.scipy import ndimage
from tests.coverage.agreement import Example, at, each, of

X = np.sin(np.arange(24.0) * 1.7).reshape(4, 6) + np.arange(24.0).reshape(4, 6) / 30
W = np.array([[0.3, -0.2, 0.5], [0.1, 0.7, -0.4], [0.6, 0.2, 0.9]])
LABELS = np.arange(24).reshape(4, 6) % 5
MASK = X > 0.3
STRUCTURE = np.array([[0.1, 0.2, 0.15], [0.05, 0.3, 0.12], [0.22, 0.08, 0.17]])
POINTS = np.array([[0.3, 1.2, 2.6], [4.3, 0.8, 2.2]])

GRAY = 7 * X[::-1] - 3 * np.cos(np.arange(24.0).reshape(4, 6) ** 2)


def second(x, axis, output, mode, cval):
    """A derivative along an axis, which goes into `output` where SciPy gives an array."""
    return ndimage.correlate1d(x, [0.3, -1.7, 1.1], axis, output, mode, cval)


EXAMPLES: dict[str, Example] = {
    **each("correlate convolve", at(X, W)),
    **each("correlate1d convolve1d", at(X, W[0])),
    **each("gaussian_filter gaussian_filter1d gaussian_laplace gaussian_gradient_magnitude", at(X, 1.1)),
    "uniform_filter1d": of(lambda f, x: f(x, 3), X),
    **each("generic_laplace generic_gradient_magnitude", of(lambda f, x: f(x, second), X)),
    "fourier_gaussian": at(X, 0.7),
    "fourier_shift": at(X, [0.7, -0.3]),
    **each("fourier_uniform fourier_ellipsoid", of(lambda f, x: f(x, 2.0), X)),
    **each(
        "median_filter minimum_filter maximum_filter minimum_filter1d maximum_filter1d", of(lambda f, x: f(x, 3), X)
    ),
    **each("percentile_filter rank_filter", of(lambda f, x: f(x, 5, 3), X)),
    "vectorized_filter": of(lambda f, x: f(x, np.mean, size=3), X),
    **each(
        "grey_erosion grey_dilation grey_opening grey_closing morphological_gradient morphological_laplace "
        "white_tophat black_tophat",
        of(lambda f, x, s: f(x, structure=s), GRAY, STRUCTURE),
    ),
    "map_coordinates": at(X, POINTS),
    "affine_transform": at(X, [[0.9, 0.2], [-0.1, 1.05]], [0.31, 0.27]),
    "shift": at(X, [0.4, -0.7]),
    "zoom": of(lambda f, x: f(x, 1.6), X),
    "rotate": of(lambda f, x, angle: f(x, angle, reshape=False), X, 20.0),
    "geometric_transform": of(lambda f, x: f(x, lambda i: (i[0] * 0.7, i[1] * 0.8)), X),
    **each(
        "sum sum_labels mean variance standard_deviation minimum maximum median",
        of(lambda f, x: f(x, LABELS, [1, 3]), X),
    ),
    "extrema": of(lambda f, x: f(x, LABELS, [1, 3])[:2], X),
    "center_of_mass": at(X),
    **each("minimum_position maximum_position", of(lambda f, x: tuple(map(int, f(x, LABELS, 2))), X)),
    "generate_binary_structure": of(lambda f: f(2, 1)),
    "iterate_structure": of(lambda f: f(np.ones((3, 3), bool), 2)),
    "histogram": of(lambda f, x: f(x, -1.0, 1.0, 4), X),
    "labeled_comprehension": of(lambda f, x: f(x, LABELS, [1, 2], np.mean, float, 0), X),
    "generic_filter": of(lambda f, x: f(x, np.mean, 3), X),
    "generic_filter1d": of(lambda f, x: f(x, lambda a, b: np.copyto(b, a[1:-1]), 3), X),
    "find_objects": of(lambda f, x: f(x) and None, np.ones((2, 2))),
}


def example(name: str) -> Example:
    """Arguments for a function of scipy.ndimage."""
    return EXAMPLES.get(name) or at(X)
