"""``dragoman tools``: what can be called, with which tier, and what it is for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import output
from dragoman.cli.options import Settings, ad_hoc, common
from dragoman.wire.escape import escape_json

if TYPE_CHECKING:
    from dragoman.service.listing import ListedTool, ServerTools


@click.command()
@click.argument("server", required=False)
@click.option("--on", metavar="'CMD ... | URL'", help="List the tools of a server that has no configuration.")
@click.option("--check", is_flag=True, help="Connect, even where a list is stored.")
@click.option("--schema", is_flag=True, help="Print the schema of each tool's arguments.")
@ad_hoc
@common
def tools(settings: Settings, /, server: str | None, on: str | None, check: bool, schema: bool, **options: Any) -> int:
    """List the tools of one server, or of all.

    What was listed last is shown, and nothing is started; a server that was never listed is connected to.
    """
    from dragoman.cli.call import surroundings
    from dragoman.service.listing import list_tools

    if server is not None and on is not None:
        raise click.UsageError("give either SERVER or --on")
    around, target = surroundings(settings, on, options, asks=False)
    found = settings.run(list_tools(around, server, target, fresh=check))
    for one in found:
        _say_where_from(one)
    failed = [one.error for one in found if one.error is not None]
    if failed and len(found) == 1:
        raise failed[0]
    listed = [tool for one in found for tool in one.tools]
    if settings.json:
        output.emit_json({"tools": [tool.for_json() for tool in listed]})
    elif schema:
        for tool in listed:
            _show_schema(tool)
    elif listed:
        _show_table(listed)
    else:
        output.note("no tools" if found else "no server is configured; add one with: dragoman add NAME -- CMD ...")
    for error in failed:
        output.error(settings.redact(str(error)), settings.redact(error.hint) if error.hint else None)
    return failed[0].cli_exit if failed else 0


def _say_where_from(one: ServerTools) -> None:
    if one.age_s is not None:
        output.note(f"{one.server}: as listed {_ago(one.age_s)}; --check asks anew")
    elif one.error is None:
        output.note(f"{one.server}: connected and listed now")
    for flaw in one.flaws:
        output.warn(f"{one.server}: set aside: {flaw}")
    for notice in one.notices:
        output.note(f"note: {notice}")


def _show_table(listed: list[ListedTool]) -> None:
    from dragoman.cli.probe import first_line, view_note
    from dragoman.cli.table import show_table

    rows = []
    for tool in listed:
        about = f"held: {tool.held}" if tool.held else first_line(tool.definition.description or tool.definition.title)
        if view := view_note(tool.definition):
            about = f"{about} ({view})".lstrip()
        rows.append((tool.name, about) if tool.tier is None else (f"{tool.server}.{tool.name}", tool.tier, about))
    show_table(("TOOL", "WHAT IT IS FOR") if len(rows[0]) == 2 else ("TOOL", "TIER", "WHAT IT IS FOR"), rows)


def _show_schema(tool: ListedTool) -> None:
    name = tool.name if tool.tier is None else f"{tool.server}.{tool.name}"
    output.say(output.styled(name, bold=True) if name.isprintable() else name)
    output.data(escape_json(json.dumps(tool.definition.input_schema, ensure_ascii=False, indent=2)))


def _ago(seconds: float) -> str:
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {word}{'' if count == 1 else 's'} ago"
    return "just now"
