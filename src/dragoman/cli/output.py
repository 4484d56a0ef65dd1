"""What the command line prints: data on stdout, everything else on stderr, and nothing that could steer a terminal.

Everything here escapes what it prints, because nearly all of it may hold words of a server; :func:`data` is the exception.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

from dragoman.wire.escape import escape_for_terminal, escape_inline, escape_json


def data(text: str) -> None:
    """``text`` as it is and one newline on stdout."""
    sys.stdout.write(text)
    sys.stdout.write("\n")
    sys.stdout.flush()


def say(text: str = "") -> None:
    """Text for stdout, escaped, newlines kept."""
    data(escape_for_terminal(text))


def tell(text: str, *, hang: str = "  ", whole_words: bool = True) -> None:
    """A sentence of ours for stdout, escaped; folded on a terminal as :func:`dragoman.cli.fit.fold` does it. Never for a result."""
    text, width = escape_for_terminal(text), terminal_width()
    if width is not None:
        from dragoman.cli.fit import fold

        text = fold(text, width, hang=hang, whole_words=whole_words)
    data(text)


def emit_json(value: Any) -> None:
    """One JSON value on stdout: on one line, or indented where a person reads it."""
    data(escape_json(json.dumps(value, ensure_ascii=False, indent=2 if is_tty(sys.stdout) else None)))


def note(text: str) -> None:
    """A remark on stderr, folded where a terminal is narrower."""
    _err("", escape_for_terminal(text))


def warn(text: str) -> None:
    """``warning: …`` on stderr, without line breaks of its own."""
    _err("warning: ", escape_inline(text), fg="yellow")


def error(text: str, hint: str | None = None) -> None:
    """``error: …`` on stderr, and ``hint: …`` on a line of its own."""
    _err("error: ", escape_for_terminal(text), fg="red")
    if hint:
        _err("hint: ", escape_for_terminal(hint), bold=True)


def styled(text: str, stream: IO[str] | None = None, **style: Any) -> str:
    """``text`` in bold, dim or colour (arguments of ``click.style``) where ``stream`` (stdout) is a terminal that wants it."""
    if not wants_colour(sys.stdout if stream is None else stream):
        return text
    import click

    return click.style(text, **style)


def wants_colour(stream: IO[str]) -> bool:
    """Whether it is a terminal, and neither ``NO_COLOR`` (any value but empty) nor a dumb one."""
    return is_tty(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def is_tty(stream: IO[str] | None) -> bool:
    """Whether a person sees it."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def terminal_width(stream: IO[str] | None = None) -> int | None:
    """Columns of the terminal on ``stream`` (stdout); ``None`` where there is none, and nothing needs to be cut or folded."""
    stream = sys.stdout if stream is None else stream
    return width_of(stream.fileno()) if is_tty(stream) else None


def width_of(fd: int) -> int:
    """Columns of a terminal: ``COLUMNS``, else what it says, else 80."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(fd).columns or 80
    except OSError:
        return 80


def _err(label: str, text: str, **style: Any) -> None:
    width = terminal_width(sys.stderr)
    if width is not None:
        from dragoman.cli.fit import fold

        text = fold(label + text, width, hang="  " if label else "")[len(label) :]
    if label:
        text = f"{styled(label.rstrip(), sys.stderr, **style)} {text}"
    try:
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody can be told any more; what was asked for goes on
        pass
