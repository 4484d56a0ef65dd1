"""The apps extension: which view a tool has, for whom a tool is, and what a view asks of whoever shows it. It shows nothing.

Source: SEP-1865, io.modelcontextprotocol/ui, revision 2026-01-26.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from dragoman.wire.content import ResourceContents

UI_EXTENSION: Final = "io.modelcontextprotocol/ui"
VIEW_TYPE: Final = "text/html;profile=mcp-app"
CAPABILITY: Final[dict[str, Any]] = {"mimeTypes": [VIEW_TYPE]}
_SCHEME: Final = "ui://"
_OLD_KEY: Final = "ui/resourceUri"  # what was written before the extension was final; still sent


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A page that a server brings along for the results of a tool: HTML with scripts, all of it untrusted.

    Whoever shows it has to do so in a sandbox of its own origin, with a content security policy that allows no more than this.

    Attributes:
        html: The document.
        connect: Origins it wants to talk to.
        resources: Origins of its scripts, styles, pictures and fonts.
        frames: Origins of pages inside it.
        bases: Origins its addresses may be relative to.
        permissions: What it wants of the browser: ``camera``, ``microphone``, ``geolocation``, ``clipboardWrite``.
        domain: The origin it would like to have, in the words of whoever shows it.
        border: Whether it wants one; ``None``: does not say.
    """

    uri: str
    html: str
    connect: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    domain: str | None = None
    border: bool | None = None


def view_uri(meta: Mapping[str, Any] | None) -> str | None:
    """Where the view of a tool is, from the tool's ``_meta``; ``None``: it has none that can be read."""
    if not meta:
        return None
    uri = _ui(meta).get("resourceUri", meta.get(_OLD_KEY))
    return uri if isinstance(uri, str) and uri.startswith(_SCHEME) else None


def for_models(meta: Mapping[str, Any] | None) -> bool:
    """Whether a model may be offered a tool, from the tool's ``_meta``. Said of nobody, it is for everybody."""
    visibility = _ui(meta).get("visibility") if meta else None
    return not isinstance(visibility, list) or "model" in visibility


def view_of(contents: Iterable[ResourceContents], uri: str) -> View:
    """The view among what ``resources/read`` brought.

    Raises:
        ValueError: There is none under this address, or it is of another type, or no text.
    """
    found = next((part for part in contents if part.uri == uri), None)
    if found is None:
        raise ValueError("the answer holds nothing under this address")
    if "".join((found.mime_type or "").split()).replace('"', "").lower() != VIEW_TYPE:
        raise ValueError(f"its type is {found.mime_type or 'not said'}, expected {VIEW_TYPE}")
    ui = _ui(found.meta or {})
    csp, permissions, domain, border = ui.get("csp"), ui.get("permissions"), ui.get("domain"), ui.get("prefersBorder")
    sources = csp if isinstance(csp, dict) else {}
    return View(
        uri=uri,
        html=_text(found),
        connect=_origins(sources.get("connectDomains")),
        resources=_origins(sources.get("resourceDomains")),
        frames=_origins(sources.get("frameDomains")),
        bases=_origins(sources.get("baseUriDomains")),
        permissions=tuple(sorted(permissions)) if isinstance(permissions, dict) else (),
        domain=domain if isinstance(domain, str) else None,
        border=border if isinstance(border, bool) else None,
    )


def _ui(meta: Mapping[str, Any]) -> dict[str, Any]:
    ui = meta.get("ui")
    return ui if isinstance(ui, dict) else {}


def _text(part: ResourceContents) -> str:
    if part.text is not None:
        return part.text
    if part.blob is None:
        raise ValueError("it has neither text nor blob")
    try:
        return base64.b64decode(part.blob, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as exc:
        raise ValueError(f"its blob is no text in UTF-8: {exc}") from None


def _origins(stated: Any) -> tuple[str, ...]:
    """Those that cannot break out of a policy they are put into: one word without the characters that end a directive."""
    origins = stated if isinstance(stated, list) else []
    return tuple(one for one in origins if isinstance(one, str) and one and not any(c in one for c in ";,'\"") and one.split() == [one])
