"""``dragoman tier``: list tools with their tiers and the rule that decided, or set one."""

from __future__ import annotations

import shlex

import click
import msgspec

from dragoman.cli import output
from dragoman.cli.options import Settings, common
from dragoman.cli.table import show_table
from dragoman.cli.terminal import ask_name, has_terminal
from dragoman.errors import ApprovalDenied
from dragoman.service import policy, switching
from dragoman.service.context import Context
from dragoman.service.notes import How, agreement
from dragoman.service.policy import some
from dragoman.service.servers import for_user

_SHOWN = 8


@click.command()
@click.argument("tool", required=False, metavar="[SERVER.TOOL]")
@click.argument("tier", required=False, metavar="[L0|L1|L2|L3|off]")
@click.option("--user", is_flag=True, help="In the user's own file, instead of the one in use.")
@click.option("--enable", is_flag=True, help="Switch an L3 tool on: on a terminal, by typing its name.")
@click.option("--disable", is_flag=True, help="Switch it off again.")
@click.option("--yes", "-y", "yes", is_flag=True, hidden=True)
@common
def tier(settings: Settings, tool: str | None, tier: str | None, user: bool, enable: bool, disable: bool, yes: bool) -> None:
    """Show or set the tier of a tool.

    L0 reads; L1 writes what is easy to take back; L2 asks a person each time; L3 is irreversible and stays off until it is switched on; off
    is not offered at all. SERVER.TOOL may be a pattern: 'files.read_*'. Without arguments, all tools with their tiers.
    """
    context = for_user(settings.context) if user else settings.loaded
    if enable or disable:
        if (enable and disable) or tool is None or tier is not None:
            raise click.UsageError("write one of: dragoman tier --enable SERVER.TOOL, dragoman tier --disable SERVER.TOOL")
        _switch(settings, tool, context, on=enable, yes=yes)
        return
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


def _switch(settings: Settings, written: str, context: Context, *, on: bool, yes: bool) -> None:
    """Switch an L3 tool on or off.

    Raises:
        ApprovalDenied: It is to be switched on, and the person did not type its name, or could not.
    """
    what = switching.look(written, context, on=on)
    how: How = "command"
    if on and not what.was:
        hint = f"type it on a terminal: dragoman tier --enable {shlex.quote(what.full_name)}"
        if yes or settings.yes:
            raise ApprovalDenied("--yes does not cover L3: nothing was switched on", layer="approve", hint=hint, server=what.server)
        if has_terminal():
            output.tell(f"{what.full_name} is irreversible (L3). Once on, each call is approved twice.")
        typed = ask_name("Type the tool's name to switch it on:")
        if typed is None:
            raise ApprovalDenied("there is no terminal to ask on: nothing was switched on", layer="approve", hint=hint, server=what.server)
        if typed not in (what.tool, what.full_name):
            raise ApprovalDenied("that is not its name: nothing was switched on", layer="approve", server=what.server)
        how = "terminal"
    done = settings.run(switching.switch(what, context, agreement(how, terminal=has_terminal()), on=on))
    if settings.json:
        output.emit_json(msgspec.to_builtins(done))
        return
    output.tell(f"{what.full_name} is switched {'on' if on else 'off'} now, in {done.file}")
    if done.approval in ("new", "changed"):
        output.note(f"it counts only once {what.server} is approved, on a terminal: dragoman enable {what.server}")


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
        output.note(f"an L3 tool is off until you switch it on, on a terminal: dragoman tier --enable {shlex.quote(name)}")
    if change.approval in ("new", "changed"):
        output.note(f"it counts only once {change.server} is approved, on a terminal: dragoman enable {change.server}")
