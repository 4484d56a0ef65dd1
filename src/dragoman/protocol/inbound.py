"""Reading what a peer really sends: strictly first, then leniently.

``recover`` is tried only on bytes that strict decoding refused. It returns messages it could save, or the id of the
request that the bytes were meant to answer, so that just that request fails, with a name, and nothing hangs.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from dragoman.wire.envelope import Envelope, RequestId, decode_batch, decode_envelope, encode

# Where a JSON-RPC object may begin inside a line of log text.
_START: Final = re.compile(r'\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:')
_ID: Final = re.compile(rb'"id"\s*:\s*(-?\d{1,19}|"(?:[^"\\]|\\.){0,256}")(?=\s*[,}])')  # a whole value: 1.5 is not 1
_RESPONSE: Final = re.compile(rb'"(?:result|error)"\s*:')
_METHOD: Final = re.compile(rb'"method"\s*:')
_EDGE: Final = 4096
_MAX_STARTS: Final = 64
_MAX_NOTES: Final = 16
_MAX_COMMAS: Final = 10_000
_MAX_MENDED: Final = 8 << 20  # bytes; mending takes twenty times as long as reading, and more memory than what is mended
_NOISE: Final = ("noise", "not a JSON-RPC message")


class Unreadable(msgspec.Struct, frozen=True):
    """Bytes that answer ``request_id`` and cannot be read."""

    request_id: RequestId
    reason: str


class Recovered(msgspec.Struct, frozen=True):
    """What was saved from bytes that strict decoding refused.

    ``notes`` are pairs of a word to count by and a line for a person; empty for blank lines.
    """

    messages: tuple[Envelope, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()


def read_strictly(message: bytes | bytearray) -> Envelope | None:
    """The envelope, or ``None`` if anything at all is wrong with the bytes."""
    try:
        if not message.isascii():
            message.decode()  # msgspec does not look into raw members; decoding later must not fail on them
        return decode_envelope(message)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def recover(message: bytes | bytearray) -> Recovered:
    """Save what can be saved from bytes that :func:`read_strictly` refused."""
    if len(message) > _MAX_MENDED:
        return _unmended(message)
    stripped = bytes(message).strip()
    if not stripped:
        return Recovered()
    notes: list[tuple[str, str]] = []
    try:
        text = stripped.decode("utf-8-sig")
        if stripped.startswith(b"\xef\xbb\xbf"):
            notes.append(("bom", "a byte order mark stands before a message"))
    except UnicodeDecodeError as exc:
        text = stripped.decode("utf-8", "replace")
        notes.append(("bad-utf8", f"invalid UTF-8 at byte {exc.start}, replaced"))
    if notes:
        envelope = read_strictly(text.encode())
        if envelope is not None:
            return Recovered((envelope,), notes=tuple(notes))
    if "{" not in text and "[" not in text and '"id"' not in text:  # log text, and a flood of it must be cheap
        return Recovered(notes=(*notes, _NOISE))
    # An array of millions of numbers would fill the memory before anybody sees that it is no batch; messages in one are found below.
    if text.startswith("[") and text.count(",") <= _MAX_COMMAS:
        batch = _batch(text)
        if batch is not None:
            return Recovered(batch.messages, batch.unreadable, (*notes, *batch.notes))
    found, reason = _objects(text)
    if found:
        notes += reason
        return Recovered(tuple(found), notes=tuple(notes))
    request_id = response_id(stripped[:_EDGE], stripped[-_EDGE:])
    if request_id is not None:
        why = _why(stripped)
        return Recovered(unreadable=(Unreadable(request_id, why),), notes=(*notes, ("unreadable", f"an answer cannot be read: {why}")))
    return Recovered(notes=(*notes, _NOISE))


def _unmended(message: bytes | bytearray) -> Recovered:
    request_id = response_id(bytes(message[:_EDGE]), bytes(message[-_EDGE:]))
    if request_id is None:
        return Recovered(notes=(_NOISE,))
    why = f"it is broken, and with {len(message)} bytes too long to be mended"
    return Recovered(unreadable=(Unreadable(request_id, why),), notes=(("unreadable", f"an answer cannot be read: {why}"),))


def response_id(head: bytes, tail: bytes) -> RequestId | None:
    """The id of a response from the first and last bytes of it: some servers write the id first, some last.

    Only an ``"id"`` before the result begins, or the last one after it, is believed; text inside a result never is.
    """
    start = _RESPONSE.search(head)
    if start is None:
        return None  # half a line may hold our id by chance, e.g. a message that was cut; it answers nothing
    before = head[: start.start()]
    if _METHOD.search(before):
        return None
    match = _ID.search(before)
    if match is None:
        match = next(reversed(list(_ID.finditer(tail))), None)
        if match is None or not re.fullmatch(rb'\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*', tail[match.end() :]):
            return None
    return _id(match.group(1))


def begins(head: bytes) -> tuple[Literal["answer", "request", "noise", "other"], RequestId | None]:
    """What a message is whose first bytes these are, and which request it answers where it says so before its result.

    A request may be a notice; noise is log text and whatever else cannot become a message; other is everything that may.
    """
    start, method = _RESPONSE.search(head), _METHOD.search(head)
    if start is not None and (method is None or start.start() < method.start()):
        match = _ID.search(head[: start.start()])
        return "answer", None if match is None else _id(match.group(1))
    if method is not None and head.lstrip()[:1] == b"{":
        return "request", None
    return ("other" if b"{" in head or head.lstrip()[:1] == b"[" else "noise"), None


def _id(text: bytes) -> RequestId | None:
    try:
        value = json.loads(text, strict=False)
    except ValueError:  # an escape that is none, bytes that are no text
        return None
    return value if isinstance(value, (int, str)) else None


def _why(message: bytes) -> str:
    try:
        decode_envelope(message)
    except RecursionError:
        return "it is nested too deeply"
    except msgspec.DecodeError as exc:
        return str(exc)
    return "it is not valid"


def _batch(text: str) -> Recovered | None:
    try:
        parts = decode_batch(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    messages: list[Envelope] = []
    unreadable: list[Unreadable] = []
    notes: list[tuple[str, str]] = [("batch", f"a batch of {len(parts)}")]
    for part in parts:
        envelope = read_strictly(bytes(part))
        if envelope is not None:
            messages.append(envelope)
            continue
        if not bytes(part).startswith(b"{"):
            notes.append(("noise", "something in a batch that is no message"))
            continue
        inner = recover(bytes(part))
        messages += inner.messages
        unreadable += inner.unreadable
        notes += inner.notes
    if len(notes) > _MAX_NOTES:
        notes = [*notes[:_MAX_NOTES], ("noise", f"{len(notes) - _MAX_NOTES} more things wrong in one batch")]
    return Recovered(tuple(messages), tuple(unreadable), tuple(notes))


def _objects(text: str) -> tuple[list[Envelope], list[tuple[str, str]]]:
    """Every JSON-RPC object in a line that may hold other text as well."""
    decoder = json.JSONDecoder(parse_constant=_constant)
    found: list[Envelope] = []
    notes: list[tuple[str, str]] = []
    position = rest = 0
    budget = 4 * len(text)  # characters that may be read in vain: a line made of false starts must not cost its length squared
    for _ in range(_MAX_STARTS):
        match = _START.search(text, position)
        if match is None or budget < 0:
            break
        try:
            value, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError) as exc:
            budget -= (exc.pos if isinstance(exc, json.JSONDecodeError) else len(text)) - match.start()
            position = match.end()
            continue
        envelope = _envelope_of(value)
        if envelope is not None:
            found.append(envelope)
            if text[rest : match.start()].strip():
                notes.append(("glued", "other text stands on the line of a message"))
            rest = end
        position = end
    if found:
        if text[rest:].strip():
            notes.append(("glued", "other text stands on the line of a message"))
        if not notes:
            notes.append(("bad-json", "NaN, Infinity, a lone surrogate or a wrong id type was mended"))
    return found, notes


def _constant(_name: str) -> None:
    return None  # NaN and the infinities are no JSON; null is what other languages write for them


def _envelope_of(value: Any) -> Envelope | None:
    if not isinstance(value, dict) or not ({"method", "result", "error"} & value.keys()):
        return None
    if isinstance(value.get("id"), float) and value["id"].is_integer():
        value["id"] = int(value["id"])
    try:
        return decode_envelope(encode(_mend(value)))
    except (msgspec.DecodeError, msgspec.EncodeError, RecursionError, UnicodeEncodeError, ValueError):
        return None


def _mend(value: Any) -> Any:
    """Replace lone surrogates, which no UTF-8 can hold."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_mend(item) for item in value]
    if isinstance(value, dict):
        return {_mend(key): _mend(item) for key, item in value.items()}
    return value


def raw_or_empty(value: object) -> Raw:
    """``params`` as JSON: ``{}`` where they were left out."""
    return value if isinstance(value, Raw) else Raw(b"{}")
