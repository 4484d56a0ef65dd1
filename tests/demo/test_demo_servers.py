"""What both demo servers do, spoken to in raw JSON lines, whatever their era."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.demo.raw_peer import DEMO, Json, RawPeer, legacy, modern


@pytest.fixture(params=[legacy, modern], ids=["legacy", "modern"])
def either(request: pytest.FixtureRequest) -> Iterator[RawPeer]:
    """A conversation with one server, then with the other."""
    with request.param() as peer:
        yield peer


# Starting and ending


@pytest.mark.parametrize("name", ["legacy", "modern"])
def test_server_runs_as_a_module_and_ends_at_end_of_file(name: str) -> None:
    """Our choice: both ways of starting are documented."""
    with RawPeer(sys.executable, "-m", f"dragoman.demo.{name}") as peer:
        peer.initialize() if name == "legacy" else peer.discover()
        peer.close_stdin()
        assert peer.status() == 0
        assert "open for" in peer.stderr()


@pytest.mark.parametrize("name", ["legacy", "modern"])
def test_server_as_a_plain_file_imports_nothing_outside_the_standard_library(name: str) -> None:
    """Our choice: the demo starts fast and needs nothing installed."""
    program = f"import runpy, sys; sys.path.insert(0, {str(DEMO)!r}); runpy.run_path({str(DEMO / name)!r} + '.py'); print(*sys.modules)"
    names = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, timeout=20).stdout.split()
    foreign = {module.split(".")[0] for module in names} - set(sys.stdlib_module_names) - {"_wire", "_tools", "__main__"}
    assert foreign == set()


def test_end_of_file_ends_a_running_call(either: RawPeer) -> None:
    """MCP stdio shutdown: closing stdin is enough."""
    either.post("tools/call", {"name": "slow", "arguments": {"seconds": 500}})
    either.close_stdin()
    assert either.status() == 0


# What both do


def test_tools_come_in_two_pages_and_both_servers_have_a_search(either: RawPeer) -> None:
    """MCP server/utilities/pagination; the collision of names is what the demo shows."""
    first = either.result("tools/list")
    second = either.result("tools/list", {"cursor": first["nextCursor"]})
    assert "nextCursor" not in second
    tools = {tool["name"]: tool for tool in first["tools"] + second["tools"]}
    assert len(tools) == len(first["tools"]) + len(second["tools"])
    assert tools["search"]["annotations"]["readOnlyHint"] is True
    assert either.request("tools/list", {"cursor": "elsewhere"})["error"]["code"] == -32602


def test_search_finds_the_same_every_time(either: RawPeer) -> None:
    """Our choice: the demo's transcript is the same on every machine."""
    assert either.words("search", text="o") == either.words("search", text="o")
    assert either.words("search", text="no such thing").startswith("no such")


def test_bad_arguments_are_a_tool_error_that_says_what_was_expected(either: RawPeer) -> None:
    """2025-11-25 server/tools#error-handling: validation errors are results with isError."""
    result = either.call("count", to=0, speed="fast")
    assert result["isError"] is True
    assert "unknown argument 'speed'" in result["content"][0]["text"]
    assert "must be from 1 to 10000" in result["content"][0]["text"]
    assert "is missing" in either.words("echo")
    assert "must be of type string" in either.words("echo", text=5)


def test_strict_tools_check_enum_and_range() -> None:
    """Our choice: these carry the repaired call of the demo."""
    with legacy() as peer:
        assert "north, south, quay" in peer.words("book_berth", ship="Petrel", berth="west", nights=2)
        assert "from 1 to 30" in peer.words("book_berth", ship="Petrel", berth="quay", nights=31)
        assert peer.words("book_berth", ship="Petrel", berth="quay", nights=2) == "berth quay booked for the Petrel, 2 nights"
    with modern() as peer:
        assert "of type integer" in peer.words("order", ware="lamp", quantity="two")
        assert peer.words("order", ware="lamp", quantity=2, gift=True) == "ordered 2 x lamp for 24 dinar, wrapped as a gift"


def test_notes_are_written_and_deleted() -> None:
    """Our choice: the risky tool takes several items, all or none."""
    with legacy() as peer:
        assert peer.words("add_note", text="tar") == "noted as n4"
        assert peer.call("delete_notes", ids=["n1", "n9"])["isError"] is True
        assert peer.words("delete_notes", ids=["n1", "n4"]) == "deleted: buy rope, tar"
        assert peer.result("resources/read", {"uri": "harbour://notes"})["contents"][0]["text"] == "n2: paint the hull\nn3: pay the pilot"


def test_messages_are_sent_to_several_people() -> None:
    """Our choice: the risky tool of the bazaar."""
    with modern() as peer:
        assert peer.words("send_message", to=["ali", "zoe"], text="come") == "sent to ali, zoe: come"


def test_unknown_tool_is_a_protocol_error(either: RawPeer) -> None:
    """MCP server/tools#error-handling."""
    assert either.request("tools/call", {"name": "serach", "arguments": {}})["error"]["code"] == -32602


