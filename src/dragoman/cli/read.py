"""``dragoman resources | prompts | read | prompt | complete``: what servers offer besides tools. Reads go through the chain too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli import output
from dragoman.cli.attending import attend, roots_option
from dragoman.cli.fit import MOST_TEXT, shortened
from dragoman.cli.options import Settings, ad_hoc, agreeing, common
from dragoman.cli.table import show_table

if TYPE_CHECKING:
    from dragoman.service.assemble import Host
    from dragoman.service.calls import CallReport, OnProgress

_ON = click.option("--on", metavar="'CMD ... | URL'", help="A server that has no configuration.")
_OUTPUT_DIR = click.option("--output-dir", metavar="DIR", help="Where images and blobs are saved.")
_RAW = click.option("--raw", is_flag=True, help="Print text as the server sent it, terminal escapes and all.")


@click.command()
@click.argument("server", required=False)
@_ON
@ad_hoc
@common
def resources(settings: Settings, /, server: str | None, on: str | None, **options: Any) -> None:
    """List the resources and templates of a server."""
    from dragoman.cli.call import surroundings
    from dragoman.service.listing import list_resources

    _either(server, on)
    around, target = surroundings(settings, on, options, asks=False)
    found = settings.run(list_resources(around, server, target))
    if settings.json:
        import msgspec

        output.emit_json(msgspec.to_builtins(found))
        return
    rows = [(one.uri, one.mime_type or "", shortened(one.description or one.title or one.name, MOST_TEXT)) for one in found.resources]
    rows += [
        (one.uri_template, one.mime_type or "", shortened(one.description or one.title or one.name, MOST_TEXT)) for one in found.templates
    ]
    if rows:
        show_table(("URI", "TYPE", "WHAT IT IS"), rows)
    else:
        output.note("no resources")


@click.command()
@click.argument("server", required=False)
@_ON
@ad_hoc
@common
def prompts(settings: Settings, /, server: str | None, on: str | None, **options: Any) -> None:
    """List the prompts of a server."""
    from dragoman.cli.call import surroundings
    from dragoman.service.listing import list_prompts

    _either(server, on)
    around, target = surroundings(settings, on, options, asks=False)
    found = settings.run(list_prompts(around, server, target))
    if settings.json:
        import msgspec

        output.emit_json({"prompts": msgspec.to_builtins(found)})
        return
    rows = []
    for one in found:
        names = ", ".join(f"{argument.name}{'' if argument.required else '?'}" for argument in one.arguments or [])
        rows.append((one.name, shortened(names, MOST_TEXT), shortened(one.description or one.title or "", MOST_TEXT)))
    if rows:
        show_table(("PROMPT", "ARGUMENTS", "WHAT IT IS FOR"), rows)
    else:
        output.note("no prompts")


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="SERVER URI")
@_ON
@_OUTPUT_DIR
@roots_option
@_RAW
@agreeing
@ad_hoc
@common
def read(
    settings: Settings,
    /,
    words: tuple[str, ...],
    on: str | None,
    output_dir: str | None,
    roots: tuple[str, ...],
    raw: bool,
    **options: Any,
) -> int:
    """Read a resource: SERVER URI, or --on 'CMD ...' URI. What the server asks on the way is asked on the terminal."""
    from dragoman.cli.call import show, surroundings
    from dragoman.service.calls import report

    server, rest = _server_and(words, on, 1, "URI")
    settings.check_config(rest[0], on, kind="resource", server=server)
    around, target = surroundings(settings, on, options)

    folder = Path(output_dir).absolute() if output_dir else None

    async def make(host: Host, progress: OnProgress) -> CallReport:
        return report(await host.read(server, rest[0], timeout_s=around.timeout_s), around.context, folder)

    return attend(settings, around, target, roots, make, lambda found: show(found, settings, raw))


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="SERVER NAME [k=v]...")
@_ON
@_OUTPUT_DIR
@roots_option
@_RAW
@agreeing
@ad_hoc
@common
def prompt(
    settings: Settings,
    /,
    words: tuple[str, ...],
    on: str | None,
    output_dir: str | None,
    roots: tuple[str, ...],
    raw: bool,
    **options: Any,
) -> int:
    """Fill in a prompt: SERVER NAME k=v ..., or --on 'CMD ...' NAME k=v ... Values are text.

    What the server asks on the way is asked on the terminal.
    """
    from dragoman.cli.call import read_file, show, stdin_text, surroundings
    from dragoman.service.arguments import parse
    from dragoman.service.calls import report

    server, rest = _server_and(words, on, None, "NAME")
    settings.check_config(rest[0], on, kind="prompt", server=server)
    arguments = parse(rest[1:], None, read_file, stdin_text)
    around, target = surroundings(settings, on, options)

    folder = Path(output_dir).absolute() if output_dir else None

    async def make(host: Host, progress: OnProgress) -> CallReport:
        return report(await host.prompt(server, rest[0], arguments, timeout_s=around.timeout_s), around.context, folder)

    return attend(settings, around, target, roots, make, lambda found: show(found, settings, raw))


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="SERVER ARGUMENT [BEGINNING]")
@click.option("--prompt", "prompt_name", metavar="NAME", help="The prompt that has the argument.")
@click.option("--resource", metavar="URI", help="The resource template that has it.")
@_ON
@ad_hoc
@common
def complete(
    settings: Settings, /, words: tuple[str, ...], prompt_name: str | None, resource: str | None, on: str | None, **options: Any
) -> None:
    """Ask a server how an argument could go on: --prompt NAME or --resource URI, then SERVER ARGUMENT BEGINNING."""
    from dragoman.cli.call import surroundings
    from dragoman.service.listing import complete as ask

    if (prompt_name is None) == (resource is None):
        raise click.UsageError("give either --prompt NAME or --resource URI")
    server, rest = _server_and(words, on, None, "ARGUMENT")
    ref = {"type": "ref/prompt", "name": prompt_name} if prompt_name is not None else {"type": "ref/resource", "uri": resource or ""}
    around, target = surroundings(settings, on, options, asks=False)
    found = settings.run(ask(around, server or None, target, ref, rest[0], rest[1] if len(rest) > 1 else ""))
    if settings.json:
        output.emit_json(found)
    else:
        for value in found["values"]:
            output.say(value)


def _either(server: str | None, on: str | None) -> None:
    if (server is None) == (on is None):
        raise click.UsageError("give either SERVER or --on 'CMD ...'")


def _server_and(words: tuple[str, ...], on: str | None, most: int | None, what: str) -> tuple[str, tuple[str, ...]]:
    """The server (empty with ``--on``) and the words after it."""
    server, rest = ("", words) if on is not None else (words[0], words[1:])
    if not rest or (most is not None and len(rest) > most):
        usage = what if on is not None else f"SERVER {what}"
        raise click.UsageError(f"expected {usage}, got {len(words)} word{'' if len(words) == 1 else 's'}")
    return server, rest
