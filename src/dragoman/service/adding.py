"""Adding a server: look at it, propose tiers, and write it down once a person agreed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from dragoman.config import checks, write
from dragoman.config.load import load_file
from dragoman.config.model import Config, ServerConfig, Source, ToolConfig
from dragoman.config.paths import private_folder
from dragoman.config.secrets import looks_secret, secret_words
from dragoman.errors import ConfigError
from dragoman.policy import triage
from dragoman.runtime.gauges import Seen
from dragoman.service import trust
from dragoman.service.assemble import TapFor, shown_target, spec_of
from dragoman.service.context import Context
from dragoman.service.notes import Agreement, note
from dragoman.service.plumbing import Plumbing
from dragoman.service.scopes import scope_of
from dragoman.service.targets import target_of
from dragoman.wire.escape import escape_inline
from dragoman.wire.listing import Tool
from dragoman.wire.tier import DEFAULT_TIER, Tier


class ProposedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool and the tier that is proposed for it.

    Attributes:
        tier: What would be written.
        proposed: What its name, description and parameters speak for.
        reason: Why, in words.
        claims: What its server says about it, in words; claims may raise a tier and never lower one.
        written: False where its name cannot stand in a file, so that the server's default tier (L2) is what counts.
    """

    tool: Tool
    tier: Tier
    proposed: Tier
    reason: str
    claims: tuple[str, ...]
    written: bool = True


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A server that was looked at, and the table that would be written for it.

    Attributes:
        file: Where it would be written.
        warnings: For the person, one line each: secrets by value, flaws in what the server listed.
    """

    server: ServerConfig
    facts: trust.Facts
    file: Path
    era: str
    revision: str
    name: str
    version: str
    tools: tuple[ProposedTool, ...]
    warnings: tuple[str, ...]
    connect_ms: float

    def for_json(self) -> dict[str, object]:
        """What ``add --json`` prints."""
        return {
            "name": self.server.name,
            "file": str(self.file),
            "command": list(self.facts.command) if self.facts.command is not None else None,
            "url": self.facts.url,
            "era": self.era,
            "revision": self.revision,
            "server": {"name": self.name, "version": self.version},
            "tools": [
                {"name": item.tool.name, "tier": item.tier, "proposed": item.proposed, "reason": item.reason, "claims": list(item.claims)}
                for item in self.tools
            ],
            "warnings": list(self.warnings),
        }


async def propose(
    name: str,
    words: Sequence[str],
    context: Context,
    *,
    env: Sequence[str] = (),
    headers: Sequence[str] = (),
    cwd: str | None = None,
    timeout_s: float | None = None,
    user: bool = False,
    cautious: bool = False,
    tap_for: TapFor | None = None,
) -> Proposal:
    """Connect to a server that is to be added, and say what would be written. Writes nothing but the server's log.

    Args:
        words, env, headers, cwd, timeout_s: As :func:`~dragoman.service.targets.target_of` takes them.
        user: Into the user's file instead of the one in use.
        cautious: Every tool is to be L2, because nobody looks at the proposal.
        tap_for: Makes a tap of the wire.

    Raises:
        ConfigError: The name cannot be used or is taken, or what was typed makes no sense; nothing was started.
        TransportError, ProtocolError, CallFailed: It cannot be connected to.
    """
    if (problem := checks.server_name(name)) is not None:
        raise ConfigError(problem, hint="e.g. dragoman add files -- npx -y @modelcontextprotocol/server-filesystem /tmp/safe-dir")
    file = write.target(context.named, user=user, env=context.env, cwd=context.cwd)
    refuse_taken(name, file)
    server = _described(name, words, context, file, env=env, headers=headers, cwd=cwd, timeout_s=timeout_s)
    return await examine(server, file, context, cautious=cautious, tap_for=tap_for)


def refuse_taken(name: str, file: Path) -> None:
    """Stop where the file has a server of that name.

    Raises:
        ConfigError: It has.
    """
    present = load_file(file) if file.exists() else Config()
    if name in present.servers:
        raise ConfigError(
            f'there is a server "{name}" already: {shown_target(present.servers[name])}',
            file=str(file),
            hint=f"choose another name, or remove it first: dragoman remove {name}",
        )


async def examine(server: ServerConfig, file: Path, context: Context, *, cautious: bool = False, tap_for: TapFor | None = None) -> Proposal:
    """Connect to a server as ``file`` would describe it, and propose tiers; those that it has already stay.

    Raises:
        ConfigError, TransportError, ProtocolError, CallFailed: It cannot be connected to.
    """
    timeout_s = server.timeout_s
    private_folder(file.parent, None)  # where it starts: the user's own folder may not be there yet
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    began = time.monotonic()
    options = {} if timeout_s is None else {"timeout_s": timeout_s, "connect_timeout_s": timeout_s}
    try:
        client = spec_of(server, context, tap_for=tap_for).make_client(label=shown_target(server), eras=plumbing, **options)
        try:
            await client.open()
            info = client.server
            tools = await client.list_tools() if "tools" in info.capabilities else []
            flaws = [f"set aside: {flaw}" for flaw in client.problems]
            connect_ms = (time.monotonic() - began) * 1000
        finally:
            await client.close()
    finally:
        await plumbing.close()
    proposed = tuple(_proposed(tool, server, cautious=cautious) for tool in _once(tools))
    rules = {item.tool.name: ToolConfig(tier=item.tier) for item in proposed if item.written}
    server = msgspec.structs.replace(server, tools={**rules, **server.tools})
    return Proposal(
        server=server,
        facts=trust.facts(server),
        file=file,
        era=info.era,
        revision=info.revision,
        name=info.name,
        version=info.version,
        tools=proposed,
        warnings=(*_secrets_by_value(server, file), *flaws),
        connect_ms=connect_ms,
    )


async def write_down(proposal: Proposal, context: Context, agreed: Agreement) -> None:
    """Write what was proposed and agreed to; the server needs no further approval, since a person saw it just now.

    Raises:
        ConfigError: The file cannot be changed; nothing was written.
        DragomanError: The store cannot be used.
    """
    server, name = proposal.server, proposal.server.name
    plumbing = Plumbing(context.store_path, scope_of(proposal.file))
    await plumbing.open()
    try:
        store = plumbing.store
        config = write.add_server(proposal.file, server)
        target, tools = shown_target(server), len(proposal.tools)
        tiers = {item.tool.name: item.tier for item in proposal.tools if item.written and item.tier != DEFAULT_TIER}
        await note(store, "server added", agreed, server=name, file=str(proposal.file), target=target, tools=tools, tiers=tiers)
        await trust.remember(config.servers[name], proposal.file, store, agreed)
        seen = Seen(at=agreed.at, ok=True, ms=proposal.connect_ms)
        await plumbing.checked(name, seen, proposal.era, proposal.revision)
        await plumbing.catalog(name, proposal.era, proposal.revision, tuple(item.tool for item in proposal.tools))
    finally:
        await plumbing.close()


def _described(
    name: str,
    words: Sequence[str],
    context: Context,
    file: Path,
    *,
    env: Sequence[str],
    headers: Sequence[str],
    cwd: str | None,
    timeout_s: float | None,
) -> ServerConfig:
    """The table for what was typed, before anything is known of its tools."""
    target = target_of(words, context, env=env, headers=headers, cwd=cwd, timeout_s=timeout_s)
    if target.url is not None and (problem := checks.url(target.url)) is not None and "${" not in target.url:
        raise ConfigError(f"{target.url}: {problem}")
    if target.url is not None and env:
        raise ConfigError("--env is for commands, not URLs", hint="use --header 'Key: value'")
    if target.url is None and headers:
        raise ConfigError("--header is for URLs, not commands", hint="use --env NAME=VALUE")
    here = file.absolute().parent == context.cwd.absolute()
    if cwd is not None:
        cwd = cwd if here else target.cwd
    elif target.url is None and not here and any(names_a_file(word, context.cwd) for word in target.command):
        cwd = str(context.cwd)  # the command was meant from here, and the file lies elsewhere
    values = {}
    for item in env:
        variable, by_value, value = item.partition("=")
        values[variable] = value if by_value else f"${{env:{variable}}}"
    return ServerConfig(
        name=name,
        command=target.command or None,
        url=target.url,
        cwd=cwd,
        env=values,
        headers=dict(target.headers),
        timeout_s=timeout_s,
        source=Source(file=file, lines={}),
        key=("servers", name),
    )


def _secrets_by_value(server: ServerConfig, file: Path) -> list[str]:
    """A warning for each secret that would stand in the file."""
    command = server.command or ()
    named = [(f"the variable {name}", name, value) for name, value in server.env.items()]
    named += [(f"the header {name}", name, value) for name, value in server.headers.items()]
    found = [(what, value) for what, name, value in named if looks_secret(name)]
    found += [(f"what follows {command[index - 1]}", command[index]) for index in secret_words(command)]
    return [
        f"{what} looks like a secret and would stand in {file} by value; ${{env:NAME}} in its place reads it from your environment"
        for what, value in found
        if "${" not in value
    ]


def names_a_file(word: str, folder: Path) -> bool:
    """Whether a word of a command names a file by its path from ``folder``."""
    path = word.rpartition("=")[2]
    try:
        return bool(path) and not Path(path).is_absolute() and (folder / path).exists()
    except (OSError, ValueError):
        return False


def _once(tools: Sequence[Tool]) -> list[Tool]:
    """The first tool of each name; a server that lists a name twice means nothing by the second."""
    found: dict[str, Tool] = {}
    for tool in tools:
        found.setdefault(tool.name, tool)
    return list(found.values())


def _proposed(tool: Tool, server: ServerConfig, *, cautious: bool) -> ProposedTool:
    # A tool named like a pattern would be a rule for other tools, too.
    # What is invisible in it would be invisible in the file.
    plain = checks.pattern(tool.name) is None and escape_inline(tool.name) == tool.name
    written = plain and not set("*?") & set(tool.name)
    guess = triage.propose(tool, triage.ServerIdentity(server.command or (), server.url))
    tier, reason = guess.tier, guess.reason
    if tool.name in server.tools and (said := server.tools[tool.name].tier) is not None:
        tier, reason = said, "so it stands in the configuration"
    elif cautious or not written:
        tier = DEFAULT_TIER
    elif tier == "L1":  # what cannot be taken back is not easy to take back
        tier, reason = DEFAULT_TIER, f"{reason}; L1 once an undo is named"
    return ProposedTool(tool=tool, tier=tier, proposed=guess.tier, reason=reason, claims=_claims(tool), written=written)


def _claims(tool: Tool) -> tuple[str, ...]:
    """What a tool's annotations claim, in words.

    Source: MCP server/tools, ToolAnnotations (since 2025-03-26): hints of an untrusted server.
    """
    hints = tool.annotations or {}
    if hints.get("readOnlyHint") is True:
        return ("reads only",)
    if hints.get("destructiveHint") is True:
        return ("destroys",)
    return ("only adds",) if hints.get("destructiveHint") is False else ()
