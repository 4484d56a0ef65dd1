"""Content blocks: what tools, prompts and resources hand back, one struct per kind.

Unknown kinds and broken blocks become :class:`UnknownContent`, so that one bad block never hides the others.

Source: MCP server/tools#tool-result (all revisions).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.wire.flaw import Flaw


class _Block(msgspec.Struct, tag_field="type", kw_only=True, omit_defaults=True):
    annotations: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class TextContent(_Block, tag="text"):
    """Text, as the server sent it: untrusted."""

    text: str


class ImageContent(_Block, tag="image"):
    """An image; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(default="", name="mimeType")


class AudioContent(_Block, tag="audio"):
    """Sound; ``data`` is base64."""

    data: str
    mime_type: str = msgspec.field(default="", name="mimeType")


class ResourceLink(_Block, tag="resource_link"):
    """A pointer to a resource that can be read."""

    uri: str
    name: str = ""
    title: str | None = None
    description: str | None = None
    mime_type: str | None = msgspec.field(default=None, name="mimeType")
    size: int | None = None


class ResourceContents(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The contents of one resource: ``text``, or base64 in ``blob``."""

    uri: str
    mime_type: str | None = msgspec.field(default=None, name="mimeType")
    text: str | None = None
    blob: str | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class EmbeddedResource(_Block, tag="resource"):
    """A resource inside a result."""

    resource: ResourceContents


class UnknownContent(msgspec.Struct, frozen=True):
    """A block of a kind we do not know, or one that does not decode; ``raw`` is its JSON."""

    type: str
    raw: bytes


KnownContent = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource
Content = KnownContent | UnknownContent

_decode_block: Final = msgspec.json.Decoder(KnownContent).decode
_decode_type: Final = msgspec.json.Decoder(dict[str, Any]).decode


def decode_block(raw: Raw | bytes) -> tuple[Content, str | None]:
    """Decode one block leniently.

    Returns:
        The block, and ``None`` or one line that says what was wrong with it.
    """
    try:
        return _decode_block(raw), None
    except (msgspec.DecodeError, RecursionError) as exc:
        kind = ""
        try:
            kind = str(_decode_type(raw).get("type", ""))
        except (msgspec.DecodeError, RecursionError):
            pass
        return UnknownContent(type=kind or "?", raw=bytes(raw)), str(exc)


def _decoded_size(data: str) -> int:
    return len(data.rstrip("=")) * 3 // 4


def marker(block: Content) -> str:
    """A short stand-in for a block that is not text, for places that show text only."""
    match block:
        case TextContent(text=text):
            return text
        case ImageContent(data=data, mime_type=mime):
            return f"[image {mime or 'of unknown type'}, {_decoded_size(data)} bytes]"
        case AudioContent(data=data, mime_type=mime):
            return f"[audio {mime or 'of unknown type'}, {_decoded_size(data)} bytes]"
        case ResourceLink(uri=uri):
            return f"[resource link {uri}]"
        case EmbeddedResource(resource=resource):
            return resource.text if resource.text is not None else f"[resource {resource.uri}]"
        case UnknownContent(type=kind):
            return f"[content of unknown type {kind!r}]"


def decode_blocks(items: list[Raw], where: str) -> tuple[list[Content], list[Flaw]]:
    """Decode a list of blocks one by one; ``where`` is the JSON pointer of the list."""
    blocks: list[Content] = []
    problems: list[Flaw] = []
    for index, raw in enumerate(items):
        block, problem = decode_block(raw)
        blocks.append(block)
        if problem is not None:
            problems.append(Flaw(f"{where}/{index}", problem))
    return blocks, problems


__all__ = [
    "UNSET",
    "AudioContent",
    "Content",
    "EmbeddedResource",
    "ImageContent",
    "ResourceContents",
    "ResourceLink",
    "TextContent",
    "UnknownContent",
    "UnsetType",
    "decode_block",
    "decode_blocks",
    "marker",
]
