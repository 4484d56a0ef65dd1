"""Why two sides do not come together, in words: what was asked, what was answered, whose fault it is, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from dragoman.errors import ConnectFailed, DragomanError, ServerError, VersionMismatch
from dragoman.protocol.events import short
from dragoman.protocol.refusals import NOT_OFFERED, Refusal, ends_session
from dragoman.wire.envelope import INTERNAL_ERROR, UNSUPPORTED_VERSION, ErrorBody
from dragoman.wire.revisions import ALL, LEGACY, MODERN, newest_mutual

_AT_FAULT = "the server contradicts itself or the specification; upgrade it, or tell those who make it"


def mismatch(ours: Sequence[str], theirs: Sequence[str], asked: str) -> VersionMismatch:
    """The server named what it speaks, and nothing came of it; ``asked`` is what it was asked for last."""
    common = newest_mutual(ours, theirs)
    if common is not None:
        detail = f"we asked for {asked}, and the server refused it, though it names {common} among the revisions it speaks"
        return VersionMismatch(ours, theirs, detail=detail, hint=_AT_FAULT)
    spoken = newest_mutual(ALL, theirs)
    return VersionMismatch(ours, theirs, hint=None if spoken is None else _allow(spoken, ours))


def answered(ours: Sequence[str], theirs: str, asked: str) -> VersionMismatch:
    """The server answered ``initialize`` for the revision ``asked`` with one that it cannot be answered with."""
    detail = f"we asked for {asked} with initialize, and the server answered {theirs}"
    if theirs in MODERN:
        hint = f"{_AT_FAULT}: an answer to initialize names a revision up to {LEGACY[0]}"
        return VersionMismatch(ours, (theirs,), detail=f"{detail}, a revision that has no initialize", hint=hint)
    if theirs in ALL:
        return VersionMismatch(ours, (theirs,), detail=f"{detail}, which this client was told not to speak", hint=_allow(theirs, ours))
    return VersionMismatch(ours, (theirs,))


def not_modern(asked: str, refusal: Refusal | None) -> DragomanError:
    """The probe was refused, or answered by a server that did not understand it, and no other revision may be spoken."""
    error = refusal.error if refusal is not None else None
    said = (f"{error.code}: " if error is not None else "") + (refusal.reason if refusal is not None else "")
    legacy = error.code != INTERNAL_ERROR if error is not None else refusal is None or _wants_a_session(refusal)
    if legacy:
        how = "answered without supportedVersions" if refusal is None else f"refused it with {'error ' if error is not None else ''}{said}"
        detail = f"we asked for {asked}, the only one this client was told to speak, with server/discover, and the server {how}"
        hint = f"the server seems to speak older revisions only: upgrade it, or let this client speak them too (no revision {asked})"
        return VersionMismatch((asked,), (), detail=detail, hint=hint)
    hint = "older revisions were not tried: they were not among those offered here"
    status = refusal.status if refusal is not None else None
    return ConnectFailed(f"the server does not speak {asked} (it answered {said})", status=status, hint=hint)


def _wants_a_session(refusal: Refusal) -> bool:
    return refusal.status == 400 and ends_session(400, refusal.body)  # only a server of the handshake eras misses one


def unreadable(method: str, reason: str, size: int | None, max_bytes: int | None = None) -> ConnectFailed:
    """The answer to ``method`` arrived and is no use; ``size`` is set when that is why, ``max_bytes`` when it is not the frame limit."""
    hint = "is it an MCP server?"
    if max_bytes is not None:
        hint = "no server needs so much to say who it is; are its instructions meant to be so long?"
    elif size is not None:
        hint = "raise the frame limit (frame_limit=, limits.frame_bytes)"
    return ConnectFailed(f"the answer to {method} cannot be read: {reason}", hint=hint)


def refused_to_initialize(ours: Sequence[str], offered: Sequence[str], refusal: Refusal, asked: str) -> DragomanError:
    """``initialize`` was refused for good; ``offered`` are the revisions that the refusal names."""
    if offered and newest_mutual(ours, offered) is None:
        return mismatch(ours, offered, asked)
    error = refusal.error
    if error is not None and error.message.startswith(NOT_OFFERED):  # our own words
        return ConnectFailed("it sends back what is sent to it; this is not an MCP server")
    if error is not None and (refusal.status is None or error.code == UNSUPPORTED_VERSION):
        return ServerError(error.code, f"the server refuses to initialize: {error.message}", data_of(error), maybe_ran="no")
    if refusal.status is not None and refusal.status < 400:
        return ConnectFailed(f"this is no MCP endpoint: {refusal.reason}", status=refusal.status, body=refusal.body or None)
    said = f"HTTP {refusal.status}: error {error.code}: {error.message}" if error is not None else refusal.reason
    return msgspec.structs.replace(refusal, reason=said).failure("the server refuses to initialize: ")


def no_revision(value: object) -> ConnectFailed:
    """The answer to ``initialize`` has no ``protocolVersion`` that is one."""
    said = "no protocolVersion" if value is None else f"the protocolVersion {short(value)}"
    return ConnectFailed(f"the answer to initialize has {said}; this is not an MCP server")


def data_of(error: ErrorBody) -> Any:
    """The ``data`` of an error, ``None`` where there is none."""
    return None if error.data is UNSET else error.data


def _allow(revision: str, ours: Sequence[str]) -> str:
    upgrade = "upgrade the server, or " if revision < max(ours) else ""
    return f"{upgrade}let this client speak {revision} too (revision=)"
