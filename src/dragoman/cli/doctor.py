"""``dragoman doctor``: examine a server and say in plain words what is wrong, whose fault it is and what to do."""

from __future__ import annotations

import logging
import shlex
import shutil
from typing import TYPE_CHECKING, Any

import click
import msgspec

from dragoman.cli import output
from dragoman.cli.fit import shortened, wrap
from dragoman.cli.options import Settings, ad_hoc, common
from dragoman.errors import ConfigError
from dragoman.wire.escape import escape_inline

if TYPE_CHECKING:
    from dragoman.service.diagnosis import Diagnosis
    from dragoman.service.doctor import Arguments, Checkup, Doctor

_BEHIND = "dragoman.behind dashes"
_MARKS = {"fault": "FAULT", "warning": "warn", "note": "note"}
_COLOURS = {"fault": "red", "warning": "yellow", "note": "cyan"}


class AfterDashes(click.Command):
    """Remembers whether the words stood behind a lone ``--``: there they are a command, whatever servers are called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_BEHIND] = "--" in args
        return super().parse_args(ctx, args)


@click.command(cls=AfterDashes, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, required=True, metavar="SERVER | -- CMD ... | URL")
@click.option(
    "--call", "calls", multiple=True, metavar="'TOOL k=v ...'", help="A tool to try as well; without this none is called. Repeatable."
)
@ad_hoc
@common
def doctor(settings: Settings, /, words: tuple[str, ...], calls: tuple[str, ...], timeout: float | None, **options: Any) -> None:
    """Examine a server: what is wrong with it, whose fault that is, and what to do."""
    from dragoman.service.doctor import STEP_S
    from dragoman.service.doctors import for_others

    logging.getLogger("dragoman").setLevel(logging.ERROR if not settings.verbose else logging.INFO)  # what it would warn of is found here
    behind: bool = click.get_current_context().meta[_BEHIND]
    tried = [_call(settings, text) for text in calls]
    step_s = timeout if timeout is not None else STEP_S
    checkup = for_others(settings.run(_examine(settings, words, tried, step_s, options, behind)), settings.redact)
    if settings.json:
        output.emit_json(msgspec.to_builtins(checkup))
    else:
        output.data("\n".join(lines(checkup)))
    if not checkup.healthy:
        raise SystemExit(1)


async def _examine(
    settings: Settings, words: tuple[str, ...], calls: list[tuple[str, Arguments]], step_s: float, options: Any, behind_dashes: bool
) -> Checkup:
    name = words[0] if len(words) == 1 and not behind_dashes else ""
    loaded = settings.loaded if name and "://" not in name and " " not in name and "/" not in name else None
    if loaded is not None and name in loaded.config.servers:
        doctor = await _of_configured(settings, name, calls, step_s)
    elif loaded is not None and shutil.which(name) is None:
        from dragoman.service.assemble import only

        only(loaded.config, [name])  # raises: there is no such server, with the nearest name
        raise AssertionError
    else:
        doctor = _of_target(settings, words, calls, step_s, options)
    return await doctor.examine()


def _of_target(settings: Settings, words: tuple[str, ...], calls: list[tuple[str, Arguments]], step_s: float, options: Any) -> Doctor:
    from dragoman.service.doctors import of_target
    from dragoman.service.targets import target_of

    context = settings.context
    return of_target(target_of(words, context, timeout_s=step_s, **options), context, calls, step_s)


async def _of_configured(settings: Settings, name: str, calls: list[tuple[str, Arguments]], step_s: float) -> Doctor:
    from dragoman.service.doctors import of_configured

    return await of_configured(settings.loaded, name, calls, step_s)


def _call(settings: Settings, text: str) -> tuple[str, Arguments]:
    from dragoman.cli.call import read_file, stdin_text
    from dragoman.service.arguments import parse

    try:
        words = shlex.split(text)
    except ValueError as exc:
        raise ConfigError(f"--call {text!r} cannot be split: {exc}", hint="check its quotes") from None
    if not words:
        raise ConfigError("--call names no tool", hint="--call 'TOOL k=v ...'")
    return words[0], lambda schema: parse(words[1:], schema, read_file, stdin_text)


def lines(checkup: Checkup) -> list[str]:
    """The checkup for a person, escaped."""
    width = min(output.terminal_width() or 100, 120)
    server = checkup.server
    head = f"{server['name']} {server['version']}".strip() if server is not None else "no connection"
    facts = [escape_inline(shortened(head))]
    if checkup.revision is not None:
        facts.append(f"{checkup.era} era, revision {checkup.revision}, {checkup.tools} tool{'' if checkup.tools == 1 else 's'}")
    found = [output.styled(escape_inline(checkup.target), bold=True), *("  " + fact for fact in facts)]
    for step in checkup.tried:
        how = (
            "not tried (--call 'TOOL k=v ...' tries one)"
            if step["ok"] is None
            else f"{'ok' if step['ok'] else 'failed':<6} {step['ms']:>8,.1f} ms"
        )
        found.append(f"  {escape_inline(step['step']):<16.60} {how}")
    found.append("")
    for one in checkup.found:
        found += _of(one, width)
    if checkup.healthy:
        found.append("healthy: nothing found that is wrong" if not checkup.found else "healthy, with notes")
    else:
        faults = sum(one.weight == "fault" for one in checkup.found)
        warnings = sum(one.weight == "warning" for one in checkup.found)
        found.append(f"{faults} fault{'' if faults == 1 else 's'}, {warnings} warning{'' if warnings == 1 else 's'}")
    return found


def _of(one: Diagnosis, width: int) -> list[str]:
    mark = output.styled(f"{_MARKS[one.weight]:<6}", fg=_COLOURS[one.weight], bold=True)
    room = max(20, width - 8)
    first, *rest = wrap(one.what, room)
    found = [f"{mark}{first}", *("      " + line for line in rest)]
    if one.whose != "nobody":
        found.append(f"      whose: {one.whose}")
    for label, text in (("seen", one.evidence), ("do", one.advice)):
        if text:
            first, *rest = wrap(text, max(20, width - 8 - len(label) - 2))
            found += [f"      {label}: {first}", *(" " * (8 + len(label)) + line for line in rest)]
    return [*found, ""]
