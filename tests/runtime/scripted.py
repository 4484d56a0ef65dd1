"""Servers inside the test that answer one method as they are told, and what they were sent."""

from __future__ import annotations

from typing import Any

from tests.runtime.fakes import FakeServer, Json

FORM = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}}
LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def answering(method: str, *results: Json, era: str = "legacy") -> FakeServer:
    """A server that answers ``method`` with these, one after the other."""
    left = list(results)

    def on(message: Json) -> list[Json] | None:
        return [{"id": message["id"], "result": left.pop(0)}] if message.get("method") == method else None

    return FakeServer(on, era=era)


def refusing(code: int, data: Any = None, era: str = "legacy") -> FakeServer:
    """A server that answers every call with an error."""
    error = {"code": code, "message": "no"} | ({} if data is None else {"data": data})
    return FakeServer(lambda m: [{"id": m["id"], "error": error}] if m.get("method") == "tools/call" else None, era=era)


def params_of(server: FakeServer, method: str) -> list[Json]:
    """What the server was sent, without ``_meta``."""
    return [
        {key: value for key, value in message["params"].items() if key != "_meta"}
        for message in server.sent
        if message.get("method") == method
    ]
