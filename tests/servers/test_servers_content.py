"""Odd servers whose tools, listings, results or questions are odd."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from tests.demo.raw_peer import ODD, Json, RawPeer, call_line, greeted, odd


def test_unknown_content() -> None:
    with greeted("unknown_content") as peer:
        blocks = peer.call("echo")["content"]
        assert [block["text"] for block in (blocks[0], blocks[-1])] == ["first", "last"]
        assert blocks[1]["type"] == "hologram"
        assert {"type": "text"} in blocks
        assert "bare words" in blocks


def test_broken_tool() -> None:
    with greeted("broken_tool") as peer:
        page = peer.result("tools/list")
        assert page["nextCursor"] is None
        names = [tool.get("name") if isinstance(tool, dict) else tool for tool in page["tools"]]
        assert {"echo", "nulls", "subs", "draft7", "no_schema", 17, None, "not a tool"} <= set(names)


def test_same_cursor() -> None:
    with greeted("same_cursor") as peer:
        assert {peer.result("tools/list", {"cursor": "again"})["nextCursor"] for _ in range(3)} == {"again"}
    with greeted("same_cursor", "fresh") as peer:
        assert len({peer.result("tools/list")["nextCursor"] for _ in range(3)}) == 3


def test_many_tools() -> None:
    with greeted("many_tools", "10", "4") as peer:
        pages = [peer.result("tools/list", {"cursor": cursor}) for cursor in ("0", "4", "8")]
        assert [len(page["tools"]) for page in pages] == [4, 4, 2]
        assert "nextCursor" not in pages[-1]
    with greeted("many_tools") as peer:
        assert len(peer.result("tools/list")["tools"]) == 1000


def test_tool_names() -> None:
    with greeted("tool_names") as peer:
        names = [tool["name"] for tool in peer.result("tools/list")["tools"]]
        assert {"two words", "读取", "a.b.c", "a__b", "", "x" * 200} <= set(names)
        assert names.count("plain") == 2
        assert peer.words("a/b") == "a/b"


def test_rug_pull() -> None:
    with greeted("rug_pull") as peer:
        before = peer.result("tools/list")["tools"]
        peer.words("echo", text="hi")
        assert peer.receive()["method"] == "notifications/tools/list_changed"
        after = peer.result("tools/list")["tools"]
        assert [tool["name"] for tool in after] == ["echo", "extra"]
        assert after[0]["description"] != before[0]["description"]


def test_ref_canary(tmp_path: Path) -> None:
    with greeted("ref_canary", "1234", str(tmp_path / "canary")) as peer:
        listing = json.dumps(peer.result("tools/list"))
        assert "http://127.0.0.1:1234/" in listing
        assert f"file://{tmp_path / 'canary'}" in listing
        assert peer.words("by_http") == "called"


def test_hostile_text() -> None:
    with greeted("hostile_text") as peer:
        evil = "\x1b]0;owned\x07"
        assert all(evil in tool["name"] + tool["description"] for tool in peer.result("tools/list")["tools"])
        assert evil in peer.words("echo")
        assert evil in peer.heard[0]["params"]["data"]
        assert evil in json.loads(call_line_after_notice(peer, "error"))["error"]["message"]
        assert evil in peer.stderr()


def call_line_after_notice(peer: RawPeer, text: str) -> bytes:
    assert b"notifications/message" in call_line(peer, text)
    return peer.line()


def test_wrong_structured() -> None:
    with greeted("wrong_structured") as peer:
        assert peer.result("tools/list")["tools"][0]["outputSchema"]["required"] == ["knots"]
        assert peer.call("echo", text="wrong")["structuredContent"] == {"knots": "fourteen"}
        assert "structuredContent" not in peer.call("echo", text="absent")
        assert peer.call("echo", text="error")["isError"] is True
        assert peer.call("echo", text="fine")["structuredContent"] == {"knots": 14}


def test_asks_for_ever() -> None:
    with odd("asks_for_ever") as peer:
        peer.discover()
        state: Json = {}
        for count in range(1, 4):
            result = peer.result("tools/call", {"name": "echo", "arguments": {}, **state})
            assert list(result["inputRequests"]) == [f"q{count}"]
            state = {"requestState": result["requestState"], "inputResponses": {f"q{count}": {"action": "accept", "content": {}}}}
        assert peer.call("echo", text="odd")["resultType"] == "maybe"
        assert peer.call("echo", text="empty") == {"resultType": "input_required"}


def test_asks_unknown() -> None:
    with greeted("asks_unknown") as peer:
        call = peer.post("tools/call", {"name": "echo", "arguments": {}})
        for question in [peer.receive() for _ in range(5)]:
            polite = {"result": {}} if question["method"] == "ping" else {"error": {"code": -32601, "message": "no"}}
            peer.send({"id": question["id"], **polite})
        told = json.loads(peer.answer_to(call)["result"]["content"][0]["text"])
        assert told.pop("ping") == {"result": {}}
        assert len(told) == 4
        assert all(reply == {"error": -32601} for reply in told.values())


def test_asks_person() -> None:
    with greeted("asks_person") as peer:
        call = peer.post("tools/call", {"name": "echo", "arguments": {"text": '{"message": "Well?"}'}})
        question = peer.receive()
        assert (question["method"], question["params"]) == ("elicitation/create", {"message": "Well?"})
        peer.send({"id": question["id"], "result": {"action": "cancel"}})
        assert json.loads(peer.answer_to(call)["result"]["content"][0]["text"]) == {"action": "cancel"}


def test_a_forgotten_server_ends_itself() -> None:
    """Our choice: ODD_TTL seconds after the start, even where it ignores everything else."""
    with RawPeer(sys.executable, str(ODD / "stubborn.py"), env={"ODD_TTL": "1"}) as peer:
        peer.initialize()
        assert peer.status() == -signal.SIGALRM
