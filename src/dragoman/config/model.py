"""What a configuration says, as frozen values; how it is read, checked and written is in the other files here."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final, Literal

import msgspec

from ..errors import ConfigError
from ..wire.tier import DEFAULT_TIER, Tier

#: The path of a value in a file: table names, keys, and indexes of arrays.
KeyPath = tuple[str | int, ...]

OnAuditFailure = Literal["reads-only", "stop"]
Trust = Literal["normal", "low"]

MIB: Final = 2**20


class Source(msgspec.Struct, frozen=True):
    """Where a value was written down, so that a late error can still name the line.

    Attributes:
        file: The configuration file.
        lines: Line (from 1) of every key path in the file.
    """

    file: Path
    lines: dict[KeyPath, int]

    def line(self, path: KeyPath) -> int | None:
        """The line of ``path``, else of its nearest parent that has one."""
        for end in range(len(path), 0, -1):
            if (line := self.lines.get(path[:end])) is not None:
                return line
        return None


class Limits(msgspec.Struct, frozen=True):
    """Limits on one server.

    Attributes:
        result_bytes: Of one result.
        frame_bytes: Of one message on the wire.
        tools: In its list.
        concurrent: Calls that are with the server at one time.
        queue: Calls that wait for one of those places.
        queue_s: Seconds that a call waits for one.
    """

    result_bytes: int = 1_000_000
    frame_bytes: int = 128 * MIB
    tools: int = 10_000
    concurrent: int = 64
    queue: int = 256
    queue_s: float = 30.0


class BreakerConfig(msgspec.Struct, frozen=True):
    """When a server is left alone: after so many failures in a row, for so many seconds."""

    failures: int = 10
    open_s: float = 300.0


class RaiseConfig(msgspec.Struct, frozen=True):
    """A rule that raises: where the condition ``when`` holds for the arguments, the call is of this tier at least."""

    when: str
    tier: Tier


class GuardConfig(msgspec.Struct, frozen=True):
    """A guard of one tool: its kind, the arguments it looks at, and its options as written, checked."""

    kind: str
    arguments: tuple[str, ...]
    options: dict[str, object] = {}


class ToolConfig(msgspec.Struct, frozen=True):
    """What a person said about a tool or a pattern of tools.

    Attributes:
        tier: ``None`` leaves it to a shorter pattern or the server's ``default_tier``.
        say: The sentence an approver reads; ``{name}`` stands for an argument.
        timeout_s, max_timeout_s: As for the server.
        idempotent: Running it twice is the same as once, so a lost call of it may be sent again (L0 and L1 only).
        stale_s: How old an answer may be that stands in while the server is down (L0 only).
        result_bytes: Of one result of it; ``None``: as of the server.
        raises: Rules that raise the tier of a call by its arguments; ``raise`` in the file.
        enabled: A person switched this L3 tool on, by its name.
        guards: What looks at its arguments beyond the schema; those of all rules that match count.
    """

    tier: Tier | None = None
    say: str | None = None
    timeout_s: float | None = None
    max_timeout_s: float | None = None
    idempotent: bool | None = None
    stale_s: float | None = None
    result_bytes: int | None = None
    raises: tuple[RaiseConfig, ...] = ()
    enabled: bool = False
    guards: tuple[GuardConfig, ...] = ()


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One server: how it is started or reached, and what it may do.

    Exactly one of ``command`` and ``url`` is set.  Text may hold ``${env:NAME}``: it is resolved when the server starts
    (:func:`dragoman.config.secrets.resolve_server`), so these values can be shown and hashed without a secret in them.

    Attributes:
        cwd: As written: absolute, starting with ``~``, or relative to the file's folder.
        inherit: Names of variables to pass on from our own environment; a final ``*`` matches any ending.
        timeout_s: Deadline of one call; ``None`` is the runtime's default.
        connect_s, idle_s: For a URL: to connect, and the longest silence; ``None`` is the runtime's default.
        max_timeout_s: How far progress may move that deadline; ``None``: only where the caller wants to see it, ten times.
        breaker: ``None``: it is switched off.
        revision: The protocol revision to speak; ``None`` finds it out.
        heartbeat_s: How often a silent server is asked whether it lives; 0 is never, ``None`` the runtime's default.
        idle_stop_s: After how many seconds without a call it is stopped until the next one; ``None`` is never.
        trust: ``low``: every tool is one tier higher.
        key: Where the table stands in ``source``, for error messages.
    """

    name: str
    command: tuple[str, ...] | None = None
    url: str | None = None
    cwd: str | None = None
    env: dict[str, str] = {}
    inherit: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    timeout_s: float | None = None
    connect_s: float | None = None
    idle_s: float | None = None
    max_timeout_s: float | None = None
    breaker: BreakerConfig | None = BreakerConfig()
    revision: str | None = None
    heartbeat_s: float | None = None
    idle_stop_s: float | None = None
    enabled: bool = True
    default_tier: Tier = DEFAULT_TIER
    trust: Trust = "normal"
    limits: Limits = Limits()
    tools: dict[str, ToolConfig] = {}
    source: Source | None = None
    key: KeyPath = ()

    @property
    def folder(self) -> Path | None:
        """The folder of the file this was written in, absolute; where the server starts when ``cwd`` is not set."""
        return self.source.file.absolute().parent if self.source else None

    def error(self, message: str, *path: str | int, hint: str | None = None) -> ConfigError:
        """A :class:`ConfigError` about ``path`` in this server's table, with its file and line."""
        where = (self.key or ("servers", self.name)) + path
        file = str(self.source.file) if self.source else None
        line = self.source.line(where) if self.source else None
        return ConfigError(message, file=file, line=line, key=dotted(where), hint=hint)

    def launch_hash(self) -> str:
        """SHA-256 over everything that decides which program runs or which address is called, and what it is given.

        A person who approves a project file's server approves exactly this; the tiers are hashed too, since they count
        from then on.  Variables are hashed by name, not value.
        """
        tools = {name: msgspec.to_builtins(tool) for name, tool in self.tools.items()}
        what = {
            "v": 1,
            "name": self.name,
            "folder": str(self.folder) if self.folder else None,
            **{
                field: getattr(self, field)
                for field in ("command", "url", "cwd", "env", "inherit", "headers", "revision", "default_tier", "trust")
            },
            "limits": msgspec.structs.asdict(self.limits),
            "tools": tools,
        }
        return hashlib.sha256(json.dumps(what, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


class ClientConfig(msgspec.Struct, frozen=True):
    """What we call ourselves towards servers; ``None`` is the package's own name and version."""

    name: str | None = None
    version: str | None = None


class PolicyConfig(msgspec.Struct, frozen=True):
    """Rules for all servers: seconds a person has to answer, retries per turn, calls at one time, and whether ``--yes`` counts."""

    approval_timeout_s: float = 300.0
    retry_budget_per_turn: int = 5
    concurrent: int = 512
    allow_yes: bool = True


class AlertsConfig(msgspec.Struct, frozen=True):
    """Who is told of alerts, besides the log: a URL that gets them as JSON, variables unresolved."""

    webhook: str | None = None


class AuditConfig(msgspec.Struct, frozen=True):
    """How long the audit is kept, and what goes on without it.

    Attributes:
        keep_days: Older records are pruned.
        max_mb: What the database may hold (10**6 bytes); beyond it the oldest records are pruned.
        on_failure: While the audit cannot be written: ``reads-only`` refuses what may change something, ``stop`` every call.
    """

    keep_days: int = 90
    max_mb: int = 2_000
    on_failure: OnAuditFailure = "reads-only"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """A whole configuration.

    Attributes:
        path: The file it came from; ``None`` when there is none.
        project: Found in the working folder, so its servers need a person's approval before they start.
        warnings: Sentences for stderr: keys that are known but have no effect.
    """

    path: Path | None = None
    project: bool = False
    client: ClientConfig = ClientConfig()
    servers: dict[str, ServerConfig] = {}
    policy: PolicyConfig = PolicyConfig()
    alerts: AlertsConfig = AlertsConfig()
    audit: AuditConfig = AuditConfig()
    warnings: tuple[str, ...] = ()


def dotted(path: KeyPath) -> str:
    """A key path as TOML writes it: ``servers.files.tools."read_*"``, ``servers.files.command[1]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            bare = part.isascii() and part.replace("-", "").replace("_", "").isalnum()
            text += ("." if text else "") + (part if bare else json.dumps(part, ensure_ascii=False))
    return text
