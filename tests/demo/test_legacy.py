"""The demo server "harbour" speaks the handshake era as the specification says."""

from __future__ import annotations

import pytest

from tests.demo.raw_peer import DEMO, Json, RawPeer, legacy


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_harbour_agrees_on_each_legacy_revision(revision: str) -> None:
    """2025-11-25 basic/lifecycle#version-negotiation: same version if supported. What came later is left out."""
    with RawPeer.python(DEMO / "legacy.py") as peer:
        assert peer.initialize(revision)["protocolVersion"] == revision
        weather = next(tool for tool in peer.result("tools/list")["tools"] if tool["name"] == "weather")
        assert ("outputSchema" in weather) == (revision >= "2025-06-18")
        assert ("annotations" in weather) == (revision >= "2025-03-26")
        assert ("structuredContent" in peer.call("weather")) == (revision >= "2025-06-18")


def test_harbour_offers_its_newest_revision_for_an_unknown_one() -> None:
    """2025-11-25 basic/lifecycle#version-negotiation: otherwise another version that the server supports."""
    with RawPeer.python(DEMO / "legacy.py") as peer:
        assert peer.initialize("2026-07-28")["protocolVersion"] == "2025-11-25"


def test_harbour_answers_the_probe_as_an_unknown_method_and_then_shakes_hands() -> None:
    """2026-07-28 basic/transports/stdio#backward-compatibility: the way old servers answer."""
    with RawPeer.python(DEMO / "legacy.py") as peer:
        assert peer.request("server/discover")["error"]["code"] == -32601
        assert peer.request("tools/list")["error"]["code"] == -32600
        assert peer.result("ping") == {}
        assert peer.initialize()["serverInfo"]["name"] == "harbour"


def test_harbour_logs_only_after_a_level_is_set() -> None:
    """2025-11-25 server/utilities/logging."""
    with legacy() as peer:
        peer.call("count", to=1)
        assert peer.heard == []
        assert peer.request("logging/setLevel", {"level": "loud"})["error"]["code"] == -32602
        peer.result("logging/setLevel", {"level": "info"})
        peer.call("count", to=1)
        assert [message["params"]["data"] for message in peer.heard] == ["counted to 1"]


def test_harbour_asks_the_person_and_uses_the_answer() -> None:
    """2025-11-25 client/elicitation: a request of the server in the middle of a call."""
    with legacy({"elicitation": {}}) as peer:
        call = peer.post("tools/call", {"name": "ask_captain", "arguments": {}})
        question = peer.receive()
        assert question["method"] == "elicitation/create"
        peer.send({"id": question["id"], "result": {"action": "accept", "content": {"name": "Ada"}}})
        assert peer.answer_to(call)["result"]["content"][0]["text"] == "welcome, captain Ada"


def test_harbour_asks_for_roots_and_for_the_model() -> None:
    """2025-11-25 client/roots, client/sampling."""
    with legacy({"roots": {}, "sampling": {}}) as peer:
        call = peer.post("tools/call", {"name": "show_roots", "arguments": {}})
        peer.send({"id": peer.receive()["id"], "result": {"roots": [{"uri": "file:///hold"}]}})
        assert peer.answer_to(call)["result"]["content"][0]["text"] == "file:///hold"
        call = peer.post("tools/call", {"name": "ask_model", "arguments": {"question": "why?"}})
        question = peer.receive()
        assert question["params"]["messages"][0]["content"]["text"] == "why?"
        peer.send({"id": question["id"], "error": {"code": -1, "message": "rejected by the person"}})
        assert "rejected by the person" in peer.answer_to(call)["error"]["message"]


@pytest.mark.parametrize(("capabilities", "revision"), [({}, "2025-11-25"), ({"elicitation": {}}, "2025-03-26")])
def test_harbour_does_not_ask_a_client_that_cannot_answer(capabilities: Json, revision: str) -> None:
    """2025-11-25 basic/lifecycle#operation: only negotiated capabilities are used; elicitation is there from 2025-06-18 on."""
    with legacy(capabilities, revision) as peer:
        response = peer.request("tools/call", {"name": "ask_captain", "arguments": {}})
        assert "does not offer elicitation" in response["error"]["message"]
        assert peer.heard == []


def test_harbour_tells_of_a_changed_resource_only_to_a_subscriber() -> None:
    """2025-11-25 server/resources#subscriptions."""
    with legacy() as peer:
        peer.call("add_note", text="one")
        peer.result("resources/subscribe", {"uri": "harbour://notes"})
        peer.call("add_note", text="two")
        peer.result("resources/unsubscribe", {"uri": "harbour://notes"})
        peer.call("add_note", text="three")
        assert [message["method"] for message in peer.heard] == ["notifications/resources/updated"]


def test_harbour_grows_a_tool_and_announces_it() -> None:
    """2025-11-25 server/tools#list-changed-notification."""
    with legacy() as peer:
        assert peer.words("grow_tool") == "grew grown_1"
        assert [message["method"] for message in peer.heard] == ["notifications/tools/list_changed"]
        assert peer.words("grown_1") == "I am grown_1"
