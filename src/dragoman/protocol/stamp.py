"""What each era adds to a request: ``_meta`` in the body, headers for transports that have them.

Source: MCP 2026-07-28 basic/index#_meta and basic/transports/streamable-http; eras up to 2025-11-25 add nothing but a
progress token and, over HTTP, the negotiated version.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from dragoman.errors import LocalProtocolError
from dragoman.wire.envelope import EMPTY, RequestId, encode
from dragoman.wire.listing import Implementation
from dragoman.wire.methods import META_CLIENT_CAPABILITIES, META_CLIENT_INFO, META_VERSION, RESERVED_META

Params = Mapping[str, Any] | Raw | None

_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_NAMED_BY_TASK: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
_PLAIN: Final = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_LOOKS_ENCODED: Final = re.compile(r"=\?base64\?.*\?=")
# An optional prefix of labels with dots between them and a slash behind, and a name that may be empty; ASCII only.
_META_KEY: Final = re.compile(
    r"(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
)
_decode_params: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def header_value(value: str | int | bool) -> str:
    """Encode a value for ``Mcp-Name`` or ``Mcp-Param-*``: plain where it is printable ASCII, else base64 in markers."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if value == "" or (_PLAIN.fullmatch(value) and not _LOOKS_ENCODED.fullmatch(value)):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


class Stamp:
    """Builds the body and headers of requests for one negotiated revision."""

    __slots__ = ("_headers", "_meta", "_meta_raw", "modern", "of_answers", "revision")

    def __init__(self, revision: str, *, modern: bool, info: Implementation, capabilities: Mapping[str, Any], headers: bool) -> None:
        self.revision = revision
        self.modern = modern
        self._headers = headers
        self.of_answers: tuple[tuple[str, str], ...] = (("MCP-Protocol-Version", revision),) if headers and revision else ()
        self._meta: dict[str, Any] = (
            {META_VERSION: revision, META_CLIENT_INFO: info, META_CLIENT_CAPABILITIES: dict(capabilities)} if modern else {}
        )
        self._meta_raw = Raw(encode(self._meta))

    def params(self, params: Params, token: RequestId | None, meta: Mapping[str, Any] | None) -> Any:
        """The params to send: the caller's, with ``_meta`` as this era wants it.

        Args:
            params: The caller's; a ``_meta`` inside is merged, the protocol's own keys win.
            token: Progress token, or ``None``.
            meta: More ``_meta`` members.

        Raises:
            LocalProtocolError: ``meta`` tries to set a key that the protocol owns, or one that is no key.
        """
        if not self.modern and token is None and not meta:
            return EMPTY if params is None else params
        if token is None and not meta and type(params) is dict and "_meta" not in params:
            return {**params, "_meta": self._meta_raw}
        body: dict[str, Any] = dict(_decode_params(params)) if isinstance(params, Raw) else dict(params or {})
        own = body.pop("_meta", None)
        merged: dict[str, Any] = {}
        if isinstance(own, Raw):
            merged.update(_decode_params(own))
        elif isinstance(own, Mapping):
            merged.update(own)
        merged.update(meta or {})
        if self.modern and not RESERVED_META.isdisjoint(meta or {}):
            raise LocalProtocolError(f"_meta keys {sorted(RESERVED_META & set(meta or {}))} belong to the protocol")
        for key in meta or ():
            if not _META_KEY.fullmatch(key):
                raise LocalProtocolError(f"{key[:80]!r} is no key for _meta", hint="a name like progressToken or com.example/name")
        if token is not None:
            merged["progressToken"] = token
        merged.update(self._meta)
        if merged:
            body["_meta"] = merged
        return body

    def headers(self, method: str, params: Params, extra: tuple[tuple[str, str], ...] = ()) -> tuple[tuple[str, str], ...]:
        """The headers of one message, in the order they are sent; empty for transports without any."""
        if not self._headers:
            return ()
        found = [("MCP-Protocol-Version", self.revision)]
        if self.modern:
            found.append(("Mcp-Method", method))
            key = "taskId" if method in _NAMED_BY_TASK else _NAMED_BY.get(method)
            if key is not None and params is not None:
                source = _decode_params(params) if isinstance(params, Raw) else params
                value = source.get(key)
                if isinstance(value, Raw):
                    value = msgspec.json.decode(value)
                if isinstance(value, str):
                    found.append(("Mcp-Name", header_value(value)))
        return (*found, *extra)
