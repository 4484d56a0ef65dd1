"""One hash chain per writer: canonical JSON, the hash over it, and sealing an entry into a table row.  No database here.

The hash of a record is SHA-256 over the JSON object of all its columns but ``hash``: keys sorted by code point, no
spaces, UTF-8 unescaped but for what JSON demands, shortest round-trip floats, ``null`` where a field is absent, ``"v": 1``.
``prev`` of the first record is SHA-256 of ``dragoman audit v1 <writer>``, so a chain cannot be passed off as another's.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any, Final, NamedTuple

import msgspec

from dragoman.store.records import AuditEntry

VERSION = 1
MAX_DETAIL_BYTES = 256 * 1024
MAX_DEPTH = 64
_INT64 = 2**63

_canonical = msgspec.json.Encoder(order="sorted")
_ordered = msgspec.json.Encoder()


class _Hashed(msgspec.Struct, frozen=True):
    """The hashed object; its fields stand in sorted order, so that no sorting is needed per record."""

    at: float
    attempt: int | None
    call: str
    detail: msgspec.Raw
    event: str
    prev: str
    principal: str | None
    seq: int
    server: str | None
    status: str | None
    tier: str | None
    tool: str | None
    turn: str | None
    v: int
    writer: str


class Row(NamedTuple):
    """A record as its table row, in column order."""

    writer: str
    seq: int
    prev: str
    hash: str
    v: int
    at: float
    event: str
    call: str
    turn: str | None
    principal: str | None
    server: str | None
    tool: str | None
    tier: str | None
    attempt: int | None
    status: str | None
    detail: str


COLUMNS = ", ".join(f'"{name}"' for name in Row._fields)


def canonical_json(value: Any) -> bytes:
    """``value`` in the form that is hashed.

    Raises:
        TypeError, ValueError, RecursionError: It is no JSON; see ``plain``.
    """
    return _canonical.encode(value)


def genesis(writer: str) -> str:
    """``prev`` of a writer's first record."""
    return hashlib.sha256(f"dragoman audit v1 {writer}".encode()).hexdigest()


def record_hash(row: Row) -> str:
    """The hash that ``row`` should carry, from its other columns.

    Raises:
        TypeError, ValueError: A column holds what no record can hold.
    """
    writer, seq, prev, _, v, at, event, call, turn, principal, server, tool, tier, attempt, status, detail = row
    raw = msgspec.Raw(detail.encode())
    hashed = _Hashed(at, attempt, call, raw, event, prev, principal, seq, server, status, tier, tool, turn, v, writer)
    return hashlib.sha256(_ordered.encode(hashed)).hexdigest()


def seal(entry: AuditEntry, writer: str, seq: int, prev: str) -> Row:
    """The next row of a chain.  Never refuses an entry: what JSON or the table cannot hold is replaced, and marked."""
    try:
        return _seal(entry, writer, seq, prev)
    except (TypeError, ValueError, OverflowError, RecursionError):
        # Whoever put it there, a record with a repaired value beats a call without a record.
        fields = {name: getattr(entry, name) for name in entry.__struct_fields__}
        detail = plain(fields.pop("detail"))
        cleaned: dict[str, Any] = {name: plain(value) for name, value in fields.items()}
        if not isinstance(cleaned["at"], int | float):
            cleaned["at"] = 0.0
        if not isinstance(cleaned["attempt"], int | float):
            cleaned["attempt"] = None
        detail = detail if isinstance(detail, dict) else {"value": detail}
        return _seal(AuditEntry(**cleaned, detail={**detail, "repaired": True}), writer, seq, prev)


def _seal(entry: AuditEntry, writer: str, seq: int, prev: str) -> Row:
    at = float(entry.at) + 0.0  # SQLite keeps no negative zero, and the hash is over what it keeps
    if not math.isfinite(at):
        raise ValueError("a record's time must be finite")
    attempt = entry.attempt
    if attempt is not None:
        attempt = int(attempt)
        if not -_INT64 <= attempt < _INT64:
            raise OverflowError("attempt does not fit 64 bits")
    detail = canonical_json(entry.detail)
    if not detail.startswith(b"{"):
        raise TypeError("detail must be an object")
    if len(detail) > MAX_DETAIL_BYTES:
        digest = hashlib.sha256(detail).hexdigest()
        detail = canonical_json({"cut": True, "bytes": len(detail), "limit": MAX_DETAIL_BYTES, "sha256": digest})
    event, call, turn, principal = entry.event, entry.call, entry.turn, entry.principal
    server, tool, tier, status = entry.server, entry.tool, entry.tier, entry.status
    if not _TEXTS.issuperset(map(type, (event, call, turn, principal, server, tool, tier, status))):
        event, call, turn, principal = _text(event) or "", _text(call) or "", _text(turn), _text(principal)
        server, tool, tier, status = _text(server), _text(tool), _text(tier), _text(status)
    event, call = event or "", call or ""
    raw = msgspec.Raw(detail)
    hashed = _Hashed(at, attempt, call, raw, event, prev, principal, seq, server, status, tier, tool, turn, VERSION, writer)
    digest = hashlib.sha256(_ordered.encode(hashed)).hexdigest()
    text = detail.decode()
    return Row(writer, seq, prev, digest, VERSION, at, event, call, turn, principal, server, tool, tier, attempt, status, text)


_TEXTS: Final = frozenset((str, type(None)))


def _text(value: object) -> str | None:
    """An exact ``str``: a number would come back from a text column as text, and the hash would not match."""
    return value if value is None or type(value) is str else str(value)


def plain(value: Any, depth: int = 0) -> Any:
    """``value`` as the nearest thing JSON can hold: odd keys and objects as text, lone surrogates and NaN replaced."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_INT64 <= value < _INT64 else str(value)[:400] if value.bit_length() < 10_000 else "a huge number"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str):
        return str(value).encode("utf-8", "replace").decode()
    if depth >= MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        return {str(plain(str(key))): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    return plain(f"<{type(value).__name__}>")
