"""What is this server? Connect, ask, and say: era, revision, capabilities, tools, and how long each step took."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from dragoman.errors import DragomanError
from dragoman.runtime.trace import Tap
from dragoman.service.context import Context
from dragoman.service.plumbing import Plumbing, person
from dragoman.service.targets import Target, client_for, passed_names
from dragoman.store.records import AuditEntry
from dragoman.wire.listing import Tool


class ProbeReport(msgspec.Struct, kw_only=True):
    """The answer of ``dragoman probe``; ``for_json`` is its ``--json``.

    Attributes:
        environment: Names of the variables that were passed to the child, sorted.
        flaws: What was set aside, one line each.
        violations: How often the server broke the protocol, by kind.
        timings_ms: ``connect`` (start to revision agreed on), ``list_tools``, ``close``, ``total``.
    """

    target: str
    era: str
    revision: str
    name: str
    version: str
    capabilities: dict[str, Any]
    instructions: str | None
    tools: list[Tool]
    environment: list[str]
    flaws: list[str]
    violations: dict[str, int]
    timings_ms: dict[str, float]

    def for_json(self) -> dict[str, Any]:
        """The documented seven keys always, and more after them."""
        return {
            "era": self.era,
            "revision": self.revision,
            "server": {"name": self.name, "version": self.version},
            "capabilities": self.capabilities,
            "instructions": self.instructions,
            "tools": [msgspec.to_builtins(tool) for tool in self.tools],
            "timings_ms": self.timings_ms,
            "environment": self.environment,
            "flaws": self.flaws,
            "violations": self.violations,
        }


async def probe(target: Target, context: Context, *, tap: Tap | None = None, stderr: Any = None) -> ProbeReport:
    """Connect to a server, list its tools, and leave again; that this was done, and what came of it, is a note in the audit.

    Raises:
        TransportError, ProtocolError, CallFailed: It cannot be used; the message says why.
    """
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    began = time.monotonic()
    timings: dict[str, float] = {}

    def lap(step: str, since: float) -> float:
        now = time.monotonic()
        timings[step] = round((now - since) * 1000, 1)
        return now

    client = client_for(target, context, on_wire=tap, stderr=stderr, eras=plumbing)
    try:
        await client.open()
        at = lap("connect", began)
        server = client.server
        tools = await client.list_tools() if "tools" in server.capabilities else []
        flaws = [str(flaw) for flaw in client.problems]
        lap("list_tools", at)
        violations = client.violations
        await _note(plumbing, context, target, "ok", name=server.name, version=server.version, revision=server.revision)
    except DragomanError as exc:
        await _note(plumbing, context, target, "failed", error=exc.kind, message=str(exc))
        raise
    finally:
        at = time.monotonic()
        try:
            await client.close()
            lap("close", at)
        finally:
            await plumbing.close()
    lap("total", began)
    return ProbeReport(
        target=target.shown,
        era=server.era,
        revision=server.revision,
        name=server.name,
        version=server.version,
        capabilities=server.capabilities,
        instructions=server.instructions,
        tools=tools,
        environment=passed_names(target, context),
        flaws=flaws,
        violations=violations,
        timings_ms=timings,
    )


async def _note(plumbing: Plumbing, context: Context, target: Target, status: str, **detail: str) -> None:
    """Somebody's program was started, or somebody's address asked. What the audit cannot take is no reason to hide what came of it."""
    redact = context.redactor.redact_text
    entry = AuditEntry(
        at=time.time(),
        event="probed",
        principal=person(),
        server=redact(target.shown),
        status=status,
        detail={key: redact(value) for key, value in detail.items()} | {"how": "command"},
    )
    try:
        await plumbing.store.append(entry)
    except DragomanError:
        pass
