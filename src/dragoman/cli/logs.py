"""``dragoman logs``: what a server wrote on stderr, escaped."""

from __future__ import annotations

import json
import time

import click

from dragoman.cli import output
from dragoman.cli.options import Settings, common
from dragoman.service.logs import ServerLog
from dragoman.wire.escape import escape_inline, escape_json

POLL_S = 0.2


@click.command()
@click.argument("server")
@click.option("-n", "count", type=click.IntRange(min=0), default=50, show_default=True, help="How many of the last lines.")
@click.option("-f", "--follow", is_flag=True, help="Go on with each line as it is written; Ctrl-C ends it.")
@common
def logs(settings: Settings, server: str, count: int, follow: bool) -> None:
    """What a server wrote on stderr, the last lines."""
    log = ServerLog(server, settings.loaded)
    if not follow:
        lines = log.last(count)
        if settings.json:
            output.emit_json({"server": server, "file": str(log.path), "lines": lines})
        else:
            for line in lines:
                _show(line)
            if not lines:
                output.note(f"{server} has written nothing on stderr so far ({log.path})")
        return
    for line in log.follow(count, lambda: time.sleep(POLL_S)):
        if settings.json:
            output.data(escape_json(json.dumps({"server": server, "line": line}, ensure_ascii=False)))
        else:
            _show(line)


def _show(line: str) -> None:
    output.data(escape_inline(line.expandtabs()))
