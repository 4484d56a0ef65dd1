"""Options that every command takes, before or after its name, and the settings they make."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import click

if TYPE_CHECKING:
    from dragoman.service.context import Context
    from dragoman.service.tracing import Tracing

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


class Settings:
    """What was set for this run, and what follows from it. One per run; commands get it as their first argument.

    Attributes:
        config: A configuration file that was named.
        json: stdout gets JSON.
        yes: The person at the keyboard agrees to what the command would ask.
        trace, trace_file: Show the wire on stderr; write it to a file.
        debug: Show tracebacks.
        verbose: Show what the runtime says at INFO.
        calling: A call was being made: what ends it unexpectedly may have ended it at its server, too.
    """

    def __init__(self) -> None:
        self.config: str | None = None
        self.json = False
        self.yes = False
        self.trace = False
        self.trace_file: str | None = None
        self.debug = False
        self.verbose = False
        self.calling = False

    @cached_property
    def context(self) -> Context:
        """Environment, folders and configuration; the configuration is read when it is first asked for."""
        from dragoman.service.context import Context

        return Context(self.config)

    @cached_property
    def loaded(self) -> Context:
        """The same, with the configuration read and its warnings told, once.

        Raises:
            ConfigError: It cannot be used.
        """
        from dragoman.cli.output import warn

        for warning in self.context.config.warnings:
            warn(warning)
        return self.context

    def check_config(self, name: str, on: str | None, **about: Any) -> None:
        """That the configuration can be used for a call of ``name``, if it is not ad hoc; ``about`` as of ``service.unmade.write_down``.

        Raises:
            ConfigError: It cannot, which stands in the audit as the end of that call.
        """
        from dragoman.errors import ConfigError

        try:
            if on is None:
                self.context.config  # noqa: B018 - it is read when it is first asked for
        except ConfigError as exc:
            from dragoman.service.unmade import write_down

            self.run(write_down(self.context, exc, name, **about))
            raise

    @cached_property
    def tracing(self) -> Tracing:
        """The wire as ``--trace`` and ``--trace-file`` want it.

        Raises:
            ConfigError: The file cannot be written.
        """
        import sys

        from dragoman.service.tracing import Tracing

        return Tracing(self.context, sys.stderr if self.trace else None, self.trace_file)

    def redact(self, text: str) -> str:
        """``text`` without secrets."""
        try:
            context = self.context
        except OSError:  # the working folder is gone: nothing was read, so nothing is known
            return text
        return context.redactor.redact_text(text)

    def close(self) -> None:
        """Close what was opened on the way."""
        if "tracing" in self.__dict__:
            self.tracing.close()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Run a use case to its end; Ctrl-C and SIGTERM stop what it started first."""
        from dragoman.cli.running import run

        return run(coroutine)


def common(function: Callable[Concatenate[Settings, P], R]) -> Callable[P, R]:
    """Give a command the options that all have, and the settings as its first argument."""

    def command(*args: P.args, **kwargs: P.kwargs) -> R:
        settings = click.get_current_context().find_object(Settings)
        assert settings is not None
        show_log(settings)
        return function(settings, *args, **kwargs)

    return add_common(update_wrapper(command, function))


def add_common(function: F) -> F:
    """The options alone, for the group itself."""
    for option in reversed(
        (
            click.option("--config", metavar="FILE", callback=_set, expose_value=False, help="Use this configuration file."),
            click.option("--json", is_flag=True, callback=_set, expose_value=False, help="Print JSON on stdout."),
            click.option("--trace", is_flag=True, callback=_set, expose_value=False, help="Show the messages on the wire."),
            click.option("--trace-file", metavar="FILE", callback=_set, expose_value=False, help="Write them, whole, as JSON lines."),
            click.option("-v", "--verbose", is_flag=True, callback=_set, expose_value=False, help="Say what happens."),
            click.option("--debug", is_flag=True, callback=_set, expose_value=False, help="Show tracebacks."),
            click.option("--version", is_flag=True, is_eager=True, callback=_version, expose_value=False, help="Print the version."),
        )
    ):
        function = option(function)
    return function


