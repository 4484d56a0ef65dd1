"""The trace that a call belongs to, as it travels in ``_meta``: W3C trace context.

Nothing is added by itself: a server that is not trusted learns of a trace only if its caller says so.

Source: MCP 2026-07-28 basic/index#_meta; W3C Trace Context.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dragoman.errors import LocalProtocolError
from dragoman.protocol.events import short

KEYS: Final = frozenset({"traceparent", "tracestate", "baggage"})
_PARENT: Final = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_STATE: Final = re.compile(r"[\x20-\x7e\t]{1,8192}")

Trace = str | Mapping[str, str]


def meta_of(trace: Trace) -> dict[str, str]:
    """The members of ``_meta``.

    Args:
        trace: A ``traceparent``, or a mapping with it and perhaps ``tracestate`` and ``baggage``.

    Raises:
        LocalProtocolError: It is no trace context.
    """
    members = {"traceparent": trace} if isinstance(trace, str) else dict(trace)
    if unknown := sorted(members.keys() - KEYS):
        raise LocalProtocolError(f"a trace has no {unknown[0]!r}", hint=f"one of {', '.join(sorted(KEYS))}")
    parent = members.get("traceparent")
    if not isinstance(parent, str) or not _PARENT.fullmatch(parent):
        raise LocalProtocolError(
            f"traceparent {short(parent)} is none of W3C trace context", hint="e.g. 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        )
    for key, value in members.items():
        if not isinstance(value, str) or not _STATE.fullmatch(value):
            raise LocalProtocolError(f"{key} {short(value)} cannot be sent: it must be printable ASCII, of at most 8192 characters")
    return members
