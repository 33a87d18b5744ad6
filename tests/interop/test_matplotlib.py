"""matplotlib: results are arrays and numbers, and are plotted as they are."""

import matplotlib as mpl
import numpy as np
import pytest

import adjoint as ad

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_curves(axes, tmp_path) -> None:
    x = np.linspace(-3.0, 3.0, 50)
    function = np.tanh
    for order in range(3):
        axes.plot(x, ad.vmap(function)(x), label=f"order {order}")
        function = ad.grad(function)
    axes.legend()
    axes.figure.savefig(tmp_path / "curves.png")
    np.testing.assert_allclose(axes.lines[1].get_ydata(), 1 - np.tanh(x) ** 2, atol=1e-12)
    assert (tmp_path / "curves.png").stat().st_size > 1000


def test_fields_and_images(axes) -> None:
    f = lambda p: np.sin(p[0]) * np.cos(p[1])
    grid = np.stack(np.meshgrid(np.linspace(0, 3, 8), np.linspace(0, 3, 8)), axis=-1)
    slopes = ad.vmap(ad.vmap(ad.grad(f)))(grid)
    axes.quiver(grid[..., 0], grid[..., 1], slopes[..., 0], slopes[..., 1])
    axes.contour(grid[..., 0], grid[..., 1], ad.vmap(ad.vmap(f))(grid))
    image = axes.imshow(ad.hessian(f)(np.array([0.4, 1.0])))
    np.testing.assert_allclose(np.asarray(image.get_array()), ad.hessian(f)(np.array([0.4, 1.0])))


def test_single_numbers(axes) -> None:
    axes.axvline(ad.grad(np.sin)(0.3))
    axes.set_title(f"slope {ad.grad(np.sin)(0.3):.3f}")
    axes.scatter(ad.grad(np.sin)(0.3), 1.0)
    assert axes.get_title() == "slope 0.955"


def test_a_traced_value_is_not_plotted_in_silence(axes) -> None:
    def f(x):
        axes.plot(x)
        return np.sum(x)

    with pytest.raises(TypeError, match="traced"):
        ad.grad(f)(np.ones(3))
