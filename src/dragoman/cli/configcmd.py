"""``dragoman config``: which file is in use, whether it is valid, what it says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import msgspec

from dragoman.cli import output
from dragoman.cli.group import Subcommands
from dragoman.cli.options import Settings, common
from dragoman.service import configs

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@click.group(cls=Subcommands, invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """The configuration in use."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
        ctx.exit()


@config.command("path")
@common
def path(settings: Settings) -> None:
    """The file in use."""
    found = configs.where(settings.context)
    if settings.json:
        output.emit_json(msgspec.to_builtins(found))
    elif found.path is None:
        output.note(f"there is no configuration: no dragoman.toml here, and no {found.user}")
    else:
        output.say(found.path)
        if found.project:
            output.note("a project file: each server in it starts only after you approved it")


@config.command("check")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@common
def check(settings: Settings, file: Path | None) -> None:
    """Read the file in use (or FILE) and check all of it. Exit code 2 with file, line and key if it cannot be used."""
    found = settings.run(configs.check(settings.context, file))
    if settings.json:
        output.emit_json(msgspec.to_builtins(found))
        return
    for warning in found.warnings:
        output.warn(warning)
    for notice in found.notices:
        output.note(f"note: {notice}")
    if found.path is None:
        output.note("there is no configuration to check")
    else:
        count = len(found.servers)
        output.say(f"{found.path}: valid, {count} server{'' if count == 1 else 's'}")


@config.command("show")
@common
def show(settings: Settings) -> None:
    """What the configuration says; secrets that stand in it are masked."""
    found = configs.show(settings.loaded)
    if settings.json:
        output.emit_json(found)
        return
    output.say(f"# {found['path'] or 'no file: everything at its default'}{' (a project file)' if found['project'] else ''}")
    tables = {"client": {key: value for key, value in found["client"].items() if value is not None}, "policy": found["policy"]}
    tables["alerts"] = found["alerts"]
    for name, server in found["servers"].items():
        tables[f"servers.{_key(name)}"] = server
    for heading, values in tables.items():
        if values:
            output.say()
            for line in _table(heading, values):
                output.say(line)


def _table(heading: str, values: dict[str, Any]) -> list[str]:
    """A table as TOML; what is a table in it, behind it."""
    lines = [f"[{heading}]"]
    lines += [f"{_key(key)} = {_value(value)}" for key, value in values.items() if not isinstance(value, dict)]
    for key, value in values.items():
        if key == "tools" and isinstance(value, dict):
            tools = {name: tool["tier"] if _without_none(tool).keys() == {"tier"} else _without_none(tool) for name, tool in value.items()}
            lines += ["", f"[{heading}.tools]", *(f"{_key(name)} = {_value(tool)}" for name, tool in tools.items())]
        elif isinstance(value, dict) and value:
            lines += ["", *_table(f"{heading}.{_key(key)}", value)]
    return lines


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
