"""``dragoman policy explain``: the layers around a call, with what each does with one tool."""

from __future__ import annotations

import click

from dragoman.cli import output
from dragoman.cli.call import read_file, stdin_text
from dragoman.cli.group import Subcommands
from dragoman.cli.options import Settings, common
from dragoman.cli.table import show_table
from dragoman.cli.terminal import has_terminal
from dragoman.service import policy as service
from dragoman.service.arguments import parse
from dragoman.wire.escape import escape_inline


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def policy(ctx: click.Context) -> None:
    """What happens to a call, and by which rule."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit()


@policy.command("explain")
@click.argument("tool", metavar="SERVER.TOOL")
@click.option("--args", "base", metavar="JSON|@FILE|-", help="The arguments of a call, which may raise its tier.")
@common
def explain(settings: Settings, tool: str, base: str | None) -> None:
    """The layers in their order, and what each does with a tool. Starts its server only if it was never connected to."""
    arguments = None if base is None else lambda schema: parse((), schema, read_file, stdin_text, base)
    somebody, tap = has_terminal(), settings.tracing.tap
    found = settings.run(service.explain(tool, settings.loaded, somebody=somebody, arguments=arguments, tap_for=tap))
    if settings.json:
        output.emit_json(found.for_json())
        return
    name = escape_inline(f"{found.server}.{found.tool}")
    output.data(f"{output.styled(name, bold=True)}  {found.tier}  by {escape_inline(found.rule)}")
    if found.obstacle:
        output.tell(f"not called at all for now: {found.obstacle}")
    for notice in found.notices:
        output.tell(f"note: {notice}")
    output.say()
    show_table(("", "LAYER", "HERE"), [(str(row.place), row.layer, row.here or "looks at the result") for row in found.layers])
    output.say()
    show_table(("LAYER", "WHY THERE"), [(row.layer, row.why) for row in found.layers])
