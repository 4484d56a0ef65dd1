"""The lesson in one page runs against servers of both eras, and stays one page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import dragoman.demo

LESSON = Path(__file__).parents[2] / "examples" / "minimal_client.py"
DEMO = Path(dragoman.demo.__file__).parent
SERVERS = Path(__file__).parents[1] / "servers"


def run(*command: str) -> str:
    """What the lesson prints when it is run on a server; it must end by itself with status 0."""
    return subprocess.run([sys.executable, str(LESSON), *command], capture_output=True, text=True, check=True, timeout=30).stdout


def test_lesson_has_fewer_than_sixty_lines_and_uses_the_standard_library_only() -> None:
    """Our choice: it has to be readable in one go, and to run anywhere."""
    lines = LESSON.read_text().splitlines()
    assert len(lines) < 60
    imported = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)


@pytest.mark.parametrize(("script", "name", "found"), [("legacy.py", "harbour", "Aurora"), ("modern.py", "bazaar", "carpet")])
def test_lesson_prints_server_capabilities_tools_and_one_result(script: str, name: str, found: str) -> None:
    """MCP lifecycle of both eras; the tools come from both pages of the listing."""
    out = run(sys.executable, str(DEMO / script))
    assert f"'name': '{name}'" in out
    assert "capabilities: tools, resources" in out
    assert "tools: search, " in out
    assert "ask_model" in out
    assert f"call: search [{{'type': 'text', 'text': '{found}" in out


def test_lesson_answers_what_the_server_asks_and_shows_notifications(tmp_path: Path) -> None:
    """JSON-RPC 2.0: every request gets a response, here -32601, and the call goes on."""
    server = tmp_path / "asking.py"
    server.write_text(
        f"import sys; sys.path.insert(0, {str(SERVERS)!r})\n"
        "from _base import ECHO, emit, is_call, messages, notify, polite_legacy, words, answer\n"
        "inbox = messages()\n"
        "for message in inbox:\n"
        "    if is_call(message):\n"
        "        notify('notifications/message', {'level': 'info', 'data': 'one moment'})\n"
        "        emit({'id': 'mine', 'method': 'ping'})\n"
        "        reply = next(inbox)\n"
        "        answer(message, words(f\"{reply['id']} {reply['error']['code']}\"))\n"
        "    elif reply := polite_legacy(message, tools=[ECHO | {'annotations': {'readOnlyHint': True}}]):\n"
        "        emit({'id': message['id'], **reply})\n"
    )
    out = run(sys.executable, str(server))
    assert "notification: notifications/message {'level': 'info', 'data': 'one moment'}" in out
    assert "'text': 'mine -32601'" in out


def test_lesson_ends_when_the_server_goes_away() -> None:
    """Our choice: end of file while a request is open is said in words and is status 1."""
    done = subprocess.run(
        [sys.executable, str(LESSON), sys.executable, str(SERVERS / "exits_on_initialize.py")], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, "the server went away" in done.stderr) == (1, True)


@pytest.mark.interop
def test_lesson_works_on_a_server_that_others_wrote() -> None:
    """server-everything of the modelcontextprotocol organisation, from npm."""
    from tests.interop.envs import npm_server

    out = run(*npm_server("server-everything"))
    assert "mcp-servers/everything" in out
    assert "call: echo [{'type': 'text', 'text': 'Echo: a'}]" in out
