"""Programs made cheaper: see `adjoint.simplify.passes`."""

from adjoint.simplify.passes import PASSES, simplify
