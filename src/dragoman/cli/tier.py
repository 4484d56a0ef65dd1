"""``dragoman tier``: list tools with their tiers and the rule that decided, or set one."""

from __future__ import annotations

import shlex

import click
import msgspec

from dragoman.cli import output
from dragoman.cli.options import Settings, common
from dragoman.cli.table import show_table
from dragoman.cli.terminal import has_terminal
from dragoman.service import policy
from dragoman.service.notes import agreement
from dragoman.service.policy import some
from dragoman.service.servers import for_user

_SHOWN = 8


@click.command()
@click.argument("tool", required=False, metavar="[SERVER.TOOL]")
@click.argument("tier", required=False, metavar="[L0|L1|L2|L3|off]")
@click.option("--user", is_flag=True, help="In the user's own file, instead of the one in use.")
@common
def tier(settings: Settings, tool: str | None, tier: str | None, user: bool) -> None:
    """Show or set the tier of a tool.

    L0 reads; L1 writes what is easy to take back; L2 asks a person each time; L3 is irreversible and stays off until it is switched on; off
    is not offered at all. SERVER.TOOL may be a pattern: 'files.read_*'. Without arguments, all tools with their tiers.
    """
    context = for_user(settings.context) if user else settings.loaded
    if tool is not None and tier is not None:
        change = settings.run(policy.set_tier(tool, tier, context, agreement("command", terminal=has_terminal())))
        if settings.json:
            output.emit_json(msgspec.to_builtins(change))
        else:
            _show_change(change)
        return
    rows = settings.run(policy.list_tiers(context, tool))
    if settings.json:
        output.emit_json({"tools": [msgspec.to_builtins(row) for row in rows]})
    elif rows:
        rules = [row.rule if row.known else f"{row.rule} (matches no known tool)" for row in rows]
        show_table(("TOOL", "TIER", "RULE"), [(row.full_name, row.tier, rule) for row, rule in zip(rows, rules, strict=True)])
    else:
        output.note("no tools are known yet")
        output.note("hint: dragoman status --check")


def _show_change(change: policy.TierChange) -> None:
    name = f"{change.server}.{change.key}"
    output.tell(f"{name} is {change.tier} now, in {change.file}")
    if change.is_pattern and change.known:
        output.tell(f"  so are: {some(change.matches, _SHOWN) or 'none of the tools that are known'}")
    if change.dropped:
        output.tell(f"  taken out, since `add` had written them and nobody touched them: {some(change.dropped, _SHOWN)}")
    if change.covered:
        output.tell(f"  a more exact rule decides for: {some(change.covered, _SHOWN)}")
    if change.destructive:
        count = len(change.destructive)
        says = f"{change.server} says that {some(change.destructive, _SHOWN)} {'destroys' if count == 1 else 'destroy'}"
        ask = shlex.quote(f"{change.server}.{change.destructive[0]}")
        output.warn(f"{says}, and nobody is asked about {'it' if count == 1 else 'them'} any more; dragoman tier {ask} L2 asks again")
    if not change.known:
        output.note(f"{change.server} was never connected to, so nobody knows yet whether it has such a tool")
    if change.tier == "L3":
        output.note("an L3 tool is switched off; switching one on by name is not there yet")
    if change.approval in ("new", "changed"):
        output.note(f"it counts only once {change.server} is approved, on a terminal: dragoman enable {change.server}")
