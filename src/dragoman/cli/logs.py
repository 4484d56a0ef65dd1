"""``dragoman logs``: what a server wrote on stderr, and its log messages, escaped."""

from __future__ import annotations

import json
import time

import click

from dragoman.cli import output
from dragoman.cli.options import Settings, common
from dragoman.service.logs import LogLine, ServerLog
from dragoman.service.voices import spoken
from dragoman.wire.escape import escape_inline, escape_json

POLL_S = 0.2


@click.command()
@click.argument("server")
@click.option("-n", "count", type=click.IntRange(min=0), default=50, show_default=True, help="How many of the last lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on with each line as it is written; Ctrl-C ends it.")
@common
def logs(settings: Settings, server: str, count: int, follow: bool) -> None:
    """What a server wrote on stderr, and its log messages as "[level] logger: text"; the last lines.

    Also of a server that another process runs. With --json, one object a line: at (UTC), source ("stderr" or "message"), level and
    logger (of a message), line.
    """
    log = ServerLog(server, settings.loaded)
    if follow:
        for line in log.follow(count, lambda: time.sleep(POLL_S)):
            _show(line, settings)
        return
    lines = log.last(count)
    for line in lines:
        _show(line, settings)
    if not lines:
        output.note(f"{server} has said nothing so far ({log.path})")


def _show(line: LogLine, settings: Settings) -> None:
    if settings.json:
        output.data(escape_json(json.dumps(line.for_json(), ensure_ascii=False)))
    elif line.source == "stderr":
        output.data(escape_inline(line.line.expandtabs()))
    else:
        output.data(escape_inline(spoken(line.level or "", line.logger, line.line)))
