"""The JSON-RPC 2.0 envelope: how one message is framed as JSON, without looking into it.

``params``, ``result`` and ``error`` stay raw bytes here, so that a message can be classified, matched and forwarded
without being decoded; unknown members of them survive by construction.

Source: MCP basic/index#messages.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

RequestId = int | str

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
URL_ELICITATION_REQUIRED: Final = -32042
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

NULL: Final = Raw(b"null")
EMPTY: Final = Raw(b"{}")


class Envelope(msgspec.Struct, gc=False):
    """Any message, as received. ``UNSET`` is an absent member; ``id`` may be ``None`` on errors."""

    id: int | str | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET
    jsonrpc: str | UnsetType = UNSET


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """A JSON-RPC error object. ``data`` is whatever JSON the peer sent."""

    code: int
    message: str = ""
    data: Any = UNSET


class _PlainErrorBody(msgspec.Struct):
    code: int
    message: str = ""


class Request(msgspec.Struct, gc=False, tag_field="jsonrpc", tag="2.0"):
    """A request as sent."""

    id: RequestId
    method: str
    params: Any


class Notification(msgspec.Struct, gc=False, tag_field="jsonrpc", tag="2.0"):
    """A notification as sent; ``params`` may be left out."""

    method: str
    params: Any = UNSET


class ResultResponse(msgspec.Struct, gc=False, tag_field="jsonrpc", tag="2.0"):
    """A successful answer as sent."""

    id: RequestId
    result: Any


class ErrorResponse(msgspec.Struct, gc=False, tag_field="jsonrpc", tag="2.0"):
    """A failed answer as sent; ``id`` is ``None`` when the request could not be read."""

    id: RequestId | None
    error: ErrorBody


Outgoing = Request | Notification | ResultResponse | ErrorResponse

encode: Final = msgspec.json.Encoder().encode
decode_envelope: Final = msgspec.json.Decoder(Envelope).decode
decode_error: Final = msgspec.json.Decoder(ErrorBody).decode
_decode_plain_error: Final = msgspec.json.Decoder(_PlainErrorBody).decode
decode_any: Final = msgspec.json.Decoder().decode
decode_batch: Final = msgspec.json.Decoder(list[Raw]).decode
decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def decode_plain_error(raw: Raw | bytes) -> ErrorBody:
    """An error object without its ``data``, for data that Python cannot hold."""
    plain = _decode_plain_error(raw)
    return ErrorBody(plain.code, plain.message)
