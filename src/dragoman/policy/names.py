"""Names of tools for models: ``server__tool`` in the characters and the length that model providers take.

Two different tools never share a name: a name is plain only if it splits back at its first ``__``, fits, and does not look
like a shortened one; everything else is shortened and carries a hash of both parts.  Going back is the registry's job.
"""

from __future__ import annotations

import hashlib
import re
from base64 import b32encode
from collections.abc import Sequence
from typing import Final

#: What OpenAI takes; Anthropic takes 128.
SHORT: Final = 64
LONG: Final = 128

_ALLOWED: Final = re.compile(r"[A-Za-z0-9_-]+")
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")
_HASHED: Final = re.compile(r"-h[a-z2-7]{16}\Z")


def model_name(server: str, tool: str, limit: int = SHORT) -> str:
    """The name of a tool for models, at most ``limit`` characters of ``A-Za-z0-9_-``; the same pair always gets the same."""
    plain = f"{server}__{tool}"
    if len(plain) <= limit and tool and plain.find("__") == len(server) and _ALLOWED.fullmatch(plain) and not _HASHED.search(plain):
        return plain
    # The length of the first part keeps the border between the two in the hash.  80 bits: a server that picks its tools'
    # names with care still cannot meet a name of another server.
    digest = hashlib.sha256(f"{len(server)}:{server}{tool}".encode("utf-8", "surrogatepass")).digest()[:10]
    suffix = "-h" + b32encode(digest).decode().lower()
    return _OTHER.sub("_", plain)[: limit - len(suffix)] + suffix


def some(names: Sequence[str], most: int = 12) -> str:
    """Names for a hint: the first ones, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
