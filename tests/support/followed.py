"""A function beside its compiled forms, which must follow what it reads."""

from typing import Any

import numpy as np

import adjoint as ad

X = np.array([1.0, -2.0, 3.0])


class Followed:
    """A function, compiled and mapped and differentiated, beside itself."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.compiled = [ad.jit(function), ad.jit(ad.grad(lambda x: np.sum(function(x)))), ad.jit(ad.vmap(function))]
        self.plain = [function, ad.grad(lambda x: np.sum(function(x))), ad.vmap(function)]

    def check(self) -> None:
        """Three calls, since the second runs no Python."""
        for _ in range(3):
            for compiled, plain in zip(self.compiled, self.plain, strict=True):
                np.testing.assert_allclose(compiled(X), plain(X), rtol=1e-14)
