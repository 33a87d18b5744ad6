"""BLAKE2b, without OpenSSL, which `hashlib` loads whatever is asked of it: two milliseconds of every first call."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b
else:
    try:
        from _blake2 import blake2b  # what `hashlib.blake2b` is
    except ImportError:  # another Python
        from hashlib import blake2b

__all__ = ["digest", "new_digest"]

_SIZE = 32


def new_digest() -> blake2b:
    """A digest of 32 bytes that grows by `update`."""
    return blake2b(digest_size=_SIZE)


def digest(content: bytes | memoryview) -> blake2b:
    """The digest of these bytes."""
    return blake2b(content, digest_size=_SIZE)
