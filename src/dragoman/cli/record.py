"""``dragoman record`` and ``dragoman replay``: a conversation to a file, and the file as a server."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import click

from dragoman.cli import output
from dragoman.cli.errors import Terminated
from dragoman.cli.options import Settings, common, reaching


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, required=True, metavar="-- CMD ... | URL | SERVER")
@click.option("-o", "--output", "path", metavar="FILE", type=click.Path(path_type=Path), help="The transcript; a new file.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="For a URL: where to listen on 127.0.0.1; 0 takes any.")
@reaching
@common
def record(settings: Settings, /, words: tuple[str, ...], path: Path | None, port: int, **options: Any) -> int:
    """Stand between a client and a server, and write down what they say; secrets are left out.

    With a command this is itself a server on stdio: start it where you would start the command. With a URL it listens on
    this machine and prints the URL to use instead.
    """
    from dragoman.service.recording import record as run_record
    from dragoman.service.recording import subject_of, writer_for

    context = settings.context
    subject = settings.run(subject_of(words, context, **options))
    writer, place = writer_for(subject, path, context)
    output.note(f"recording to {place}")

    def announce(url: str) -> None:
        if settings.json:
            output.emit_json({"url": url, "file": str(place)})
        else:
            output.data(url)

    try:
        return settings.run(run_record(subject, writer, port=port, announce=announce))
    except (KeyboardInterrupt, Terminated):
        return 0  # that is how a recording ends
    finally:
        output.note(f"{writer.count} entries in {place}" + (f"; it is not complete: {writer.failure}" if writer.failure else ""))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--http", "port", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on 127.0.0.1; 0 takes any. The URL is printed.")
@click.option("--stdio", is_flag=True, help="Speak on stdin and stdout, as without an option.")
@click.option("--cut", type=click.IntRange(min=0), metavar="BYTE", help="End after so many bytes of what the server writes.")
@click.option("--delay", is_flag=True, help="Take as long for each message as it took then.")
@common
def replay(settings: Settings, /, file: Path, port: int | None, stdio: bool, cut: int | None, delay: bool) -> int:
    """Play a transcript as a server: requests are matched by method and params, and answered as they were then."""
    from dragoman.service.replaying import replay_on_http, replay_on_stdio

    if stdio and port is not None:
        raise click.UsageError("--stdio and --http exclude each other")
    if port is None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return replay_on_stdio(file, cut=cut, delay=delay)

    def announce(url: str) -> None:
        output.emit_json({"url": url}) if settings.json else output.data(url)

    try:
        return settings.run(replay_on_http(file, port, cut=cut, delay=delay, announce=announce))
    except (KeyboardInterrupt, Terminated):
        return 0
