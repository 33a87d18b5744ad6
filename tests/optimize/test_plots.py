"""Level lines: where they are drawn, and what is refused."""

import matplotlib as mpl
import numpy as np
import pytest

import adjoint as ad
from adjoint import optimize

mpl.use("Agg")


def test_level_lines_lie_on_levels_and_the_path_is_that_of_the_iterates():
    import matplotlib.pyplot as plt

    f = lambda p, a: (p["u"] - a) ** 2 + 4 * p["v"] ** 2
    seen = []
    start = {"u": -1.0, "v": 1.0}
    found = optimize.minimize(f, start, 0.5, method="gd", callback=seen.append)
    axes = optimize.contours(f, found, 0.5, path=[start, *seen], points=200)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x['u']", "x['v']")
    lines = axes.collections[0]
    drawn = [(level, path.vertices) for level, path in zip(lines.levels, lines.get_paths(), strict=True)
             if len(path.vertices)]  # fmt: skip
    assert len(drawn) > 10
    for level, points in drawn:
        values = f({"u": points[:, 0], "v": points[:, 1]}, 0.5)
        np.testing.assert_allclose(values, level, atol=1e-2 * max(1.0, level))
    trail = axes.lines[0].get_xydata()
    np.testing.assert_allclose(trail[0], [-1.0, 1.0])
    np.testing.assert_allclose(trail[-1], [0.5, 0.0], atol=1e-6)
    plt.close(axes.figure)


def test_points_that_are_not_finite_stay_white_and_three_unknowns_are_refused():
    import matplotlib.pyplot as plt

    f = lambda x: x[0] - np.log(x[0]) + x[1] ** 2
    found = optimize.minimize(f, np.array([0.5, 0.5]))
    axes = optimize.contours(f, found, window=((-1.0, 2.0), (-1.0, 1.0)))
    assert all(np.all(path.vertices[:, 0] > -0.05) for path in axes.collections[0].get_paths() if len(path.vertices))
    plt.close(axes.figure)
    three = optimize.minimize(lambda x: np.sum(x**2), np.ones(3))
    with pytest.raises(ad.ShapeError, match="3 numbers"):
        optimize.contours(lambda x: np.sum(x**2), three)


def test_batch_elements_share_a_color_and_a_legend():
    f = lambda x: np.sum(np.cosh(x - 1.0))
    found = ad.vmap(lambda x: optimize.minimize(f, x, history=True))(np.array([[0.0, 3.0], [1.0, -2.0]]))
    axes = found.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["fun", "residual", "step"]
    assert len(axes.lines) == 6
    assert len({line.get_color() for line in axes.lines}) == 3
