"""Programs made cheaper: see `adjoint.simplify.passes`."""

from typing import TYPE_CHECKING

from adjoint.base.loading import open_lazily

if TYPE_CHECKING:
    from adjoint.simplify.passes import PASSES, simplify

__all__ = ["PASSES", "simplify"]

__getattr__, __dir__ = open_lazily(__name__, {"adjoint.simplify.passes": "PASSES simplify"})
