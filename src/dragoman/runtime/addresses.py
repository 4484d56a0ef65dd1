"""Addresses a server wants a person to visit: which are shown at all, and whose they are. Nothing here is ever opened or fetched.

Source: MCP 2025-11-25 and 2026-07-28 client/elicitation#safe-url-handling.
"""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit


def flaw_of_url(url: str) -> str | None:
    """Why an address is not shown to a person; ``None`` if it may be."""
    parts = _split(url)
    if parts is None or any(char.isspace() or not char.isprintable() for char in url):
        return "it cannot be read"
    if parts.scheme not in ("http", "https"):
        return f"only http and https are shown, not {parts.scheme[:20] or 'a path'}"
    if not parts.hostname:
        return "it names no host"
    return None


def host_of(url: str | None) -> str | None:
    """Whose address it is, for a person to read: letters outside ASCII as they travel (``xn--``)."""
    parts = _split(url or "")
    host = parts.hostname if parts is not None else None
    if host is None:
        return None
    try:
        return host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        return ascii(host)[1:-1]


def warning_of(url: str | None) -> str | None:
    """What a person should look at twice, in words; ``None`` where nothing stands out."""
    parts = _split(url or "")
    host = host_of(url)
    if parts is None or host is None:
        return None
    if parts.username is not None or parts.password is not None:
        return f"what stands before the @ is no address: it leads to {host}"
    if any(label.startswith("xn--") for label in host.split(".")):
        return "the name has letters that look like others"
    if parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        return "the connection is not encrypted"
    return None


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # raises where it is no number
    except ValueError:
        return None
    return parts
