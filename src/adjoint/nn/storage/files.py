"""The safetensors format: the length of a header, the header as JSON, and the numbers.

    8 bytes: length n, little-endian    n bytes: {name: {dtype, shape, data_offsets}, "__metadata__": {…}}    numbers

Written to a temporary file, flushed to the disk and renamed, so that a file is there as a whole or not at all. Arrays
are written in C order whatever their strides are; complex numbers as pairs of real ones along a last axis.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.base.errors import AdjointError

__all__ = ["FileError", "read_file", "read_header", "write_file"]

CODES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16,
    "I8": np.int8, "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
NAMES = {np.dtype(kind): code for code, kind in CODES.items()}
LONGEST_HEADER = 100_000_000


class FileError(AdjointError, ValueError):
    """A file that is damaged, or no safetensors file."""


def write_file(path: str | os.PathLike[str], arrays: Mapping[str, Any], notes: Mapping[str, str]) -> None:
    """Write arrays by their names, and texts beside them."""
    header: dict[str, Any] = {}
    chunks: list[Any] = []
    offset, paired = 0, []
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.kind == "c":
            paired.append(name)
            array = np.stack([np.real(array), np.imag(array)], axis=-1)
        native = array.dtype.newbyteorder("<")
        if array.dtype.newbyteorder("=") not in NAMES:
            raise FileError(f"save: {name} is of type {array.dtype}, which a safetensors file cannot hold.")
        data = np.ascontiguousarray(array, native).reshape(-1).view(np.uint8)
        header[name] = {"dtype": NAMES[array.dtype.newbyteorder("=")], "shape": list(array.shape),
                        "data_offsets": [offset, offset + data.nbytes]}  # fmt: skip
        chunks.append(data)
        offset += data.nbytes
    check = 0
    for data in chunks:
        check = zlib.crc32(data, check)
    header["__metadata__"] = {**notes, "crc32": str(check), **({"complex": json.dumps(paired)} if paired else {})}
    text = json.dumps(header, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"save: there is no folder {target.parent} for {target.name}; make it before.")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as file:
            file.write(len(text).to_bytes(8, "little"))
            file.write(text)
            for data in chunks:
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
    _flush_folder(target.parent)


def _flush_folder(folder: Path) -> None:
    """So that the new name survives a loss of power, too, where the system can be asked for it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def read_header(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str], int]:
    """What is in a file: {name: {dtype, shape, data_offsets}}, the texts, and where the numbers begin."""
    name, size = os.fspath(path), os.path.getsize(path)
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or not 2 <= length <= min(size - 8, LONGEST_HEADER):
            raise FileError(
                f"{name} is no safetensors file, or was cut off: its header does not fit into {size} bytes."
            )
        text = file.read(length)
    try:
        header = json.loads(text)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise FileError(f"{name} is no safetensors file: its header is not JSON.") from error
    if not isinstance(header, dict):
        raise FileError(f"{name} is no safetensors file: its header is no table of arrays.")
    notes = header.pop("__metadata__", {})
    return header, notes, 8 + length


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a file by their names, and the texts."""
    header, notes, begin = read_header(path)
    name = os.fspath(path)
    with open(path, "rb") as file:
        file.seek(begin)
        data = bytearray(file.read())
    if "crc32" in notes and zlib.crc32(data) != int(notes["crc32"]):
        raise FileError(f"{name} is damaged: its numbers do not fit their checksum.")
    arrays: dict[str, Any] = {}
    for key, entry in header.items():
        try:
            first, last = entry["data_offsets"]
            shape, code = tuple(entry["shape"]), entry["dtype"]
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"{name} is damaged: the entry of {key} cannot be read.") from error
        if not 0 <= first <= last <= len(data):
            raise FileError(f"{name} is damaged or was cut off: {key} lies behind its end.")
        arrays[key] = _array(name, key, code, shape, data[first:last])
    for key in json.loads(notes.get("complex", "[]")):
        pair = arrays[key]
        arrays[key] = np.ascontiguousarray(pair).view(np.complex64 if pair.dtype == np.float32 else np.complex128)[
            ..., 0
        ]
    return arrays, notes


def _array(file: str, name: str, code: str, shape: tuple[int, ...], data: bytearray) -> Any:
    if code == "BF16":  # the upper half of a float32
        wide = np.frombuffer(data, "<u2").astype(np.uint32) << 16
        return wide.view(np.float32).reshape(shape)
    if code not in CODES:
        raise FileError(f"{file}: {name} is of type {code}, which NumPy does not have.")
    dtype = np.dtype(CODES[code])
    if len(data) != dtype.itemsize * int(np.prod(shape, dtype=int)):
        raise FileError(f"{file} is damaged: {name} has {len(data)} bytes, which are not {shape} of {dtype}.")
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype, copy=False).reshape(shape)
