"""``dragoman import``: take over another host's servers, each looked at and agreed to as ``add`` does it."""

from __future__ import annotations

from typing import Any

import click

from dragoman.cli import output
from dragoman.cli.options import Settings, agreeing, common
from dragoman.cli.proposal import show_proposal
from dragoman.cli.terminal import confirm, has_terminal
from dragoman.errors import ApprovalDenied, DragomanError
from dragoman.service import adding, importing
from dragoman.service import servers as service
from dragoman.service.notes import How, agreement


@click.command("import")
@click.argument("origin", metavar="claude|cursor|vscode|FILE")
@click.option("--user", is_flag=True, help="Into the user's own file, instead of the one in use.")
@agreeing
@common
def import_(settings: Settings, origin: str, user: bool) -> int:
    """Take over servers from another host's configuration.

    Connects to each, shows it, and asks before it is written, with a tier for each tool and the reason for it (with --yes, L2 for all).
    Exit code 1 if one of them could not be connected to; the others are taken over all the same. The other
    host's file is not changed.
    """
    context = settings.context
    found = importing.look(origin, context, user=user)
    if settings.yes:
        service.refuse_yes(context)
    elif not has_terminal():
        hint = "run it on a terminal, or agree beforehand with --yes"
        raise ApprovalDenied("there is no terminal to ask on: nothing was taken over", layer="approve", hint=hint)
    for warning in (*found.warnings, *(f"{name} is left out: {why}" for name, why in found.left_out.items())):
        output.warn(warning)
    done: dict[str, dict[str, Any]] = {
        name: {"name": name, "written": False, "why": why, "tools": []} for name, why in found.left_out.items()
    }
    failed = 0
    for server in found.servers:
        tools: object = []
        try:
            why, tools = _take_over(settings, server.name, found)
        except DragomanError as exc:
            failed += 1
            why = settings.redact(str(exc))
            output.error(f"{server.name} is left out: {why}", exc.hint)
        done[server.name] = {"name": server.name, "written": why is None, "why": why, "tools": tools}
    if settings.json:
        output.emit_json({"source": str(found.source), "file": str(found.file), "servers": list(done.values())})
    else:
        written = [name for name, one in done.items() if one["written"]]
        output.tell(f"took over {', '.join(written) or 'nothing'} from {found.source}" + (f" into {found.file}" if written else ""))
    return int(failed > 0)


def _take_over(settings: Settings, name: str, found: importing.Import) -> tuple[str | None, object]:
    """Look at one server, ask, write it; why not, or ``None``, and its tools with their tiers and reasons."""
    server = next(server for server in found.servers if server.name == name)
    proposal = settings.run(adding.examine(server, found.file, settings.context, cautious=settings.yes, tap_for=settings.tracing.tap))
    if not settings.json:
        output.data(output.styled(name, bold=True))
        show_proposal(proposal)
    for warning in proposal.warnings:
        output.warn(warning)
    how: How = "--yes" if settings.yes else "terminal"
    if not settings.yes and not confirm(f"Add {name} to {found.file}?"):
        return "not wanted", proposal.for_json()["tools"]
    settings.run(adding.write_down(proposal, settings.context, agreement(how, terminal=has_terminal())))
    return None, proposal.for_json()["tools"]