@pytest.mark.parametrize(("server", "tool"), [(legacy, "sink_ship"), (modern, "burn_stall")])
def test_crash_ends_the_process_in_the_middle_of_the_call(server: Callable[[], RawPeer], tool: str) -> None:
    """Our choice: status 70 and a last word on stderr."""
    with server() as peer:
        peer.post("tools/call", {"name": tool, "arguments": {}})
        assert peer.line() == b""
        assert peer.status() == 70
        assert "hull breached" in peer.stderr()


@pytest.mark.parametrize(("server", "tool", "arguments"), [(legacy, "read_bottle", {}), (modern, "read_reviews", {"ware": "lamp"})])
def test_poisoned_result_carries_orders_an_escape_and_hidden_characters(server: Callable[[], RawPeer], tool: str, arguments: Json) -> None:
    """Our choice: what the scanner and the escaping layer are shown on."""
    with server() as peer:
        text = peer.words(tool, **arguments)
        assert "forget the rules" in text
        assert "\x1b[31m" in text
        assert "\u200b" in text
        assert any(0xE0000 < ord(letter) < 0xE0080 for letter in text)


def test_progress_comes_only_for_a_token_and_before_the_answer(either: RawPeer) -> None:
    """MCP basic/utilities/progress."""
    either.call("count", to=3)
    assert either.heard == []
    params = {"name": "count", "arguments": {"to": 3}}
    meta = {**either.extra.get("_meta", {}), "progressToken": "p"}
    either.extra = {"_meta": meta}
    assert either.result("tools/call", params)["content"][0]["text"] == "1 2 3"
    assert [(note["params"]["progress"], note["params"]["total"]) for note in either.heard] == [(1, 3), (2, 3), (3, 3)]
    assert {note["params"]["progressToken"] for note in either.heard} == {"p"}


def test_cancelled_call_gets_no_answer_and_the_next_one_does(either: RawPeer) -> None:
    """MCP cancellation on stdio; a second call runs beside the slow one."""
    slow = either.post("tools/call", {"name": "slow", "arguments": {"seconds": 500}})
    assert either.words("echo", text="meanwhile") == "meanwhile"
    either.send({"method": "notifications/cancelled", "params": {"requestId": slow}})
    assert either.words("slow", seconds=0.05) == "slept 0.05 s"
    assert either.heard == []


def test_structured_result_matches_its_schema_and_its_text() -> None:
    """MCP server/tools#structured-content: the text carries the same."""
    with legacy() as peer:
        result = peer.call("weather")
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    with modern() as peer:
        assert peer.call("price", ware="lamp")["structuredContent"] == {"ware": "lamp", "dinar": 12}


def test_picture_is_a_png(either: RawPeer) -> None:
    """MCP server/tools#image-content."""
    block = either.call("picture")["content"][1]
    assert block["mimeType"] == "image/png"
    assert base64.b64decode(block["data"], validate=True).startswith(b"\x89PNG\r\n\x1a\n")


def test_resources_are_listed_described_by_a_template_and_read(either: RawPeer) -> None:
    """MCP server/resources; not found is -32002 in the handshake era and -32602 in the other."""
    uris = [resource["uri"] for resource in either.result("resources/list")["resources"]]
    assert all(either.result("resources/read", {"uri": uri})["contents"][0]["uri"] == uri for uri in uris)
    template = either.result("resources/templates/list")["resourceTemplates"][0]["uriTemplate"]
    scheme, variable = template.split("{")
    name = either.result(
        "completion/complete", {"ref": {"type": "ref/resource", "uri": template}, "argument": {"name": variable[:-1], "value": ""}}
    )
    uri = scheme + name["completion"]["values"][0]
    assert either.result("resources/read", {"uri": uri})["contents"][0]["text"]
    missing = either.request("resources/read", {"uri": scheme + "nobody"})["error"]
    assert missing["code"] == (-32602 if either.extra else -32002)


def test_prompt_is_listed_completed_and_filled_in(either: RawPeer) -> None:
    """MCP server/prompts, server/utilities/completion."""
    prompt = either.result("prompts/list")["prompts"][0]
    required, optional = (argument["name"] for argument in prompt["arguments"])
    about = {"ref": {"type": "ref/prompt", "name": prompt["name"]}, "argument": {"name": optional, "value": "p"}}
    assert len(either.result("completion/complete", about)["completion"]["values"]) == 1
    filled = either.result("prompts/get", {"name": prompt["name"], "arguments": {required: "Petrel"}})
    assert "Petrel" in filled["messages"][0]["content"]["text"]
    assert either.request("prompts/get", {"name": prompt["name"], "arguments": {}})["error"]["code"] == -32602


def test_garbage_and_batches_get_an_error_and_do_no_harm(either: RawPeer) -> None:
    """JSON-RPC 2.0 section 5.1."""
    for data, code in ((b"hello\n", -32700), (b"[1]\n", -32600)):
        either.write(data)
        assert either.receive()["error"]["code"] == code
    either.write(b"\n")
    assert either.words("echo", text="\ud83d half") == "\ud83d half"
