"""Checkpoints: numbered files in a folder, the last few of which are kept; a damaged one is passed over."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from adjoint.base.errors import TreeError
from adjoint.nn.storage.files import FileError, read_file, write_file
from adjoint.nn.storage.trees import name_leaves, put_back

__all__ = ["Checkpoints", "Found"]

VERSION = 1
NAME = re.compile(r"step-(\d{9})\.safetensors")


class Found(NamedTuple):
    """What a checkpoint holds."""

    tree: Any
    notes: dict[str, Any]


class Checkpoints:
    """The checkpoints of a run in a folder."""

    def __init__(self, folder: Any, keep: int = 3) -> None:
        self.folder, self.keep = Path(folder), keep
        if self.folder.exists() and not self.folder.is_dir():
            raise NotADirectoryError(f"fit: folder={str(folder)!r} is a file; checkpoints need a folder of their own.")

    def files(self) -> list[Path]:
        """From the oldest to the newest."""
        if not self.folder.is_dir():
            return []
        return sorted(path for path in self.folder.iterdir() if NAME.fullmatch(path.name))

    def save(self, step: int, whole: Any, notes: dict[str, Any]) -> None:
        """Write one, and remove those that are too old."""
        self.folder.mkdir(parents=True, exist_ok=True)
        texts = {"version": str(VERSION), "notes": json.dumps(notes)}
        write_file(self.folder / f"step-{step:09d}.safetensors", name_leaves(whole), texts)
        for old in self.files()[: -self.keep]:
            old.unlink(missing_ok=True)

    def load(self, like: Any) -> Found | None:
        """The newest one that can be read; None where there is none."""
        for path in reversed(self.files()):
            try:
                arrays, texts = read_file(path)
                if int(texts.get("version", "0")) != VERSION:
                    raise TreeError(f"{path} was written by another version of the format ({texts.get('version')}).")
                notes = json.loads(texts["notes"])
            except (FileError, KeyError, json.JSONDecodeError, OSError) as error:
                warnings.warn(f"The checkpoint {path} cannot be read and is passed over: {error}", stacklevel=2)
                continue
            return Found(put_back(f"the checkpoint {path}", arrays, like), notes)
        return None
