"""scipy.signal, as far as it is spoken of here: what `adjoint.scipy.signal` has."""

from adjoint.coverage.table import Table

SIGNAL = Table("scipy.signal")
