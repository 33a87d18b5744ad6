"""PyTorch: its tensors as arguments and operands, its gradients, and the values of it that tests hold as numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import adjoint as ad
from tests.support.recorded import RESAMPLED, RESAMPLINGS, TORCH

X = np.array([0.5, 1.0, 2.0])
TENSOR = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
total = lambda x: np.sum(x**3)


def test_version_is_the_one_that_was_recorded() -> None:
    assert torch.__version__.split("+")[0] == TORCH


@pytest.mark.parametrize("mode, size, antialias", RESAMPLINGS)
def test_resampling(mode: str, size: int, antialias: bool) -> None:
    """Along the last axis of an image of one row, as PyTorch has cubic and antialias for images alone."""
    image = torch.tensor(RESAMPLED, dtype=torch.float64)[None, None, None]
    interpolated = torch.nn.functional.interpolate(
        image, (1, size), mode={"cubic": "bicubic", "linear": "bilinear"}[mode], antialias=antialias
    )
    np.testing.assert_allclose(interpolated[0, 0, 0], RESAMPLINGS[mode, size, antialias], rtol=1e-14)


def test_arguments_and_operands() -> None:
    np.testing.assert_allclose(ad.grad(total)(TENSOR), 3 * X**2)
    assert ad.grad(total)(TENSOR.to(torch.float32)).dtype == np.float32
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(x * TENSOR))(X), X)
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(TENSOR * x))(X), X)
    np.testing.assert_allclose(ad.grad(lambda x: TENSOR @ x)(X), X)
    assert TENSOR.tolist() == [0.5, 1.0, 2.0]


def test_results_as_tensors() -> None:
    gradient = ad.grad(total)(X)
    shared = torch.from_dlpack(gradient)
    shared.mul_(2.0)
    np.testing.assert_allclose(gradient, 6 * X**2)


def test_gradients_agree() -> None:
    leaf = TENSOR.clone().requires_grad_()
    torch.sum(torch.tanh(leaf) * leaf).backward()
    np.testing.assert_allclose(ad.grad(lambda x: np.sum(np.tanh(x) * x))(X), leaf.grad.numpy(), rtol=1e-14)


def test_refused() -> None:
    with pytest.raises(TypeError, match=r"argument x .*detach"):
        ad.grad(lambda x: np.sum(x))(TENSOR.clone().requires_grad_())
    with pytest.raises(TypeError, match=r"argument x .*BFloat16"):
        ad.grad(lambda x: np.sum(x))(TENSOR.to(torch.bfloat16))
    for convert in (torch.tensor, torch.as_tensor, torch.from_dlpack):
        with pytest.raises(TypeError, match="derivative would be lost"):
            ad.grad(lambda x, convert=convert: convert(x).sum())(X)
    with pytest.raises(TypeError):
        ad.grad(lambda x: torch.sin(x).sum())(X)
