"""Odd servers whose output is not one JSON object per line, or whose envelopes are wrong."""

from __future__ import annotations

import json

import pytest

from tests.demo.raw_peer import call_line, greeted, odd


def test_garbage() -> None:
    with odd("garbage") as peer:
        peer.post("initialize")
        assert peer.line().startswith(b"Unknown command")


def test_banner() -> None:
    with odd("banner") as peer:
        assert b"Harbour server" in peer.line()
        peer.post("ping")
        lines = []
        while b'"result"' not in (line := peer.line()):
            lines.append(line)
        assert {b"\n", b"42\n", b'{"jsonrpc": "2.0", "id": 1, \n', b"\x1b[32mready\x1b[0m\n"} <= set(lines)


def test_glued_log() -> None:
    with odd("glued_log") as peer:
        peer.post("initialize", {"protocolVersion": "2025-11-25"})
        assert peer.line().startswith(b"INFO took 3 ms {")
        assert call_line(peer, "back").endswith(b"} INFO took 3 ms\n")
        assert call_line(peer, "both").startswith(b"INFO start {")
        assert call_line(peer, "braces").startswith(b"INFO user={ada} state={} {")
        assert b"}{" in call_line(peer, "two")
        assert json.loads(call_line(peer, "clean"))["result"]


def test_crlf_bom() -> None:
    with odd("crlf_bom") as peer:
        peer.post("initialize", {"protocolVersion": "2025-11-25"})
        line = peer.line()
        assert line.startswith(b'\xef\xbb\xbf{"jsonrpc"')
        assert line.endswith(b"}\r\n")


def test_bad_utf8() -> None:
    with odd("bad_utf8") as peer:
        peer.post("initialize", {"protocolVersion": "2025-11-25"})
        assert b"one\x97two" in peer.line()
        assert b"before\x97after" in call_line(peer)


def test_lone_surrogate() -> None:
    with greeted("lone_surrogate") as peer:
        assert b"half a \\ud83d boat" in call_line(peer)
        assert peer.words("echo", text="fine") == "echo: fine"


def test_nan_result() -> None:
    with greeted("nan_result") as peer:
        assert b'"mean": NaN, "most": Infinity, "least": -Infinity' in call_line(peer)
        assert peer.words("echo", text="fine") == "echo: fine"


def test_deep_json() -> None:
    with greeted("deep_json") as peer:
        line = call_line(peer)
        assert line.count(b'{"x":') == 20_000
        assert line.endswith(b"}" * 20_000 + b"}}\n")
        assert peer.words("echo", text="fine") == "echo: fine"


@pytest.mark.parametrize("place", ["first", "last"])
def test_big_line(place: str) -> None:
    with greeted("big_line", "3000000", place) as peer:
        line = call_line(peer)
        assert (b'"id"' in line[:100], b'"id"' in line[-100:]) == (place == "first", place == "last")
        assert len(json.loads(line)["result"]["content"][0]["text"]) == 3_000_000
        assert len(peer.words("size", bytes=70_000)) == 70_000
        assert peer.words("echo", text="fine") == "echo: fine"


def test_dribble() -> None:
    with greeted("dribble") as peer:
        assert peer.words("echo", text="größe 读取") == "echo: größe 读取"


def test_last_words() -> None:
    with greeted("last_words") as peer:
        line = call_line(peer)
        assert not line.endswith(b"\n")
        assert json.loads(line)["result"]
        assert peer.status() == 0


def test_batch() -> None:
    with odd("batch") as peer:
        assert peer.initialize()["protocolVersion"] == "2025-03-26"
        assert ["id" in message for message in json.loads(call_line(peer))] == [False, True, False]
    with odd("batch", "2025-11-25") as peer:
        assert peer.initialize()["protocolVersion"] == "2025-11-25"


def test_string_ids() -> None:
    with odd("string_ids") as peer:
        peer.post("ping")
        assert peer.receive()["id"] == "1"


def test_foreign_id() -> None:
    with greeted("foreign_id") as peer:
        assert peer.words("echo", text="hi") == "echo: hi"
        assert [message.get("id", "none") for message in peer.heard] == [99999, None, 1.5, [], "none"]
        peer.post("tools/call", {"name": "echo", "arguments": {"text": "lost"}})
        peer.result("ping")
        assert len(peer.heard) == 10


def test_null_error_member() -> None:
    with odd("null_error_member") as peer:
        assert peer.request("ping") == {"jsonrpc": "2.0", "id": 1, "result": {}, "error": None}


def test_error_and_result() -> None:
    with greeted("error_and_result") as peer:
        assert {"result", "error"} <= json.loads(call_line(peer)).keys()
        assert json.loads(call_line(peer, "neither")).keys() == {"jsonrpc", "id"}
        assert peer.words("echo", text="fine") == "echo: fine"


def test_answers_twice() -> None:
    with odd("answers_twice") as peer:
        peer.post("ping")
        assert [peer.receive()["id"] for _ in range(2)] == [1, 1]


def test_reverse_order() -> None:
    with greeted("reverse_order") as peer:
        ids = [peer.post("tools/call", {"name": "echo", "arguments": {"text": str(number)}}) for number in range(3)]
        assert [peer.receive()["id"] for _ in range(3)] == ids[::-1]


def test_odd_errors() -> None:
    with greeted("odd_errors") as peer:
        errors = {text: json.loads(call_line(peer, text))["error"] for text in ("bare", "code", "nothing", "huge", "list", "no_id")}
        assert errors["bare"] == "it broke"
        assert errors["nothing"] == {}
        assert errors["huge"]["code"] == 10**30
        assert peer.words("echo", text="fine") == "echo: fine"


def test_wrong_results() -> None:
    with greeted("wrong_results") as peer:
        for text, kind in (("null", type(None)), ("list", list), ("text", str), ("number", int), ("no_content", dict)):
            assert isinstance(json.loads(call_line(peer, text))["result"], kind)
        assert b"1000000000" in call_line(peer, "huge_number")
        assert peer.request("resources/list")["result"] == []
        assert peer.words("echo", text="fine") == "echo: fine"
