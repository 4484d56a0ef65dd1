"""``dragoman probe``: everything about a server, for a person and as JSON."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from dragoman.cli.probe import parameters, type_of

from .calling import nobody_left_in, on
from .program import LEGACY, MODERN, run


@pytest.mark.parametrize(
    ("target", "protocol", "name"),
    [
        (LEGACY, "legacy era (handshake), revision 2025-11-25", "harbour 1.0.0"),
        (MODERN, "modern era (stateless), revision 2026-07-28", "bazaar 1.0.0"),
    ],
    ids=["legacy", "modern"],
)
def test_the_report_says_it_all(target: list[str], protocol: str, name: str, tmp_path: Path) -> None:
    """Our contract: era, revision, name, version, capabilities, instructions, tools with parameters, variables, timing."""
    done = run("probe", "--", *target, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert f"server     {name}" in done.out
    assert f"protocol   {protocol}" in done.out
    assert "offers     tools (listChanged)" in done.out
    assert "instructions\n  A " in done.out
    assert "15 tools" in done.out
    assert "  echo\n    Say the text back.\n      text: string, required\n" in done.out
    assert "connect " in done.out
    assert "list tools " in done.out
    assert nobody_left_in(tmp_path)


def test_json_has_all_seven_keys_always(tmp_path: Path) -> None:
    """Small print; ``instructions`` may be null."""
    for command in (LEGACY, on("version_2024").split()):
        report = run("probe", "--json", "--", *command, cwd=tmp_path).json
        assert list(report)[:7] == ["era", "revision", "server", "capabilities", "instructions", "tools", "timings_ms"]
        assert report["era"] == "legacy"
        assert set(report["server"]) == {"name", "version"}


def test_the_child_gets_what_is_named_and_no_more(tmp_path: Path) -> None:
    """DESIGN: children inherit only a short list; ``--env NAME`` passes on ours."""
    words = ("--env", "OURS", "--env", "TOKEN=sesame-open", "--cwd", "sub")
    (tmp_path / "sub").mkdir()
    done = run("probe", *words, "--", *LEGACY, cwd=tmp_path, OURS="yes", NOT_OURS="no")
    (line,) = [line for line in done.out.splitlines() if line.startswith("variables")]
    assert "OURS" in line
    assert "TOKEN" in line
    assert "NOT_OURS" not in line
    assert "sesame" not in done.out + done.err
    seen = run("call", *words, "--on", on("env_dump"), "echo", "text=x", cwd=tmp_path, OURS="yes", NOT_OURS="no")
    assert '"OURS": "yes"' in seen.out
    assert "NOT_OURS" not in seen.out
    assert f'"cwd": "{os.path.realpath(tmp_path / "sub")}"' in seen.out


def test_what_is_broken_is_named_and_the_rest_works(tmp_path: Path) -> None:
    """Our contract: one broken tool is set aside and reported."""
    done = run("probe", "--", *on("broken_tool").split(), cwd=tmp_path)
    assert done.code == 0
    assert "set aside" in done.out
    assert "echo" in done.out


def test_one_revision_can_be_asked_for(tmp_path: Path) -> None:
    """DESIGN: ``--revision``."""
    assert run("probe", "--json", "--revision", "2025-03-26", "--", *LEGACY, cwd=tmp_path).json["revision"] == "2025-03-26"
    done = run("probe", "--revision", "2024-11-05", "--", *MODERN, cwd=tmp_path)
    assert done.code == 4
    assert "2026-07-28" in done.err


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": "array", "items": {"type": ["a"]}}, "array"),
        ({"enum": ["a", 1]}, 'one of "a", 1'),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer or null"),
        ({"$ref": "#/$defs/Size"}, "Size"),
        ({}, "any"),
        (True, "any"),
        (5, "any"),
    ],
)
def test_types_in_words(shape: object, words: str) -> None:
    """What a schema may say about a parameter."""
    assert type_of(shape) == words


def test_parameters_are_escaped_and_not_endless() -> None:
    """A stranger wrote them."""
    shown = parameters({"properties": {"\x1b[2J": {"type": "\x07", "description": "\n\n  first\nsecond"}}, "required": "x"})
    assert shown == ["\\x1b[2J: \\x07 - first"]
    assert len(parameters({"properties": {f"p{n}": {} for n in range(1000)}})) == 61
    assert parameters(None) == parameters({"properties": []}) == []


def test_tool_with_a_view_and_one_for_views_alone_are_said(tmp_path: Path) -> None:
    """SEP-1865; the address is the server's, so it is escaped."""
    tools = [
        {"name": "show", "inputSchema": {}, "_meta": {"ui": {"resourceUri": "ui://a\x1b[2J"}}},
        {"name": "refresh", "inputSchema": {}, "description": "Anew.", "_meta": {"ui": {"visibility": ["app"]}}},
    ]
    server = tmp_path / "server.py"
    server.write_text(
        "import json, sys\n"
        f"tools = {tools!r}\n"
        "for line in sys.stdin:\n"
        "    m = json.loads(line)\n"
        "    hello = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 's', 'version': '1'}}\n"
        "    result = {'initialize': hello, 'tools/list': {'tools': tools}}.get(m['method'])\n"
        "    said = {'result': result} if result else {'error': {'code': -32601, 'message': ''}}\n"
        "    if 'id' in m: print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], **said}), flush=True)\n"
    )
    shown = run("probe", "--", "python3", str(server), cwd=tmp_path).out
    assert "  show  (has a view, ui://a\\x1b[2J)\n" in shown
    assert "  refresh  (only for the server's own view, not offered to a model)\n    Anew.\n" in shown
    listed = run("tools", "--on", f"python3 {server}", cwd=tmp_path).out
    assert "(has a view, ui://a" in listed
    assert "Anew. (only for the server's own view, not offered to a model)" in listed


BOOKS = """
import json, sys
book = "n" * 150_000
said = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
                   "serverInfo": {"name": book, "version": book}, "instructions": book},
    "tools/list": {"tools": [{"name": "t", "title": book, "description": book,
                              "inputSchema": {"type": "object", "properties": {book: {"type": book, "description": book}}}}]},
    "resources/list": {"resources": [{"uri": "a:b", "name": book, "description": book}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "a:{b}", "name": book, "description": book}]},
    "prompts/list": {"prompts": [{"name": "p", "description": book, "arguments": [{"name": book}]}]},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = said.get(message["method"])
        answer = {"error": {"code": -32601, "message": book, "data": book}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["probe", "doctor", "resources", "prompts"])
def test_server_that_writes_books_is_cut_to_what_a_person_reads(command: str, tmp_path: Path) -> None:
    """Our choice: names, descriptions and instructions are shown in part; JSON and the library have all of them."""
    (tmp_path / "books.py").write_text(BOOKS)
    target = [sys.executable, "books.py"]
    done = run(command, *(["--on", shlex.join(target)] if command in ("resources", "prompts") else ["--", *target]), cwd=tmp_path)
    assert "nnnn" in done.out
    assert len(done.out) + len(done.err) < 30_000
