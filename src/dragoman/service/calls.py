"""One call from outside, start to end: open the server it needs, read the arguments by its schema, call, save, report.

Also the smaller asks of the same kind: reading a resource, filling in a prompt, listing, completing.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from dragoman.errors import DragomanError, UnknownTool
from dragoman.policy.chain import Outcome
from dragoman.policy.names import some
from dragoman.policy.ports import Approver
from dragoman.runtime.client import Client
from dragoman.runtime.progress import Progress
from dragoman.service.arguments import ReadFile, Stdin, parse
from dragoman.service.assemble import Host
from dragoman.service.context import Context
from dragoman.service.files import Broken, Saved, save_blobs
from dragoman.service.targets import Target, client_for
from dragoman.service.tracing import Tracing
from dragoman.transports.logfile import LogFile
from dragoman.wire.content import UnknownContent, marker
from dragoman.wire.lenient import decode_leniently
from dragoman.wire.results import PromptResult, ReadResult, ToolResult

OnProgress = Callable[[Progress], Any]
"""Gets each step of a call."""

_SHOWN_CHARS = 100


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """With whom and under whose eyes a call is made.

    Attributes:
        approver: Answers for L2 calls of configured servers.
        tracing: Sees the wire.
        on_stderr: Gets what an ad hoc server writes on stderr, on top of its log file.
        timeout_s: To connect, and for each answer; ``None`` is what the configuration says.
        answers: For what servers ask, as a client takes it: ``roots``, ``on_elicitation``, ``ask_layers``.
    """

    context: Context
    approver: Approver | None = None
    tracing: Tracing | None = None
    on_stderr: Callable[[bytes], None] | None = None
    timeout_s: float | None = None
    answers: dict[str, Any] = {}


@contextlib.asynccontextmanager
async def opened(around: Surroundings, target: Target | None = None) -> AsyncIterator[Host]:
    """A host over the configured servers, none of them started yet; or over ``target`` alone, whose calls have no tiers.

    Raises:
        ConfigError: The configuration, or the trace file, cannot be used.
    """
    context, tracing = around.context, around.tracing
    if target is None:
        options = {**around.answers, **({} if around.timeout_s is None else {"connect_timeout_s": around.timeout_s})}
        host = Host.from_config(
            context=context, approver=around.approver, lazy=True, tap_for=tracing.tap if tracing is not None else None, **options
        )
    else:
        name = context.redactor.redact_text(target.shown)
        name = name if len(name) <= _SHOWN_CHARS else f"{name[:_SHOWN_CHARS]}…"
        host = Host.for_target(
            lambda **more: client_for(target, context, **more),
            name=name,
            context=context,
            on_wire=tracing.tap(name) if tracing is not None else None,
            stderr=adhoc_sink(context, around.on_stderr),
            **around.answers,
        )
    async with host:
        yield host


def adhoc_sink(context: Context, also: Callable[[bytes], None] | None = None) -> Callable[[bytes], None]:
    """Where the stderr of a server without a configuration goes."""
    write = LogFile(context.adhoc_log_path).write
    if also is None:
        return write

    def both(data: bytes) -> None:
        also(data)
        write(data)

    return both


async def client_of(host: Host, server: str | None) -> Client:
    """The client of a server, started where needed; of the only one of an ad hoc host.

    Raises:
        UnknownTool: There is no such server.
        DragomanError: It did not start.
    """
    name = next(iter(host.slots)) if server is None else server
    slot = host.slots.get(name)
    if slot is None:
        near = host.registry.nearest("resource", name, "")
        known = some(list(host.slots))
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"servers: {known}"
            if known
            else "no server is configured; dragoman add NAME -- CMD ..."
        )
        raise UnknownTool(f"there is no server {name!r}", hint=hint)
    return await slot.connected()


class CallReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended that has a result; ``for_json`` is the ``--json`` of ``call``, ``read`` and ``prompt``.

    Attributes:
        kind: ``tool``, ``resource`` or ``prompt``; ``tool`` is the name of either.
        parts: What to show of each block, in order, as the server sent it: untrusted.
        content: The blocks as JSON values; those that were saved have ``path`` and ``size`` in place of ``data`` or ``blob``.
        flaws: What was set aside, one line each.
    """

    kind: str
    server: str
    tool: str
    tier: str | None
    ok: bool
    is_error: bool
    text: str
    parts: list[str]
    structured: Any
    content: list[Any]
    labels: list[str]
    findings: list[str]
    notes: list[str]
    flaws: list[str]
    files: list[Saved]
    call_id: str

    def for_json(self) -> dict[str, Any]:
        """The documented members always, and more after them."""
        return {
            "ok": self.ok,
            "server": self.server,
            "tool": self.tool,
            "tier": self.tier,
            "text": self.text,
            "structured": self.structured,
            "content": self.content,
            "is_error": self.is_error,
            "labels": self.labels,
            "findings": self.findings,
            "notes": self.notes,
            "files": [{"path": file.path, "mime": file.mime, "size": file.size, "block": file.block} for file in self.files],
            "call_id": self.call_id,
            "kind": self.kind,
            "flaws": self.flaws,
        }


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a person wants called.

    Attributes:
        tool: ``server.tool``, or the tool's own name on an ad hoc server.
        words, base: The arguments, see :func:`dragoman.service.arguments.parse`.
        turn: The work this belongs to; empty makes the call one.
        output_dir: Where images and blobs go; ``None`` is a folder of the call in the state folder.
    """

    tool: str
    words: Sequence[str] = ()
    base: str | None = None
    principal: str = "local"
    turn: str = ""
    output_dir: Path | None = None


async def call_tool(
    host: Host,
    wish: Wish,
    around: Surroundings,
    *,
    read_file: ReadFile,
    stdin: Stdin,
    on_progress: OnProgress | None = None,
) -> CallReport:
    """Make one call.

    Raises:
        ConfigError: The arguments cannot be parsed; nothing was started for that alone.
        DragomanError: What ended the call; it is written down.
    """
    arguments = await _arguments(host, wish, read_file, stdin)
    outcome = await host.call(
        wish.tool,
        arguments,
        principal=wish.principal,
        turn=wish.turn,
        timeout_s=around.timeout_s,
        on_progress=on_progress,
        from_model=False,
    )
    return report(outcome, around.context, wish.output_dir)


async def _arguments(host: Host, wish: Wish, read_file: ReadFile, stdin: Stdin) -> Mapping[str, Any]:
    schema: Any = None
    if wish.words:
        try:
            found = await host.definition(wish.tool)
            schema = found.definition.input_schema if found is not None and found.definition is not None else None
        except DragomanError:
            pass  # the call itself runs into the same, and has it written down
    return parse(wish.words, schema, read_file, stdin, wish.base)


def report(outcome: Outcome, context: Context, output_dir: Path | None = None) -> CallReport:
    """The report of an outcome; what is not text is saved first.

    Raises:
        DragomanError: What ended the call, or a file cannot be written.
    """
    result = outcome.unwrap()
    call = outcome.call
    saved = save_blobs(result, output_dir if output_dir is not None else context.home / "files" / call.id)
    parts, content = _shown(result, saved)
    structured = result.structured if isinstance(result, ToolResult) else None
    return CallReport(
        kind=call.kind,
        server=call.server,
        tool=call.name,
        tier=call.tier,
        ok=outcome.ok,
        is_error=isinstance(result, ToolResult) and result.is_error,
        text=result.text,
        parts=parts,
        structured=structured,
        content=content,
        labels=sorted(outcome.labels),
        findings=[f"{found.message}{f': {found.sample}' if found.sample else ''}" for found in outcome.findings],
        notes=list(outcome.notes),
        flaws=[str(flaw) for flaw in result.problems],
        files=[file for file in saved if isinstance(file, Saved)],
        call_id=call.id,
    )


def _shown(result: ToolResult | ReadResult | PromptResult, saved: list[Saved | Broken]) -> tuple[list[str], list[Any]]:
    """What to print of each block, and the blocks as JSON values."""
    stand_ins = {file.block: file for file in saved}
    parts: list[str] = []
    content: list[Any] = []
    for index, (text, value) in enumerate(_blocks(result)):
        stand_in = stand_ins.get(index)
        if stand_in is not None:
            mime = stand_in.mime or "unknown type"
            if isinstance(stand_in, Saved):
                text = f"[{mime}, {stand_in.size} bytes: {stand_in.path}]"
                _replace_data(value, {"path": stand_in.path, "size": stand_in.size})
            else:
                text = f"[{mime}: {stand_in.problem}]"
        parts.append(text)
        content.append(value)
    return parts, content


def _blocks(result: ToolResult | ReadResult | PromptResult) -> list[tuple[str, Any]]:
    if isinstance(result, ReadResult):
        return [(part.text if part.text is not None else f"[resource {part.uri}]", msgspec.to_builtins(part)) for part in result.contents]
    if isinstance(result, PromptResult):
        return [
            (f"{message.role}: {marker(message.content)}", {"role": message.role, "content": _value(message.content)})
            for message in result.messages
        ]
    raw = result.raw.get("content")
    whole = raw if isinstance(raw, list) and len(raw) == len(result.content) else [_value(block) for block in result.content]
    return [(marker(block), value) for block, value in zip(result.content, whole, strict=True)]


def _value(block: Any) -> Any:
    return decode_leniently(block.raw)[0] if isinstance(block, UnknownContent) else msgspec.to_builtins(block)


def _replace_data(value: Any, file: dict[str, Any]) -> None:
    """Put the path where the base64 was; in resources inside of blocks too."""
    if not isinstance(value, dict):
        return
    for holder in (value, value.get("resource"), value.get("content")):
        if isinstance(holder, dict):
            for key in ("data", "blob"):
                if isinstance(holder.get(key), str):
                    del holder[key]
                    holder.update(file)
                    return
