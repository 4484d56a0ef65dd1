"""The one place where trouble becomes a message, a hint and an exit code; no traceback unless ``--debug``."""

from __future__ import annotations

import difflib
import os
import sys
import traceback
from collections.abc import Sequence

import click

from dragoman.cli import output
from dragoman.cli.options import Settings
from dragoman.errors import (
    CallFailed,
    CallTimeout,
    ConfigError,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    InvalidResult,
    MalformedResponse,
    ProtocolError,
    ResultTooLarge,
    SpawnFailed,
)

USAGE = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived; what was started has been stopped."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.exit_code = 128 + signum


def report(exc: BaseException, settings: Settings) -> int:
    """Tell what happened, and return the exit code (DESIGN: 1 failed, 2 usage, 3 refused, 4 no connection, 5 timeout).

    With ``--json``, stdout gets ``{"error": {"kind", "message", "hint", "server", "maybe_ran"}}`` and stderr nothing.
    """
    if settings.debug and not isinstance(exc, click.exceptions.Exit):
        output.note(settings.redact("".join(traceback.format_exception(exc))).rstrip("\n"))  # it quotes what servers said
    match exc:
        case click.exceptions.Exit():
            return exc.exit_code
        case BrokenPipeError():
            _let_go_of_stdout()
            return BROKEN_PIPE
        case SystemExit():
            return exc.code if isinstance(exc.code, int) else int(bool(exc.code))
        case KeyboardInterrupt() | click.Abort():
            output.note("\ninterrupted" if output.is_tty(sys.stderr) else "interrupted")
            return INTERRUPTED
        case Terminated():
            return exc.exit_code
        case DragomanError():
            redact = settings.redact
            hint = exc.hint or _next_step(exc)
            hint = redact(hint) if hint else None
            server = redact(exc.server) if exc.server else None
            _tell(settings, exc.kind, redact(str(exc)), hint, server, exc.maybe_ran)
            return exc.cli_exit
        case click.ClickException():
            _tell(settings, "UsageError", *_usage(exc))
            return USAGE
        case OSError():
            what = f"{exc.strerror or exc}" + (f": {exc.filename}" if exc.filename else "")
            _tell(settings, type(exc).__name__, what, None, None, "perhaps" if settings.calling else "no")
            return 1
        case _:
            hint = None if settings.debug else "this is a fault of dragoman; --debug shows where"
            # A fault of ours while a call was on its way says nothing about the call.
            maybe_ran = "perhaps" if settings.calling else "no"
            _tell(settings, type(exc).__name__, settings.redact(f"{type(exc).__name__}: {exc}"), hint, None, maybe_ran)
            return 1


def _tell(settings: Settings, kind: str, message: str, hint: str | None, server: str | None = None, maybe_ran: str = "no") -> None:
    if settings.json:
        error = {"kind": kind, "message": message, "hint": hint, "server": server, "maybe_ran": maybe_ran}
        try:
            output.emit_json({"error": error})
        except OSError:
            _let_go_of_stdout()
    else:
        output.error(message, hint)


def _next_step(exc: DragomanError) -> str | None:
    """What a person can do about trouble that brings no hint of its own."""
    perhaps = "it may have run; look before you call again" if exc.maybe_ran == "perhaps" else ""
    match exc:
        case CallTimeout():
            return "; ".join(filter(None, ["--timeout S waits longer", perhaps]))
        case ConnectionLost():
            return perhaps or None
        case ResultTooLarge():
            return "ask the tool for less: a page, a range, a filter"
        case MalformedResponse() | InvalidResult():
            return "this is the server's fault; --trace shows what it sent"
        case ConnectFailed() | SpawnFailed():
            return "-v shows what the server writes on stderr, --trace what it sends"
        case ConfigError() if exc.file is not None:
            return "correct it there; dragoman config check reads the file again"
        case CallFailed() | ProtocolError():
            return "--trace shows what was said"
    return None


def _usage(exc: click.ClickException) -> tuple[str, str | None]:
    """The message of a usage error in our style: no capital, no full stop, the way out as a hint."""
    ctx = getattr(exc, "ctx", None)
    path = ctx.command_path if ctx is not None else "dragoman"
    hint: str | None = f"{path} --help"
    message = exc.format_message().rstrip(".")
    if isinstance(exc, click.NoSuchOption):
        message = f"there is no option {exc.option_name}"
        near = nearest(exc.option_name, _options(ctx), 0.7) if len(exc.option_name) > 3 else None
        takes_command = (
            any(isinstance(param, click.Argument) and "--" in (param.metavar or "") for param in ctx.command.params) if ctx else False
        )
        if near:
            hint = f"did you mean {near}?"
        elif takes_command:
            hint = f"the server's own command stands after a lone --:  {path} -- CMD ..."
        elif path.endswith(" call"):
            hint = "arguments of a tool are written name=value; dragoman call --help"
    elif isinstance(exc, UnknownCommand):
        message, hint = f"there is no command {exc.name!r}", f"did you mean {exc.near}?" if exc.near else "dragoman --help"
    return message[:1].lower() + message[1:], hint


class UnknownCommand(click.UsageError):
    """A subcommand that does not exist."""

    def __init__(self, name: str, known: Sequence[str], ctx: click.Context) -> None:
        super().__init__(f"No such command {name!r}.", ctx)
        self.name, self.near = name, nearest(name, known)


def nearest(word: str, known: Sequence[str], cutoff: float = 0.6) -> str | None:
    """The known word that comes closest, or ``None``."""
    found = difflib.get_close_matches(word, known, 1, cutoff)
    return found[0] if found else None


def _options(ctx: click.Context | None) -> list[str]:
    return [] if ctx is None else [name for param in ctx.command.params if isinstance(param, click.Option) for name in param.opts]


def _let_go_of_stdout() -> None:
    """Nobody reads any more: the interpreter must not try to flush again, and complain, when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass
