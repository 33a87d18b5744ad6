"""What traces hand to primitives with programs inside: read when the first one asks, since most programs have none."""

from __future__ import annotations

from typing import Any

from adjoint.base.loading import deferred
from adjoint.program.trace import provide_programs

_read = deferred("adjoint.transform.subprograms", "provided")


class _Waiting:
    """Stands for the transformations until one is named; then they stand there themselves."""

    def __getattr__(self, name: str) -> Any:
        transformations = _read()
        provide_programs(transformations)
        return getattr(transformations, name)


provide_programs(_Waiting())
