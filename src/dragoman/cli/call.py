"""``dragoman call``: one governed call of a configured server, or one ad hoc call of any server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import output
from dragoman.cli.attending import attend, roots_option
from dragoman.cli.options import Settings, ad_hoc, agreeing, common
from dragoman.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.service.calls import CallReport, Surroundings
    from dragoman.service.targets import Target

_FOR_TARGETS = {
    "env": "--env",
    "headers": "--header",
    "cwd": "--cwd",
    "connect_s": "--connect-timeout",
    "idle_s": "--idle-timeout",
    "revision": "--revision",
}


class BeforeDashes(click.Command):
    """Refuses words after a lone ``--``: they will be flags made from the tool's schema, and must not mean anything else till then."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args and args[args.index("--") + 1 :]:
            words = " ".join(args[args.index("--") + 1 :])
            raise ConfigError(
                f"words after -- are not understood here: {words}",
                hint="write arguments before it, as name=value; a server's command line goes into --on '...'",
            )
        return super().parse_args(ctx, args)


@click.command(cls=BeforeDashes, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[k=v | k:=JSON | k=@FILE]...")
@click.option("--on", metavar="'CMD ... | URL'", help="Call a server that has no configuration.")
@click.option("--args", "base", metavar="JSON|@FILE|-", help="The arguments as a JSON object.")
@click.option("--principal", default="local", metavar="NAME", help="On whose behalf.")
@click.option("--turn", default="", metavar="ID", help="The work this call belongs to.")
@click.option("--output-dir", metavar="DIR", help="Where images and blobs are saved.")
@roots_option
@click.option("--raw", is_flag=True, help="Print text as the server sent it, terminal escapes and all.")
@agreeing
@ad_hoc
@common
def call(
    settings: Settings,
    /,
    tool: str,
    arguments: tuple[str, ...],
    on: str | None,
    base: str | None,
    principal: str,
    turn: str,
    output_dir: str | None,
    roots: tuple[str, ...],
    raw: bool,
    **options: Any,
) -> int:
    """Call one tool: SERVER.TOOL of a configured server, or --on 'CMD ...' TOOL. The result goes to stdout.

    Values are typed by the tool's schema; k:=JSON is JSON, k=@FILE the text of a file, @@ a literal @. What the server asks on the way
    (the fields of a form, consent to go to an address) is asked on the terminal, and declined where there is none.
    """
    from dragoman.service.calls import Wish, call_tool

    settings.check_config(tool, on, principal=principal, turn=turn)
    around, target = surroundings(settings, on, options)
    wish = Wish(
        tool=tool,
        words=arguments,
        base=base,
        principal=principal,
        turn=turn,
        output_dir=Path(output_dir).absolute() if output_dir is not None else None,
    )
    return attend(
        settings,
        around,
        target,
        roots,
        lambda host, progress: call_tool(host, wish, around, read_file=read_file, stdin=stdin_text, on_progress=progress),
        lambda report: show(report, settings, raw),
    )


def surroundings(settings: Settings, on: str | None, options: dict[str, Any], *, asks: bool = True) -> tuple[Surroundings, Target | None]:
    """What a call needs besides its name, from the options of :func:`ad_hoc`.

    Raises:
        ConfigError: An option is for servers without a configuration, and there is no ``--on``.
    """
    from dragoman.service.calls import Surroundings
    from dragoman.service.targets import check_seconds, target_of

    timeout_s: float | None = options["timeout"]
    check_seconds(timeout_s)
    tracing = settings.tracing if settings.trace or settings.trace_file else None
    if on is not None:
        context = settings.context
        target = target_of((on,), context, timeout_s=timeout_s, **{name: options[name] for name in _FOR_TARGETS})
        on_stderr = stderr_lines(settings) if settings.verbose else None
        return Surroundings(context=context, tracing=tracing, on_stderr=on_stderr, timeout_s=timeout_s), target
    for name, flag in _FOR_TARGETS.items():
        if options[name]:
            raise ConfigError(f"{flag} is for servers without a configuration", hint="use it with --on, or write it into the configuration")
    approver = None
    if asks:
        from dragoman.cli.terminal import approver_for

        approver = approver_for(settings)
    return Surroundings(context=settings.loaded, approver=approver, tracing=tracing, timeout_s=timeout_s), None


def stderr_lines(settings: Settings) -> Any:
    """Shows what an ad hoc server writes on stderr, escaped and redacted."""

    def show_lines(data: bytes) -> None:
        for line in data.decode("utf-8", "replace").splitlines():
            output.note(f"| {settings.redact(line)}")

    return show_lines


def show(report: CallReport, settings: Settings, raw: bool = False) -> int:
    """Print a result; the exit code."""
    if settings.json:
        output.emit_json(report.for_json())
    else:
        show_parts(report, raw)
    for line in report.flaws:
        output.warn(f"set aside: {line}")
    for line in report.findings:
        output.warn(line)
    for line in report.notes:
        output.note(f"note: {line}")
    if report.is_error and not settings.json:
        output.error(f"the tool {report.tool} reports an error")
    return 0 if report.ok else 1


def show_parts(report: CallReport, raw: bool) -> None:
    """The blocks, one after the other; structured content where there is nothing else."""
    write = output.data if raw else output.say
    if report.parts:
        write("\n".join(report.parts))
    if report.structured is not None and not any(isinstance(block, dict) and block.get("type") == "text" for block in report.content):
        output.emit_json(report.structured)


def read_file(path: str) -> str:
    """The text of a file that a person named.

    Raises:
        ConfigError: It cannot be read, or is no text.
    """
    try:
        return Path(path).read_bytes().decode("utf-8")
    except OSError as exc:
        raise ConfigError(f"cannot read the file {path}: {exc.strerror or exc}", hint="a value that begins with @ is written @@") from exc
    except UnicodeDecodeError as exc:
        raise ConfigError(f"the file {path} is not UTF-8 text", hint="save it as UTF-8, or pass it another way") from exc


def stdin_text() -> str:
    """All of standard input.

    Raises:
        ConfigError: There is none, or it is no text.
    """
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except (OSError, ValueError, AttributeError) as exc:
        raise ConfigError(f"cannot read standard input: {exc}") from exc
