"""`BY_NAME` with every primitive in it that is one of NumPy's ufuncs: the files that declare them are loaded here."""

from adjoint.ops.elementwise import arithmetic, compare, elementary  # noqa: F401  # pyright: ignore[reportUnusedImport]
from adjoint.ops.elementwise.pointwise import BY_NAME

__all__ = ["BY_NAME"]
