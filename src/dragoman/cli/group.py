"""Commands with commands of their own (``audit tail``), with the same answer to a word that is none of them."""

from __future__ import annotations

import click

from dragoman.cli.errors import UnknownCommand


class Subcommands(click.Group):
    """A group that says which of its commands came nearest."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        command = self.get_command(ctx, args[0])
        if command is None:
            raise UnknownCommand(f"{ctx.info_name} {args[0]}", [f"{ctx.info_name} {name}" for name in self.commands], ctx)
        return args[0], command, args[1:]
