"""How an explanation leaves Python: as a page, as JSON, as a view in a notebook."""

# pyright: basic
from __future__ import annotations

import json
import os
from pathlib import Path

from adjoint.show.explanation.data import explanation_data
from adjoint.show.explanation.notebook import notebook
from adjoint.show.page.browser import page

__all__ = ["Written"]


class Written:
    """The methods of an explanation that write it down for others."""

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The page: one file that opens in a browser without a network. With `path` it is written there too.

        It steps through the trace, switches between the modes, and computes again when an input is changed.
        """
        return _written(page(self), path)

    def json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Everything as JSON (format: adjoint.show.explanation.data); with `path` it is written there too."""
        return _written(json.dumps(explanation_data(self), ensure_ascii=False, allow_nan=False), path)

    def _repr_html_(self) -> str:
        return notebook(self)


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
