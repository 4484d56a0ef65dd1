"""The demo server "bazaar" speaks the stateless era as the specification says."""

from __future__ import annotations

import pytest

from tests.demo.raw_peer import DEMO, Json, RawPeer, modern

META_KEY = "io.modelcontextprotocol/"


def test_bazaar_refuses_the_handshake_and_other_versions_with_the_list_of_its_own() -> None:
    """2026-07-28 schema, UnsupportedProtocolVersionError."""
    with RawPeer.python(DEMO / "modern.py") as peer:
        refused = peer.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})["error"]
        assert (refused["code"], refused["data"]) == (-32022, {"supported": ["2026-07-28"], "requested": "2025-11-25"})
        other = {"_meta": {META_KEY + "protocolVersion": "2099-01-01", META_KEY + "clientCapabilities": {}}}
        assert peer.request("server/discover", other)["error"]["data"]["requested"] == "2099-01-01"


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities", "all"])
def test_bazaar_wants_version_and_capabilities_with_every_request(missing: str) -> None:
    """2026-07-28 basic/index#_meta."""
    with modern() as peer:
        peer.extra = {} if missing == "all" else {"_meta": {k: v for k, v in peer.extra["_meta"].items() if k != META_KEY + missing}}
        assert peer.request("tools/list")["error"]["code"] == -32602


def test_bazaar_marks_every_result_and_says_how_long_it_may_be_kept() -> None:
    """2026-07-28 schema: resultType in each result; ttlMs and cacheScope in the six that may be cached."""
    with modern() as peer:
        cached = ["server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"]
        results = [peer.result(method) for method in cached] + [peer.result("resources/read", {"uri": "bazaar://sign"})]
        assert all(result["cacheScope"] in ("public", "private") and result["ttlMs"] >= 0 for result in results)
        results.append(peer.call("echo", text="x"))
        assert {result["resultType"] for result in results} == {"complete"}
        assert {result["_meta"][META_KEY + "serverInfo"]["name"] for result in results} == {"bazaar"}
        assert peer.request("ping")["error"]["code"] == -32601


def haggle(peer: RawPeer, **more: object) -> Json:
    return peer.result("tools/call", {"name": "haggle", "arguments": {"ware": "lamp"}, **more})


def test_bazaar_haggles_in_two_rounds_and_keeps_nothing_between_them() -> None:
    """2026-07-28 patterns/mrtr: the state travels with the client; another process can take the second round."""
    with modern({"elicitation": {"form": {}}}) as peer:
        first = haggle(peer)
        assert (first["resultType"], list(first["inputRequests"])) == ("input_required", ["offer"])
        offer = {"offer": {"action": "accept", "content": {"dinar": 9}}}
        second = haggle(peer, requestState=first["requestState"], inputResponses=offer)
        assert "9 dinar" in second["inputRequests"]["last"]["params"]["message"]
    with modern({"elicitation": {"form": {}}}) as peer:
        last = {"last": {"action": "accept", "content": {"agree": True}}}
        assert haggle(peer, requestState=second["requestState"], inputResponses=last)["content"][0]["text"] == "sold for 9 dinar"
        assert (
            haggle(peer, requestState=first["requestState"], inputResponses={"offer": {"action": "decline"}})["content"][0]["text"]
            == "no deal"
        )


def test_bazaar_wants_its_state_back_unchanged() -> None:
    """2026-07-28 patterns/mrtr: a client echoes requestState exactly."""
    with modern({"elicitation": {}}) as peer:
        for state in ({}, {"requestState": "mine"}):
            retry = {"name": "haggle", "arguments": {"ware": "lamp"}, "inputResponses": {"offer": {"action": "decline"}}, **state}
            assert peer.request("tools/call", retry)["error"]["code"] == -32602


@pytest.mark.parametrize(
    ("tool", "arguments", "needed"),
    [("haggle", {"ware": "lamp"}, "elicitation"), ("show_roots", {}, "roots"), ("ask_model", {"question": "?"}, "sampling")],
)
def test_bazaar_names_the_capability_that_a_client_lacks(tool: str, arguments: Json, needed: str) -> None:
    """2026-07-28 schema, MissingRequiredClientCapabilityError."""
    with modern() as peer:
        error = peer.request("tools/call", {"name": tool, "arguments": arguments})["error"]
        assert (error["code"], list(error["data"]["requiredCapabilities"])) == (-32021, [needed])


def test_bazaar_reports_changes_on_a_subscription_and_nowhere_else() -> None:
    """2026-07-28 patterns/subscriptions: only what was asked for, under the id of the request, until it is cancelled."""
    with modern() as peer:
        peer.call("grow_tool")
        assert peer.heard == []
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["bazaar://basket"], "promptsListChanged": True}
        mine = peer.post("subscriptions/listen", {"notifications": wanted})
        acknowledged = peer.receive()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert sorted(acknowledged["params"]["notifications"]) == ["resourceSubscriptions", "toolsListChanged"]
        peer.call("grow_tool")
        peer.call("add_to_basket", ware="lamp")
        assert [message["method"] for message in peer.heard] == ["notifications/tools/list_changed", "notifications/resources/updated"]
        assert {message["params"]["_meta"][META_KEY + "subscriptionId"] for message in peer.heard} == {mine}
        peer.heard.clear()
        peer.send({"method": "notifications/cancelled", "params": {"requestId": mine}})
        peer.call("grow_tool")
        assert peer.heard == []


def test_bazaar_logs_when_the_request_asks_for_it() -> None:
    """2026-07-28: `_meta` logLevel replaces logging/setLevel."""
    with modern() as peer:
        peer.call("count", to=1)
        assert peer.heard == []
        peer.extra["_meta"][META_KEY + "logLevel"] = "info"
        peer.call("count", to=1)
        assert [message["method"] for message in peer.heard] == ["notifications/message"]
