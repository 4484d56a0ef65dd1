"""``dragoman audit search``, ``export`` and ``prune``: few records among many, all of them into a file, and the oldest out."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

from dragoman.cli import output
from dragoman.cli.options import Settings, common
from dragoman.cli.table import show_table
from dragoman.service import audit as service
from dragoman.service.audit import AuditRecord, Query
from dragoman.service.moments import moment

STATUSES = ("ok", "tool error", "refused", "denied", "expired", "failed", "cancelled", "unknown")
F = TypeVar("F", bound=Callable[..., Any])


def filters(function: F) -> F:
    """What both search and export can ask for."""
    for option in reversed(
        (
            click.option("--server", help="Of this server alone."),
            click.option("--tool", metavar="TOOL", help="Of this tool alone: its own name, or SERVER.TOOL."),
            click.option("--status", type=click.Choice(STATUSES), help="That ended so."),
            click.option("--tier", type=click.Choice(("L0", "L1", "L2", "L3")), help="Of this tier."),
            click.option("--principal", help="On whose behalf."),
            click.option("--turn", help="Of this turn alone."),
            click.option("--call", metavar="ID", help="Of this call: its id, or the beginning of it."),
            click.option("--event", help="Of this kind: asked, sending, ended, pruned …"),
            click.option("--since", metavar="TIME", help="From then on: 2026-11-30, 2026-11-30T14:05, 2h, 7d, today, yesterday."),
            click.option("--until", metavar="TIME", help="Before then."),
        )
    ):
        function = option(function)
    return function


def query(text: str | None, since: str | None, until: str | None, **columns: str | None) -> Query:
    now = time.time()
    return Query(
        text=text or None,
        since=moment(since, now, "--since") if since is not None else None,
        until=moment(until, now, "--until") if until is not None else None,
        **columns,
    )


@click.command()
@click.argument("text", required=False)
@filters
@click.option("-n", "count", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many records.")
@common
def search(settings: Settings, /, text: str | None, count: int, **asked: str | None) -> None:
    """Find records, the newest first. TEXT stands in the arguments, messages or other details that were kept.

    With TEXT, the other options may hold for any record of the same call: the arguments are in the first, the status in the last.
    """
    found = settings.run(service.search(settings.context, query(text, **asked), count))
    if settings.json:
        output.emit_json({"records": [record.for_json() for record in found]})
    elif found:
        show_table(("TIME", "WHAT", "TOOL", "TIER", "CALL"), [row(record) for record in found])
    else:
        output.note("the audit has no such records")
    if len(found) == count and not settings.json:
        output.note(f"the newest {count}; -n N shows more")


@click.command()
@click.argument("file", required=False)
@click.option("--format", "form", type=click.Choice(("jsonl", "csv")), help="By the file's name, else jsonl.")
@click.option("--text", help="That stands in the arguments, messages or other details that were kept.")
@filters
@common
def export(settings: Settings, /, file: str | None, form: Any, text: str | None, **asked: str | None) -> None:
    """Write records out, the oldest first, to FILE (for its owner alone, begun anew) or to stdout.

    One JSON object a line, or CSV for a spreadsheet, in which no text of a server can be a formula.
    """
    from dragoman.service.audit_export import export as write

    form = form or ("csv" if file is not None and file.lower().endswith(".csv") else "jsonl")
    count = write(settings.context, query(text, **asked), form, file)
    if file is not None and file != "-":
        output.note(f"{count} record{'' if count == 1 else 's'} written to {file}")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@common
def prune(settings: Settings, dry_run: bool) -> None:
    """Take out the oldest records, by keep_days and max_mb of [audit] in the configuration; the rest still verifies.

    Programs that make calls do so by themselves, soon after they start and then every hour.
    """
    context = settings.loaded
    done = settings.run(service.prune(context, dry_run=dry_run))
    if settings.json:
        output.emit_json({"records": done.records, "up_to": done.up_to, "dry_run": dry_run})
        return
    keep = context.config.audit
    limits = f"{keep.keep_days} days and {keep.max_mb} MB are kept"
    if not done.records:
        output.tell(f"nothing to prune: {limits}")
    else:
        records = f"{done.records} record{'' if done.records == 1 else 's'}"
        output.tell(f"{'would prune' if dry_run else 'pruned'} {records} up to {done.up_to}: {limits}")


def row(record: AuditRecord) -> tuple[str, str, str, str, str]:
    """A record as a line of a table."""
    what = f"{record.event} {record.status}" if record.status else record.event
    if record.verdict == "unknown":
        what += " (unknown)"
    last = record.call or f"by {record.principal or '?'}, {record.detail.get('how', '')}".removesuffix(", ")
    return (_when(record.at), what, service.full_name(record), record.tier or "", last)


def _when(at: float) -> str:
    """Local time: today's without its date."""
    try:
        moment = time.localtime(at)
    except (OverflowError, ValueError, OSError):
        return str(at)
    today = time.localtime()
    same_day = (moment.tm_year, moment.tm_yday) == (today.tm_year, today.tm_yday)
    return time.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M", moment)
