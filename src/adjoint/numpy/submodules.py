"""NumPy's modules below adjoint.numpy: `import adjoint.numpy.lib.stride_tricks` works as it does with NumPy.

Those without a file of ours are made when they are imported: their functions take traced values as those of
adjoint.numpy do, all else is NumPy's own.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from adjoint.numpy.namespace import opened

PREFIX = "adjoint.numpy."


class _Opened:
    """Makes a module that stands for one of NumPy's."""

    def create_module(self, spec: ModuleSpec) -> None:
        """As Python does."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        numpys = importlib.import_module(f"numpy.{module.__name__.removeprefix(PREFIX)}")
        lookup = opened(numpys)

        def get(name: str) -> Any:
            try:
                value = vars(module)[name] = lookup(name)
            except AttributeError:
                raise AttributeError(f"{module.__name__} has no {name!r}; neither has NumPy.") from None
            return value

        vars(module).update(__doc__=numpys.__doc__, __getattr__=get, __dir__=lambda: dir(numpys))


class _Finder:
    """Asked last, for what has no file."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(PREFIX)
        if not fullname.startswith(PREFIX) or any(part.startswith("_") for part in name.split(".")):
            return None
        found = find_spec(f"numpy.{name}")
        if found is None:
            return None
        loader: Any = _Opened()  # importlib.abc, which has its class, takes long to load
        return ModuleSpec(fullname, loader, is_package=found.submodule_search_locations is not None)


def install() -> None:
    """From now on Python's import statement finds them."""
    finder: Any = _Finder()
    sys.meta_path.append(finder)
