"""Refused until a person has been somewhere: asked about, and sent once more, once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from dragoman.errors import ServerError
from dragoman.runtime.asking import Elicitation, ElicitationAnswer
from tests.runtime.fakes import FakeServer, Json, client, words

WANTED = [{"mode": "url", "elicitationId": str(n), "message": "Go", "url": f"https://x.example/{n}"} for n in range(2)]


class Gate:
    """Refuses so many calls, then lets them through; and a person who gives one answer after the other."""

    def __init__(self, refusals: int, *actions: Any, data: Any = None) -> None:
        self.refusals, self.actions = refusals, list(actions)
        self.data = {"elicitations": WANTED} if data is None else data
        self.asked: list[str | None] = []

    def on(self, message: Json) -> Iterable[Json] | None:
        if message.get("method") != "tools/call":
            return None
        if self.refusals:
            self.refusals -= 1
            return [{"id": message["id"], "error": {"code": -32042, "message": "go there", "data": self.data}}]
        return [{"id": message["id"], "result": words("through")}]

    def person(self, ask: Elicitation) -> ElicitationAnswer:
        self.asked.append(ask.url)
        return ElicitationAnswer(self.actions.pop(0))


async def test_call_is_sent_once_more_when_the_person_agreed_to_every_address() -> None:
    """MCP 2025-11-25 client/elicitation#url-elicitation-required-error."""
    gate = Gate(1, "accept", "accept")
    server = FakeServer(gate.on)
    async with client(server, on_elicitation=gate.person) as mine:
        assert (await mine.call_tool("echo", {"a": 1})).text == "through"
        assert gate.asked == ["https://x.example/0", "https://x.example/1"]
        one, two = (m["params"] for m in server.sent if m["method"] == "tools/call")
        assert one == two


@pytest.mark.parametrize(("gate", "calls"), [(Gate(9, "accept", "accept"), 2), (Gate(9, "accept", "decline"), 1), (Gate(9, "cancel"), 1)])
async def test_refusal_that_stays_is_raised_with_what_to_do(gate: Gate, calls: int) -> None:
    server = FakeServer(gate.on)
    async with client(server, on_elicitation=gate.person) as mine:
        with pytest.raises(ServerError) as caught:
            await mine.call_tool("echo")
        assert caught.value.code == -32042
        assert "call again" in str(caught.value.hint)
        assert server.methods().count("tools/call") == calls


@pytest.mark.parametrize(
    "data", [{}, {"elicitations": []}, {"elicitations": ["x"]}, {"elicitations": WANTED * 6}, "x", {"elicitations": 5}]
)
async def test_data_of_another_shape_asks_nobody(data: Any) -> None:
    gate = Gate(1, data=data)
    async with client(FakeServer(gate.on), on_elicitation=gate.person) as mine:
        with pytest.raises(ServerError):
            await mine.call_tool("echo")
        assert gate.asked == []


async def test_address_that_is_not_shown_is_not_agreed_to() -> None:
    gate = Gate(1, data={"elicitations": [{"message": "Go", "url": "javascript:x"}]})
    async with client(FakeServer(gate.on), on_elicitation=gate.person) as mine:
        with pytest.raises(ServerError):
            await mine.call_tool("echo")
        assert gate.asked == []


async def test_nobody_is_asked_without_a_handler_or_in_the_stateless_era() -> None:
    """MCP 2026-07-28: the code is gone."""
    gate = Gate(2)
    async with client(FakeServer(gate.on)) as mine:
        with pytest.raises(ServerError):
            await mine.call_tool("echo")
    async with client(FakeServer(gate.on, era="modern"), on_elicitation=gate.person) as mine:
        with pytest.raises(ServerError):
            await mine.call_tool("echo")
    assert gate.asked == []
