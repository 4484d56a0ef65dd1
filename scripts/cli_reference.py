"""
The reference part of docs/command-line.md, made from `--help` of every command: `python scripts/cli_reference.py` prints it, `--write`
puts it between the two marks of that page.

Options that every command takes are told once, at the top.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from dragoman.cli.main import dragoman

PAGE = Path(__file__).resolve().parent.parent / "docs" / "command-line.md"
BEGIN = "<!-- begin: written by scripts/cli_reference.py -->"
END = "<!-- end -->"
WIDTH = 100


def commands(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, those of groups inside of groups too, in the order of the help."""
    with click.Context(group, info_name="dragoman") as ctx:
        for name in group.list_commands(ctx):
            command = group.get_command(ctx, name)
            if isinstance(command, click.Group):
                yield from commands(command, (*words, name))
            elif command is not None:
                yield (*words, name)


def help_of(words: tuple[str, ...]) -> str:
    """What `dragoman WORDS --help` prints, at a fixed width."""
    command: click.Command = dragoman
    width = {"terminal_width": WIDTH, "max_content_width": WIDTH}
    ctx = click.Context(dragoman, info_name="dragoman", **{**dragoman.context_settings, **width})
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(ctx, word)
        assert found is not None, word
        ctx = click.Context(found, info_name=word, parent=ctx, **{**found.context_settings, **width})
        command = found
    return command.get_help(ctx)


def common() -> list[str]:
    """The lines of the options that every command takes."""
    lines = help_of(()).splitlines()
    rest = lines[lines.index("Options:") + 1 :]
    return [line.strip().split("  ")[0] for line in rest[: rest.index("")]]


def reference() -> str:
    """The whole part, without the marks."""
    shared = set(common())
    parts = ["```text", help_of(()), "```"]
    for words in commands(dragoman):
        lines = _without(help_of(words).splitlines(), shared)
        parts += ["", f"### dragoman {' '.join(words)}", "", "```text", *lines, "```"]
    return "\n".join(parts)


def _without(lines: list[str], shared: set[str]) -> list[str]:
    """The lines without the shared options, and without the heading where nothing else is left under it."""
    kept = [line for line in lines if line.strip().split("  ")[0] not in shared]
    if kept and kept[-1] == "Options:":
        kept = kept[:-1]
    while kept and not kept[-1]:
        kept.pop()
    return kept


def written(text: str) -> str:
    """The page with its reference part made anew."""
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{PAGE.name} has lost its marks: {BEGIN} … {END}")
    return f"{head}{begin}\n\n{reference()}\n\n{end}{tail}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(reference())