def agreeing(function: F) -> F:
    """``--yes``."""
    text = "Agree to what this would ask (L2 calls, never L3)."
    return click.option("-y", "--yes", is_flag=True, callback=_set, expose_value=False, help=text)(function)


def reaching(function: F) -> F:
    """Options for how a server without a configuration is started or reached; see ``service.targets.target_of``."""
    for option in reversed(
        (
            click.option("--env", "env", multiple=True, metavar="NAME[=VALUE]", help="A variable for the server; without a value, yours."),
            click.option("--header", "headers", multiple=True, metavar="'K: V'", help="A header for a URL."),
            click.option("--cwd", metavar="DIR", help="The folder the server starts in."),
        )
    ):
        function = option(function)
    return function


def ad_hoc(function: F) -> F:
    """The same, and how it is spoken with."""
    for option in reversed(
        (
            click.option("--timeout", type=float, metavar="S", help="Seconds to connect, and for each answer."),
            click.option("--connect-timeout", "connect_s", type=float, metavar="S", help="Seconds to reach a URL (5)."),
            click.option("--idle-timeout", "idle_s", type=float, metavar="S", help="Longest silence of a URL's server in seconds (300)."),
            click.option("--revision", metavar="DATE", callback=_revision, help="Speak only this revision of the protocol."),
        )
    ):
        function = option(function)
    return reaching(function)


def forget_log() -> None:
    """Undo :func:`show_log`, for programs that go on after a command."""
    logger = logging.getLogger("dragoman")
    if ours := [handler for handler in logger.handlers if isinstance(handler, _Lines)]:
        for handler in ours:
            logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
        logging.getLogger("dragoman.server").setLevel(logging.NOTSET)
        logger.propagate = True


def show_log(settings: Settings) -> None:
    """Send warnings of the runtime to stderr, with ``-v`` what it says at INFO too; in one-line form, redacted."""
    forget_log()
    logger = logging.getLogger("dragoman")
    logger.addHandler(_Lines(settings))
    logger.setLevel(logging.INFO if settings.verbose else logging.WARNING)
    # A server's own words are no warnings of ours: `dragoman logs` has them.
    logging.getLogger("dragoman.server").setLevel(logging.INFO if settings.verbose else logging.CRITICAL + 1)
    logger.propagate = False


_SERVERS: Final = "dragoman.server."


class _Lines(logging.Handler):
    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        from dragoman.cli import output
        from dragoman.wire.escape import escape_inline

        try:
            text = self._settings.redact(record.getMessage())
        except Exception as exc:  # a record that cannot be formatted must not end a call
            text = f"{record.msg}: {exc}"
        if record.name.startswith(_SERVERS):  # its own words, which must not look like a warning, an error or a hint of ours
            output.note(f"{record.name.removeprefix(_SERVERS)}| {escape_inline(text)}")
        elif record.levelno >= logging.WARNING:
            if text in self._said:  # a server that prints what does not belong there does so all the time
                return
            if len(self._said) < 1000:
                self._said.add(text)
            output.warn(text)
        else:
            output.note(escape_inline(text))


def _set(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Keep what was given; a default must not undo what stood before the command's name."""
    settings = ctx.ensure_object(Settings)
    if value and param.name is not None:
        setattr(settings, param.name, value)


def _revision(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    from dragoman.errors import ConfigError
    from dragoman.wire.revisions import ALL

    if value is not None and value not in ALL:
        raise ConfigError(f"{value} is no revision of the protocol", hint=f"one of {', '.join(ALL)}")
    return value


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from dragoman._version import __version__

        settings = ctx.find_object(Settings)
        if settings is not None and settings.json:
            from dragoman.cli.output import emit_json

            emit_json({"version": __version__})
        else:
            print(f"dragoman {__version__}")
        ctx.exit()
