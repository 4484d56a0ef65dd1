"""``dragoman audit``: the last records, the story of one call, the proof that nothing was changed."""

from __future__ import annotations

import json

import click

from dragoman.cli import audit_search, output
from dragoman.cli.audit_search import STATUSES, row
from dragoman.cli.group import Subcommands
from dragoman.cli.options import Settings, common
from dragoman.cli.table import show_table
from dragoman.service import audit as service
from dragoman.service.audit import CallStory, Proof, full_name


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def audit(ctx: click.Context) -> None:
    """What was asked, sent and ended, and what was changed; by whom."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit()


for command in (audit_search.search, audit_search.export, audit_search.prune):
    audit.add_command(command)


@audit.command("tail")
@click.option("-n", "count", type=click.IntRange(min=1), default=20, show_default=True, help="How many records.")
@click.option("--server", help="Of this server alone.")
@click.option("--tool", metavar="TOOL", help="Of this tool alone: its own name, or SERVER.TOOL.")
@click.option("--turn", help="Of this turn alone.")
@click.option("--status", type=click.Choice(STATUSES), help="That ended so.")
@common
def tail(settings: Settings, count: int, server: str | None, tool: str | None, turn: str | None, status: str | None) -> None:
    """The last records, oldest first."""
    found = settings.run(service.tail(settings.context, count, server=server, tool=tool, turn=turn, status=status))
    records = found.records
    if settings.json:
        output.emit_json({"records": [record.for_json() for record in records]})
    elif records:
        show_table(("TIME", "WHAT", "TOOL", "TIER", "CALL"), [row(record) for record in records])
    else:
        output.note("the audit has no such records" if server or tool or turn or status else "the audit is empty")
    if found.maybe_ran and status != "unknown" and not settings.json:
        calls = "1 call" if found.maybe_ran == 1 else f"{found.maybe_ran} calls"
        output.note(f"{calls} may have run: dragoman audit tail --status unknown")


@audit.command("show")
@click.argument("call")
@common
def show(settings: Settings, call: str) -> None:
    """Everything about one call. CALL is its id, or the beginning of it."""
    story = settings.run(service.show(settings.context, call))
    if settings.json:
        records = [record.for_json() for record in story.records]
        output.emit_json({"call": story.call, "verdict": story.verdict, "records": records})
    else:
        _show_story(story)


@audit.command("verify")
@common
def verify(settings: Settings) -> int:
    """Recompute every chain of records. Exit code 1 if one was changed, 0 also for an empty audit."""
    proof = settings.run(service.verify(settings.context))
    if settings.json:
        output.emit_json(proof.for_json())
    elif proof.ok:
        output.tell(_verified(proof))
    else:
        _show_faults(proof)
    return 0 if proof.ok else 1


def _verified(proof: Proof) -> str:
    if not proof.records:
        return "verified: the audit is empty"
    records = f"{proof.records} record{'' if proof.records == 1 else 's'}"
    writers = f"{proof.writers} writer{'' if proof.writers == 1 else 's'}"
    text = f"verified {records} of {writers}" + (f", up to {proof.up_to}" if proof.up_to else "")
    return text + (f"; {proof.pruned} pruned up to {proof.pruned_up_to}, the rest whole" if proof.pruned else "")


def _show_faults(proof: Proof) -> None:
    for bad in proof.bad:
        output.tell(str(bad))
    if proof.damage:
        output.tell(f"cannot be read to its end: {proof.damage}")
    where = f"{len(proof.bad)} of {proof.writers} chains" if proof.bad else "the file"
    output.error(f"the audit is broken: {where} in {proof.path}", "keep a copy of the file; the records before these are whole")


def _show_story(story: CallStory) -> None:
    last = story.records[-1]
    output.tell(f"{full_name(last)}: {story.verdict}")
    output.tell(f"  call {story.call}" + (f", turn {last.turn}" if last.turn and last.turn != story.call else ""))
    for record in story.records:
        output.say()
        what = " ".join(str(part) for part in (record.event, record.status, record.tier) if part)
        output.tell(f"{record.at_iso}  {what}, for {record.principal or '?'}" + (f", attempt {record.attempt}" if record.attempt else ""))
        for key, value in record.detail.items():
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            output.tell(f"  {key}: {text}")
