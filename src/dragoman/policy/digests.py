"""What a yes is bound to: SHA-256 over arguments and definitions as canonical JSON (sorted keys, no spaces, UTF-8)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from dragoman.wire.listing import Tool

canonical: Final = msgspec.json.Encoder(order="sorted").encode


def arguments_sha256(arguments: Mapping[str, Any]) -> str:
    """The digest of arguments, in hex.

    Raises:
        TypeError, ValueError, RecursionError: They are no JSON.
    """
    return hashlib.sha256(canonical(arguments)).hexdigest()


def definition_sha256(definition: Tool | None) -> str:
    """The digest of a tool's whole definition: description and annotations count, since people decide by them."""
    return hashlib.sha256(canonical(definition)).hexdigest()
