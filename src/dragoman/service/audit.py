"""Reading the audit: the last records, the story of one call, and the proof that nothing was changed."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import sqlite3
from typing import Any

import msgspec

from dragoman.config.checks import server_name
from dragoman.errors import ConfigError
from dragoman.policy.names import some
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing, keep_of
from dragoman.store import queries
from dragoman.store.prune import Pruned
from dragoman.store.records import AuditRecord, CallStory, iso
from dragoman.store.schema import open_read_only
from dragoman.store.search import Query
from dragoman.store.verify import BadRecord
from dragoman.store.verify import verify as verify_file

_NEAR = 2_000  # records in which a call id that was mistyped is looked for


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What verifying found.

    Attributes:
        up_to: When the last record was written (UTC); ``None`` for an empty audit.
        bad: The first bad record of each writer.
        damage: The file could not be read to its end.
        pruned: Records that are gone from the beginnings of the chains; the last of them was written at ``pruned_up_to`` (UTC).
    """

    path: str
    ok: bool
    records: int
    writers: int
    up_to: str | None
    bad: list[BadRecord]
    damage: str | None
    pruned: int = 0
    pruned_up_to: str | None = None

    def for_json(self) -> dict[str, Any]:
        """As ``audit verify --json`` shows it."""
        return dict(msgspec.to_builtins(self))


class Tail(msgspec.Struct, frozen=True, kw_only=True):
    """The last records, oldest first, and how many calls a crash left without an end: those may have run."""

    records: list[AuditRecord]
    maybe_ran: int


async def tail(
    context: Context,
    n: int = 20,
    *,
    server: str | None = None,
    tool: str | None = None,
    turn: str | None = None,
    status: str | None = None,
) -> Tail:
    """The last ``n`` records.

    Args:
        status: How they ended; ``unknown`` finds the calls too that a crash left without an end.
        tool: A tool's own name, or ``server.tool``. Of the calls that match, *asked* is there too, although it was written
            before anybody knew which server the name meant.
    """
    bare = tool
    if tool is not None and server is None and "." in tool:
        server, _, bare = tool.partition(".")
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        store = plumbing.store
        maybe_ran = await store.maybe_ran()
        found = await store.tail(n, server=server, tool=bare, turn=turn, status=status)
        if server is None and tool is None:
            return Tail(records=found, maybe_ran=maybe_ran)
        if bare != tool:  # a call that was refused before its name was understood
            found += await store.tail(n, tool=tool, turn=turn, status=status)
        if status is None:
            calls = {record.call for record in found if record.call}
            found += [record for call in calls for record in (await store.show(call)).records if record.event == "asked"]
    finally:
        await plumbing.close()
    unique = {(record.writer, record.seq): record for record in found}
    ordered = sorted(unique.values(), key=lambda record: (record.at, record.writer, record.seq))
    return Tail(records=ordered[-n:], maybe_ran=maybe_ran)


def full_name(record: AuditRecord) -> str:
    """``server.tool``; ``tool on COMMAND`` for a server without a configuration; before it was understood, the name as written."""
    if not record.server or not record.tool:
        return record.tool or record.server or ""
    is_name = server_name(record.server) is None
    return f"{record.server}.{record.tool}" if is_name else f"{record.tool} on {record.server}"


async def show(context: Context, call: str) -> CallStory:
    """Everything about one call.

    Raises:
        ConfigError: The audit knows no such call, or several that begin so; the hint has the nearest.
    """
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        story = await plumbing.store.show(call)
        if story.records:
            return story
        recent = list(dict.fromkeys(record.call for record in await plumbing.store.tail(_NEAR) if record.call))
        begun = [known for known in recent if call and known.startswith(call)]
        if len(begun) == 1:
            return await plumbing.store.show(begun[0])
    finally:
        await plumbing.close()
    if begun:
        raise ConfigError(f"{call!r} is the beginning of {len(begun)} calls", hint=f"one of {some(begun[::-1])}")
    near = difflib.get_close_matches(call, recent, 3, 0.6)
    hint = f"did you mean {' or '.join(near)}?" if near else "call ids are in: dragoman audit tail"
    raise ConfigError(f"the audit knows no call {call!r}", hint=hint)


async def search(context: Context, query: Query, limit: int = 20) -> list[AuditRecord]:
    """The newest records that match, newest first."""
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        return await plumbing.store.search(by_full_name(query), limit)
    finally:
        await plumbing.close()


def by_full_name(query: Query) -> Query:
    """With ``server.tool`` as a tool taken apart."""
    if query.tool is None or query.server is not None or "." not in query.tool:
        return query
    server, _, tool = query.tool.partition(".")
    return msgspec.structs.replace(query, server=server, tool=tool)


async def prune(context: Context, *, dry_run: bool = False) -> Pruned:
    """Prune what ``[audit]`` of the configuration does not keep, or only say what that would be.

    Raises:
        DragomanError: The audit is broken; nothing more is pruned.
    """
    keep = keep_of(context.config.audit)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    try:
        return await (plumbing.store.foresee(keep) if dry_run else plumbing.store.prune(keep))
    finally:
        await plumbing.close()


async def verify(context: Context) -> Proof:
    """Recompute every chain.

    Raises:
        ConfigError: There is nothing to verify here: no regular file, or one of a newer Dragoman.
    """
    path = context.store_path
    report = await asyncio.to_thread(verify_file, path)
    return Proof(
        path=report.path,
        ok=report.ok,
        records=report.records,
        writers=report.writers,
        up_to=await asyncio.to_thread(_last, context) if report.records and report.damage is None else None,
        bad=report.bad,
        damage=report.damage,
        pruned=report.pruned,
        pruned_up_to=iso(report.pruned_up_to) if report.pruned_up_to is not None else None,
    )


def _last(context: Context) -> str | None:
    with contextlib.closing(open_read_only(context.store_path)) as connection:
        try:
            found = queries.tail(connection, 1)
        except (sqlite3.Error, msgspec.MsgspecError, TypeError):  # what verify found may be just there
            return None
    return iso(found[-1].at) if found and isinstance(found[-1].at, float) else None


__all__ = ["AuditRecord", "CallStory", "Proof", "Pruned", "Query", "Tail", "full_name", "prune", "search", "show", "tail", "verify"]
