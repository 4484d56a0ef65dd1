"""A call with a person beside it: what its server asks on the way is asked on the terminal, and how far it is stands in a line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import output
from dragoman.cli.options import Settings
from dragoman.cli.progress import ProgressLine
from dragoman.errors import ConfigError, DragomanError

if TYPE_CHECKING:
    from dragoman.service.assemble import Host
    from dragoman.service.calls import CallReport, OnProgress, Surroundings
    from dragoman.service.targets import Target

roots_option = click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="A folder to show to a server that asks where it may work."
)

Make = Callable[["Host", "OnProgress"], Awaitable["CallReport"]]
"""Makes the call on an open host; the second argument is for its progress."""


def attend(
    settings: Settings,
    around: Surroundings,
    target: Target | None,
    roots: tuple[str, ...],
    make: Make,
    show: Callable[[CallReport], int],
) -> int:
    """Open a host, make one call, show how it ended; the exit code.

    Raises:
        ConfigError: A root is no folder.
        DragomanError: What ended the call.
    """
    from msgspec import structs

    from dragoman.service.asking import Unanswered, explain
    from dragoman.service.calls import opened

    progress, unanswered = ProgressLine(settings), Unanswered()
    answers: dict[str, Any] = {"ask_layers": [unanswered], **_answers(roots, progress)}

    async def main() -> int:
        async with opened(structs.replace(around, answers=answers), target) as host:
            settings.calling = True
            try:
                report = await make(host, progress.show)
            except DragomanError as exc:
                explain(exc)
                for line in unanswered.notes if not settings.json else ():
                    output.note(f"note: {line}")
                raise
            finally:
                progress.clear()
            report.notes.extend(unanswered.notes)
            return show(report)  # before the server is stopped: the answer need not wait for that

    return settings.run(main())


def _answers(roots: tuple[str, ...], progress: ProgressLine) -> dict[str, Any]:
    """What is there for a server that asks."""
    from dragoman.cli.keyboard import has_terminal

    for folder in roots:
        if not Path(folder).is_dir():
            raise ConfigError(f"--root {folder} is not a folder", hint="name an existing folder")
    answers: dict[str, Any] = {}
    if roots:
        answers["roots"] = [Path(folder).absolute() for folder in roots]
    if has_terminal():
        from dragoman.cli.forms import TerminalAsker

        answers["on_elicitation"] = TerminalAsker(progress)
    return answers
