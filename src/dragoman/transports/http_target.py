"""Where an HTTP endpoint is, what we call it, and what we send along: checked before anything is opened."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit, urlunsplit

import msgspec

from dragoman._version import __version__
from dragoman.errors import ConfigError

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BLANK: Final = re.compile(r"[\x00-\x20\x7f]")
# They frame the message, or they belong to a session or a resumption, which this era does not have.
_NOT_YOURS: Final = frozenset(
    {"connection", "content-length", "host", "last-event-id", "mcp-session-id", "te", "trailer", "transfer-encoding", "upgrade"}
    | {f"sec-websocket-{name}" for name in ("accept", "extensions", "key", "protocol", "version")}
)


class Target(msgspec.Struct, frozen=True):
    """An endpoint.

    Attributes:
        url: Without credentials and fragment.
        label: For messages: the URL without credentials, query and fragment, any of which may be secret.
        authorization: From credentials in the URL, or ``None``.
    """

    url: str
    label: str
    host: str
    secure: bool
    authorization: str | None = None


class Proxy(msgspec.Struct, frozen=True):
    """A proxy from the environment. Its URL may hold credentials, its label does not."""

    url: str
    label: str


def parse_url(url: str, schemes: tuple[str, str] = ("http", "https")) -> Target:
    """Take an endpoint's URL apart; the second of ``schemes`` is the one with TLS.

    Raises:
        ConfigError: It is no URL of these schemes with a host.
    """
    if _BLANK.search(url):
        raise ConfigError(f"the URL {printable(url)} holds a blank or a control character", hint="write %20 for a blank")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigError(f"the URL {printable(url)} cannot be read: {exc}") from exc
    if parts.scheme not in schemes:
        what = f"has the scheme {parts.scheme!r}" if parts.scheme and "://" in url else "has no scheme"
        raise ConfigError(
            f"the URL {printable(url)} {what}; only {schemes[0]}:// and {schemes[1]}:// are spoken",
            hint=f"write the whole URL, as in {schemes[1]}://host/mcp",
        )
    if not host:
        raise ConfigError(f"the URL {printable(url)} names no host", hint=f"write the whole URL, as in {schemes[1]}://host/mcp")
    place = f"[{host}]" if ":" in host else host
    if port is not None:
        place += f":{port}"
    bare = urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))
    label = urlunsplit((parts.scheme, place, parts.path, "", "")) + ("?…" if parts.query else "")
    return Target(bare, label, host, parts.scheme == schemes[1], _basic(parts.username, parts.password))


def base_headers(headers: Mapping[str, str] | None, authorization: str | None = None) -> dict[str, str]:
    """What every request carries: the user's headers, then ours, which win whatever their case.

    Raises:
        ConfigError: A name or value is none, or the header is not the user's to set. Values, which may be secret, are not shown.
    """
    ours = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Accept-Encoding": "gzip, deflate"}
    taken = {name.lower() for name in ours}
    kept: dict[str, str] = {}
    for name, value in (headers or {}).items():
        if not _TOKEN.fullmatch(name):
            raise ConfigError(f"{printable(name)} is not the name of a header")
        if bad := bad_value(value):
            raise ConfigError(f"the value of header {name} holds the character {bad}", hint="remove it; files often end in a newline")
        if name.lower() in _NOT_YOURS:
            raise ConfigError(f"header {name} cannot be set: it belongs to the protocol", hint=f"remove {name} from the headers")
        if name.lower() not in taken:
            kept[name] = value.strip()
    present = {name.lower() for name in kept}
    if authorization is not None and "authorization" not in present:
        kept["Authorization"] = authorization
    if "user-agent" not in present:
        kept["User-Agent"] = f"dragoman/{__version__}"
    return {**kept, **ours}


def bad_value(value: str) -> str | None:
    """The first character that must not stand in a header's value, escaped, or ``None``."""
    match = _CONTROL.search(value)
    return repr(match.group())[1:-1] if match else None


def find_proxy(target: Target) -> Proxy | None:
    """The proxy that the environment names for this endpoint; none for this machine itself. ``~/.netrc`` is not read.

    Raises:
        ConfigError: A proxy of a kind that we do not speak.
    """
    from urllib.request import getproxies, proxy_bypass  # pulls in an HTTP client and e-mail: 20 ms that only this needs

    if _is_loopback(target.host) or proxy_bypass(urlsplit(target.url).netloc):
        return None
    proxies = getproxies()
    kind = "https" if target.secure else "http"
    url = proxies.get(kind) or proxies.get("all")
    if not url:
        return None
    parts = urlsplit(url if "://" in url else f"http://{url}")
    label = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"the environment names the proxy {printable(label)} for {target.label}; only http:// and https:// proxies are spoken",
            hint=f"set NO_PROXY={target.host}, or {kind.upper()}_PROXY to an HTTP proxy",
        )
    return Proxy(parts.geturl(), label)


def printable(text: str, limit: int = 200) -> str:
    """One line for a person: the first characters, with everything escaped that a terminal would act on or hide."""
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return cut + "…" if len(text) > limit else cut


def _basic(user: str | None, password: str | None) -> str | None:
    if user is None:
        return None
    return "Basic " + base64.b64encode(f"{unquote(user)}:{unquote(password or '')}".encode()).decode()


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
