"""Random numbers as pure functions of a key and a position; generators with NumPy's names on top of them."""

from adjoint.random.generator import Generator, default_rng

__all__ = ["Generator", "default_rng"]
