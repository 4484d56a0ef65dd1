"""What the odd servers have in common: a plain, polite stdio server of either era with one tool, `echo`, to build faults on.

Every server here ends itself after ODD_TTL seconds (default 120), so that a failing test leaves nothing behind.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
ECHO: Json = {
    "name": "echo",
    "description": "Say the text back.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}

if hasattr(signal, "alarm"):
    signal.alarm(int(os.environ.get("ODD_TTL", "120")))


def messages() -> Iterator[Json]:
    """What the client writes, until it closes our stdin."""
    for line in sys.stdin.buffer:
        if line.strip():
            yield json.loads(line)


def raw(data: bytes | str) -> None:
    """Write bytes on stdout exactly as given."""
    sys.stdout.buffer.write(data.encode() if isinstance(data, str) else data)
    sys.stdout.buffer.flush()


def dumps(message: Json) -> str:
    """A message as JSON without its line end."""
    return json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)


def emit(message: Json) -> None:
    raw(dumps(message) + "\n")


def answer(message: Json, result: Any) -> None:
    emit({"id": message["id"], "result": result})


def fail(message: Json, code: int, words: str, data: Any = None) -> None:
    emit({"id": message["id"], "error": {"code": code, "message": words} | ({} if data is None else {"data": data})})


def notify(method: str, params: Json | None = None) -> None:
    emit({"method": method} | ({} if params is None else {"params": params}))


def words(text: str) -> Json:
    """A tool result of one text block."""
    return {"content": [{"type": "text", "text": text}]}


def is_call(message: Json, tool: str | None = None) -> bool:
    """Is it tools/call (of this tool)?"""
    return message.get("method") == "tools/call" and tool in (None, message["params"]["name"])


def argument(message: Json, name: str = "text", default: Any = "") -> Any:
    return (message["params"].get("arguments") or {}).get(name, default)


def polite_legacy(message: Json, tools: list[Json] | None = None, revision: str | None = None) -> Json | None:
    """The reply (its `result` or `error` member) of a plain handshake server; None for what needs no reply."""
    method, params = message.get("method"), message.get("params") or {}
    if method is None or "id" not in message:
        return None
    if method == "initialize":
        wanted = params.get("protocolVersion")
        agreed = revision or (wanted if wanted in LEGACY else LEGACY[-1])
        info = {"name": os.path.basename(sys.argv[0]), "version": "1"}
        return {"result": {"protocolVersion": agreed, "capabilities": {"tools": {"listChanged": True}}, "serverInfo": info}}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": [ECHO] if tools is None else tools}}
    if method == "tools/call":
        return {"result": words(f"{params['name']}: {(params.get('arguments') or {}).get('text', '')}")}
    return {"error": {"code": -32601, "message": f"Method not found: {method}"}}


def polite_modern(message: Json, tools: list[Json] | None = None, supported: tuple[str, ...] = (MODERN,)) -> Json | None:
    """The same for a stateless server."""
    method, params = message.get("method"), message.get("params") or {}
    if method is None or "id" not in message:
        return None
    version = (params.get("_meta") or {}).get(META + "protocolVersion")
    if method == "initialize" or version not in supported:
        requested = params.get("protocolVersion") if method == "initialize" else version
        data = {"supported": list(supported), "requested": str(requested)}
        return {"error": {"code": -32022, "message": f"Unsupported protocol version: {requested}", "data": data}}
    cached = {"ttlMs": 0, "cacheScope": "private"}
    info = {META + "serverInfo": {"name": os.path.basename(sys.argv[0]), "version": "1"}}
    if method == "server/discover":
        result: Json = {"supportedVersions": list(supported), "capabilities": {"tools": {"listChanged": True}}, "_meta": info, **cached}
    elif method == "tools/list":
        result = {"tools": [ECHO] if tools is None else tools, **cached}
    elif method == "tools/call":
        result = words(f"{params['name']}: {(params.get('arguments') or {}).get('text', '')}")
    else:
        return {"error": {"code": -32601, "message": f"Method not found: {method}"}}
    return {"result": {"resultType": "complete", **result}}


Polite = Callable[[Json], "Json | None"]


def serve(on: Callable[[Json], object] | None = None, polite: Polite = polite_legacy) -> None:
    """Answer until end of file. `on` sees each message first; when it returns something true, the message is done with."""
    for message in messages():
        if on is not None and on(message):
            continue
        if reply := polite(message):
            emit({"id": message["id"], **reply})
