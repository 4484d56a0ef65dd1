"""``dragoman status``: every server, its tools, each tool's tier, the last check; ``restart``: start one anew."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable
from datetime import datetime

import click

from dragoman.cli import output
from dragoman.cli.fit import columns, cut, wrap
from dragoman.cli.options import Settings, common
from dragoman.cli.table import render
from dragoman.errors import ConnectFailed, NotAllowed
from dragoman.service import restarts
from dragoman.service.status import ServerStatus, StatusReport
from dragoman.service.status import status as ask_status
from dragoman.wire.escape import escape_inline, escape_json
from dragoman.wire.span import span
from dragoman.wire.tier import TIERS

_COLOUR = {"ready": "green", "stopped": "green", "failed": "red", "down": "red", "disabled": "bright_black", "not running": None}
_NAMES_SHOWN = 100  # per server and tier; `tier` and --json have them all
WATCH_S = 2.0


@click.command()
@click.argument("servers", nargs=-1, metavar="[SERVER]...")
@click.option("--check", is_flag=True, help="Connect to every server that may start, side by side, within 5 s in all.")
@click.option("--watch", is_flag=True, help="Show it anew every 2 s; Ctrl-C ends it. With --json, one object a line.")
@common
def status(settings: Settings, servers: tuple[str, ...], check: bool, watch: bool) -> int:
    """Every server: its tools, each tool's tier, its last check, and how its calls go.

    Without --check nothing is started: this is what the processes that use the servers wrote down, also when none of them is running any
    more. Exit code 1 if --check finds a server that is switched on and approved, and cannot be used; without --check always 0.
    """
    context = settings.loaded
    if check and output.is_tty(sys.stderr):
        output.note("connecting …")
    report = settings.run(ask_status(context, check=check, names=servers, tap_for=settings.tracing.tap if check else None))
    while watch:
        if settings.json:
            output.data(escape_json(json.dumps(report.for_json(), ensure_ascii=False)))
        else:
            redraw(report)
        time.sleep(WATCH_S)
        report = settings.run(ask_status(context, names=servers))
    if settings.json:
        output.emit_json(report.for_json())
    else:
        show(report)
    return int(bool(report.failed) or (check and any(server.down for server in report.servers)))


@click.command()
@click.argument("server")
@common
def restart(settings: Settings, server: str) -> int:
    """Start a server anew, and see whether it answers.

    No server is kept running between commands, so there is no old process to stop here. Hosts that run in other programs over the same
    state folder start their own anew within 15 seconds: one that was down, or did not accept a credential, is tried again.
    """
    asked = ask_status(settings.loaded, check=True, names=(server,), tap_for=settings.tracing.tap, within_s=None)
    found = settings.run(asked).servers[0]
    restarts.ask(settings.loaded, server)
    if found.last_check is not None and not found.last_check.ok:
        raise ConnectFailed(found.last_check.error or f"{server} does not answer", server=server, hint=found.hint)
    if found.last_check is None or found.state in ("disabled", "not approved"):
        raise NotAllowed(f"the server {server} is {found.state}", server=server, hint=found.hint)
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
    _show_head(server, width)
    if counted := vitals(server):
        _show_wrapped(counted, "  ", 2)
    if server.breaker is not None:
        _show_wrapped(breaker(server), "  ", 2)
    for tier in TIERS:
        names = [_tool_name(tool.name) + (" (held)" if tool.held else "") for tool in server.tools if tool.tier == tier]
        if len(names) > _NAMES_SHOWN:
            names[_NAMES_SHOWN:] = [f"and {len(names) - _NAMES_SHOWN} more (dragoman tier {server.name})"]
        if names:
            _show_wrapped(", ".join(names), f"  {tier:<3}  ", 7)
    if not server.tools and server.last_check is not None and server.last_check.ok:
        output.say("  no tools")
    check = server.last_check
    if check is not None and check.error is not None:
        output.tell(f"  error: {check.error}")
    if server.hint:
        output.tell(f"  hint: {server.hint}")


def _show_head(server: ServerStatus, width: int) -> None:
    """Name, state, and what the last check found; what has no room beside the one before stands below it."""
    found = escape_inline(", ".join(part for part in (server.era, _checked(server)) if part))
    room = output.terminal_width()
    name, state = server.name.ljust(width), f"{server.state:<13}"
    used = columns(name) + 2 + len(state) + 1
    if room is None or used + 24 < room:
        _show_wrapped(found, f"{output.styled(name, bold=True)}  {output.styled(state, fg=_colour(server))} ", used)
        return
    name, state = output.styled(server.name, bold=True), output.styled(server.state, fg=_colour(server))
    output.data(name + ("\n  " if columns(server.name) + 2 + len(server.state) > room else "  ") + state)
    _show_wrapped(found, "  ", 2)


def _colour(server: ServerStatus) -> str | None:
    return _COLOUR.get(server.state, "yellow")


def vitals(server: ServerStatus) -> str:
    """What was counted, in words; what is nought is left out."""
    parts = []
    if server.calls:
        failed = f", {server.failures} failed" if server.failures else ""
        parts.append(f"{_count(server.calls, 'call')}{failed}")
    latency = server.latency_ms
    if latency.p50 is not None and latency.p99 is not None:
        parts.append(f"p50 {_ms(latency.p50)}, p99 {_ms(latency.p99)}")
    if server.restarts:
        parts.append(_count(server.restarts, "restart"))
    if server.pid is not None:
        memory = f", {_bytes(server.memory_bytes)}" if server.memory_bytes is not None else ""
        parts.append(f"pid {server.pid}{memory}")
    return "; ".join(parts)


def breaker(server: ServerStatus) -> str:
    """A breaker that is not at rest, in words."""
    found = server.breaker
    if found is None:
        return ""
    text = f"breaker {found.state} after {_count(found.failures, 'failure')} in a row"
    if found.state != "closed" and found.retry_at is not None:
        left_s = found.retry_at - time.time()
        text += f", a trial in {span(left_s)}" if left_s > 0 else ", the next call is a trial"
    return text


def _checked(server: ServerStatus) -> str:
    check = server.last_check
    if check is None or server.age_s is None:
        return "never checked"
    took = f" in {check.ms:.0f} ms" if check.ok and check.ms is not None else ""
    text = f"checked {age(server.age_s)}{took}"
    if not check.ok and server.last_ok is not None:
        text += f", last healthy {age(_since(server.last_ok))}"
    if server.state == "not running" and server.seen is not None:
        text += f", last seen {age(_since(server.seen))}"
    return text


# --- --watch ------------------------------------------------------------------------------------------------------

_FIELDS: tuple[tuple[str, int, Callable[[ServerStatus], str]], ...] = (
    # heading, rank (the highest are left out first where there is no room), value
    ("SERVER", 0, lambda server: server.name),
    ("STATE", 0, lambda server: server.state),
    ("CHECKED", 1, lambda server: age(server.age_s) if server.age_s is not None else "never"),
    ("CALLS", 3, lambda server: str(server.calls)),
    ("FAILED", 2, lambda server: str(server.failures)),
    ("P50", 5, lambda server: _ms(server.latency_ms.p50) if server.latency_ms.p50 is not None else "-"),
    ("P99", 4, lambda server: _ms(server.latency_ms.p99) if server.latency_ms.p99 is not None else "-"),
    ("BREAKER", 6, lambda server: server.breaker.state if server.breaker is not None else "-"),
    ("RESTARTS", 7, lambda server: str(server.restarts)),
    ("PID", 8, lambda server: str(server.pid) if server.pid is not None else "-"),
    ("MEMORY", 9, lambda server: _bytes(server.memory_bytes) if server.memory_bytes is not None else "-"),
)


def compact(report: StatusReport, width: int | None) -> list[str]:
    """A line per server; in ``width`` columns, fields of lesser interest are left out."""
    most = max(rank for _, rank, _ in _FIELDS)
    while True:
        fields = [field for field in _FIELDS if field[1] <= most]
        lines = render([field[0] for field in fields], [[field[2](server) for field in fields] for server in report.servers])
        if width is None or max(map(columns, lines)) <= width or most == 0:
            return lines if width is None else [cut(line, width) for line in lines]
        most -= 1


def redraw(report: StatusReport) -> None:
    """Show a report in place of the last one on a terminal, below it elsewhere."""
    width = output.terminal_width()
    down = sum(server.down for server in report.servers)
    head = f"{time.strftime('%H:%M:%S')}  {_count(len(report.servers), 'server')}, {down} down"
    lines = [cut(head, width or len(head)), *(compact(report, width) if report.servers else [])]
    if width is None:
        output.data("\n".join([*lines, ""]))
        return
    height = shutil.get_terminal_size((80, 24)).lines - 1
    if len(lines) > height:
        lines[height - 1 :] = [cut(f"… {len(lines) - height + 1} more: make the window higher, or name servers", width)]
    sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
    sys.stdout.flush()


# --- words --------------------------------------------------------------------------------------------------------


def _tool_name(name: str) -> str:
    """As it stands in a list: a name with spaces or commas in it cannot be taken for two."""
    return escape_inline(name) if name and not set(name) & set(" ,\"'") else f'"{escape_inline(name)}"'


def _show_wrapped(text: str, lead: str, hang: int) -> None:
    """``text``, which is escaped, after ``lead``, which takes up ``hang`` columns; what goes on stands below its beginning."""
    width = output.terminal_width()
    if width is None:
        output.data(lead + text)
        return
    for number, line in enumerate(wrap(text, max(20, width - hang))):
        output.data((lead if number == 0 else " " * hang) + line)


def age(seconds: float) -> str:
    """How long ago, in one unit."""
    return "just now" if seconds < 2.0 else f"{span(seconds)} ago"


def _since(at: str) -> float:
    return max(0.0, time.time() - datetime.fromisoformat(at).timestamp())


def _ms(value: float) -> str:
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms"


def _bytes(value: int) -> str:
    return f"{value / 1_000_000:.0f} MB"


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
