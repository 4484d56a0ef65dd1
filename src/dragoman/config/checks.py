"""The rules for single values of a configuration: each check returns what is wrong in words, or ``None``."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

from ..wire import tcp
from ..wire.revisions import ALL
from ..wire.tier import TIERS, is_tier

_SERVER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110, token
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_PATTERN_LENGTH: Final = 256


def server_name(name: str) -> str | None:
    """Names of servers: split from tool names at the first dot, used as file names."""
    if _SERVER_NAME.fullmatch(name):
        return None
    return f"{name!r} cannot be a server's name: use 1 to 32 of letters, digits, _ and -, starting with a letter or digit"


def tier(value: object) -> str | None:
    """Tiers, spelled exactly."""
    if is_tier(value):
        return None
    shown = f'"{value}"' if isinstance(value, str) else str(value).lower()
    near = next((name for name in TIERS if isinstance(value, str) and name.lower() == value.strip().lower()), None)
    return f"expected one of L0, L1, L2, L3, off, got {shown}" + (f'; did you mean "{near}"?' if near else "")


def pattern(text: str) -> str | None:
    """Tool names and patterns: ``*`` is any run of characters, ``?`` one character; there is no other wildcard."""
    if not text.strip():
        return "expected a tool's name or a pattern, got an empty text"
    if len(text) > _PATTERN_LENGTH:
        return f"a pattern has at most {_PATTERN_LENGTH} characters, this one {len(text)}"
    if _CONTROL.search(text):
        return "a pattern cannot hold control characters"
    if wrong := re.search(r"[\[\]{}\\|]", text):
        return f"{wrong.group()!r} has no meaning in a pattern: only * (any characters) and ? (one character) have"
    return None


def url(text: str) -> str | None:
    """Addresses of servers, with all variables resolved."""
    if re.search(r"[\s\x00-\x1f\x7f]", text):
        return "a URL cannot hold spaces or control characters"
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as exc:
        return f"not a valid URL: {exc}"
    if parts.scheme == "unix":
        named = parts.path.startswith("/") and not (parts.netloc or parts.query or parts.fragment)
        return None if named else "a socket is named by an absolute path, as in unix:///run/server.sock"
    if parts.scheme in tcp.SCHEMES:
        try:
            tcp.tcp_address(text)
        except tcp.BadAddress as exc:
            return f"{exc.message}: {exc.hint}"
        return None
    if parts.scheme not in ("http", "https", "ws", "wss"):
        got = f"{parts.scheme}:" if parts.scheme else "no scheme"
        return f"expected a URL with http://, https://, ws://, wss://, unix:// or tcp://, got {got}"
    return None if parts.hostname else "the URL names no host"


def webhook(text: str) -> str | None:
    """The address of a webhook, with all variables resolved."""
    web = text.startswith(("http://", "https://"))
    return url(text) if web else "expected a URL with http:// or https://"


def variable_name(name: str) -> str | None:
    """Names of environment variables, as the operating system accepts them."""
    return None if name and "=" not in name and "\0" not in name else f"{name!r} cannot be the name of an environment variable"


def header_name(name: str) -> str | None:
    """Names of HTTP headers."""
    return None if _HEADER_NAME.fullmatch(name) else f"{name!r} cannot be the name of an HTTP header"


def header_value(value: str) -> str | None:
    """Values of HTTP headers: one line."""
    return "a header's value is one line without control characters" if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value) else None


def revision(value: str) -> str | None:
    """Revisions of the protocol that we speak."""
    if value in ALL:
        return None
    import difflib  # on the way to an error only

    near = difflib.get_close_matches(value, ALL, n=1)
    return f'unknown protocol revision "{value}"; known: {", ".join(ALL)}' + (f'; did you mean "{near[0]}"?' if near else "")
