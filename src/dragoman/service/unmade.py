"""Calls that end before there is a host to make them, because the configuration cannot be used: they are in the audit all the same."""

from __future__ import annotations

import secrets
import time

import msgspec

from dragoman.errors import ConfigError, DragomanError
from dragoman.policy.chain import Kind
from dragoman.service.context import Context
from dragoman.store.records import AuditEntry
from dragoman.store.sqlite import SqliteStore


async def write_down(
    context: Context,
    error: ConfigError,
    name: str,
    *,
    kind: Kind = "tool",
    server: str | None = None,
    principal: str = "local",
    turn: str = "",
) -> None:
    """Write down that a call of ``name`` was asked for and ended with ``error``; a store that cannot be written does not hide that one.

    Args:
        name: As the person wrote it. What it was to be called with is not kept: without a schema nobody knows what that means.
    """
    call = f"{secrets.token_hex(6)}-1"
    asked = AuditEntry(
        at=time.time(),
        event="asked",
        call=call,
        turn=turn or call,
        principal=principal,
        server=server,
        tool=name,
        attempt=1,
        detail={"kind": kind} if kind != "tool" else {},
    )
    detail = {"error": error.kind, "message": context.redactor.redact_text(str(error))}
    ended = msgspec.structs.replace(asked, event="ended", status="failed", detail=detail)
    try:
        store = await SqliteStore.open(context.store_path)
        try:
            await store.append(asked)
            await store.append(ended)
        finally:
            await store.close()
    except DragomanError:
        pass
