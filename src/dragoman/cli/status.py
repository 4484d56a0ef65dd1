"""``dragoman status``: every server, its tools, each tool's tier, the last check; ``restart``: start one anew."""

from __future__ import annotations

import sys

import click

from dragoman.cli import output
from dragoman.cli.fit import columns, wrap
from dragoman.cli.options import Settings, common
from dragoman.errors import ConnectFailed, NotAllowed
from dragoman.service import restarts
from dragoman.service.status import ServerStatus, StatusReport
from dragoman.service.status import status as ask_status
from dragoman.wire.escape import escape_inline
from dragoman.wire.tier import TIERS

_COLOUR = {"ready": "green", "failed": "red", "not approved": "yellow", "disabled": "bright_black", "never started": "yellow"}

_NAMES_SHOWN = 100  # per server and tier; `tier` and --json have them all


@click.command()
@click.argument("servers", nargs=-1, metavar="[SERVER]...")
@click.option("--check", is_flag=True, help="Connect to every server that may start, and write down how it went.")
@common
def status(settings: Settings, servers: tuple[str, ...], check: bool) -> int:
    """Every server: its tools, each tool's tier, its last check.

    Without --check nothing is started: this is what the last connection left behind. Exit code 1 if --check finds a server down that is
    switched on and approved; without --check always 0.
    """
    context = settings.loaded
    if check and output.is_tty(sys.stderr):
        output.note("connecting …")
    report = settings.run(ask_status(context, check=check, names=servers, tap_for=settings.tracing.tap if check else None))
    if settings.json:
        output.emit_json(report.for_json())
    else:
        show(report)
    return int(check and any(server.down for server in report.servers))


@click.command()
@click.argument("server")
@common
def restart(settings: Settings, server: str) -> int:
    """Start a server anew, and see whether it answers.

    No server is kept running between commands, so there is no old process to stop here. Hosts that run in other programs over the same
    state folder start their own anew within 15 seconds: one that was down, or did not accept a credential, is tried again.
    """
    report = settings.run(ask_status(settings.loaded, check=True, names=(server,), tap_for=settings.tracing.tap))
    restarts.ask(settings.loaded, server)
    found = report.servers[0]
    if found.state == "failed":
        error = found.last_check.error if found.last_check is not None else None
        raise ConnectFailed(error or f"{server} does not answer", server=server, hint=found.why)
    if found.state != "ready":
        raise NotAllowed(f"the server {server} is {found.state}", server=server, hint=found.why)
    if settings.json:
        output.emit_json(found.for_json())
    else:
        output.tell(f"{server} answers: {_checked(found)}, {_count(len(found.tools), 'tool')}")
        output.note("no server is kept running between commands: it was started, asked, and stopped again")
    return 0


def show(report: StatusReport) -> None:
    """Print a report, a block per server."""
    if report.file is None:
        output.note("there is no configuration yet")
    elif not report.servers:
        output.note(f"{report.file} has no servers")
    if not report.servers:
        output.note("hint: dragoman add NAME -- CMD ... | URL")
        return
    width = max(columns(server.name) for server in report.servers)
    for number, server in enumerate(report.servers):
        if number:
            output.say()
        _show_server(server, width)


def _show_server(server: ServerStatus, width: int) -> None:
    state = output.styled(f"{server.state:<13}", fg=_COLOUR[server.state])
    parts = [part for part in (server.era, _checked(server)) if part]
    output.data(f"{output.styled(server.name.ljust(width), bold=True)}  {state}  {escape_inline(', '.join(parts))}".rstrip())
    for tier in TIERS:
        names = [_tool_name(tool.name) + (" (held)" if tool.held else "") for tool in server.tools if tool.tier == tier]
        if len(names) > _NAMES_SHOWN:
            names[_NAMES_SHOWN:] = [f"and {len(names) - _NAMES_SHOWN} more (dragoman tier {server.name})"]
        if names:
            _show_names(f"  {tier:<3}  ", names)
    if not server.tools and server.state == "ready":
        output.say("  no tools")
    check = server.last_check
    if check is not None and check.error is not None:
        output.tell(f"  error: {check.error}")
    if server.why:
        output.tell(f"  hint: {server.why}")


def _tool_name(name: str) -> str:
    """As it stands in a list: a name with spaces or commas in it cannot be taken for two."""
    return escape_inline(name) if name and not set(name) & set(" ,\"'") else f'"{escape_inline(name)}"'


def _show_names(lead: str, names: list[str]) -> None:
    width = output.terminal_width()
    text = ", ".join(names)
    if width is None:
        output.data(lead + text)
        return
    for number, line in enumerate(wrap(text, max(20, width - len(lead)))):
        output.data((lead if number == 0 else " " * len(lead)) + line)


def _checked(server: ServerStatus) -> str:
    check = server.last_check
    if check is None or server.age_s is None:
        return "never checked"
    took = f" in {check.ms:.0f} ms" if check.ok and check.ms is not None else ""
    return f"checked {age(server.age_s)}{took}"


def age(seconds: float) -> str:
    """How long ago, in one unit."""
    for limit, size, unit in ((2.0, 1.0, ""), (120.0, 1.0, "s"), (7200.0, 60.0, "min"), (172_800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit} ago" if unit else "just now"
    return f"{seconds / 86_400:.0f} days ago"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
