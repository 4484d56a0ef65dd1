"""The servers of the modelcontextprotocol organisation on PyPI: time, git, fetch (modern era) and sqlite (legacy)."""

from __future__ import annotations

import ast
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dragoman import Client
from tests.interop import envs


async def test_time_converts_between_zones() -> None:
    """A modern server with structured results and a schema for them."""
    async with Client(envs.python_server("mcp-server-time", "--local-timezone", "Asia/Tokyo"), timeout_s=20) as client:
        assert (client.server.era, client.server.revision, client.server.name) == ("modern", "2026-07-28", "mcp-time")
        assert {tool.name for tool in await client.list_tools()} == {"get_current_time", "convert_time"}
        arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        converted = (await client.call_tool("convert_time", arguments)).structured
        assert converted["target"]["datetime"].endswith("T21:00:00+09:00")
        assert converted["time_difference"] == "+9.0h"
        wrong = await client.call_tool("get_current_time", {"timezone": "Mars/Olympus"})
        assert wrong.is_error
        assert "Invalid timezone" in wrong.text


NOBODYS_GIT = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(repository: Path, *arguments: str) -> str:
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30, env={**os.environ, **NOBODYS_GIT}).stdout


async def test_git_stages_commits_and_shows_the_log(tmp_path: Path) -> None:
    """A scratch repository; what git itself says afterwards counts."""
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    git(repository, "config", "user.name", "Ada")
    git(repository, "config", "user.email", "ada@example.com")
    (repository / "a.txt").write_text("hello\n")
    here = {"repo_path": str(repository)}
    async with Client(envs.python_server("mcp-server-git", "-r", str(repository)), env=NOBODYS_GIT, timeout_s=20) as client:
        assert client.server.era == "modern"
        assert len(await client.list_tools()) == 12
        assert "a.txt" in (await client.call_tool("git_status", here)).text
        await client.call_tool("git_add", {**here, "files": ["a.txt"]})
        committed = await client.call_tool("git_commit", {**here, "message": "a first file – 初"})
        head = git(repository, "rev-parse", "HEAD").strip()
        assert head in committed.text
        log = (await client.call_tool("git_log", {**here, "max_count": 1})).text
        assert head in log
        assert "a first file – 初" in log
        assert "+hello" in (await client.call_tool("git_show", {**here, "revision": "HEAD"})).text
        outside = await client.call_tool("git_status", {"repo_path": str(tmp_path)})
        assert outside.is_error
        assert "outside the allowed repository" in outside.text


async def test_sqlite_creates_inserts_and_selects(tmp_path: Path) -> None:
    """A legacy server; its result is the text of a Python list, and its refusal comes without `isError`."""
    async with Client(envs.python_server("mcp-server-sqlite", "--db-path", str(tmp_path / "shop.db")), timeout_s=20) as client:
        assert (client.server.era, client.server.name) == ("legacy", "sqlite")
        await client.list_tools()
        await client.call_tool("create_table", {"query": "CREATE TABLE dish (name TEXT, price REAL)"})
        await client.call_tool("write_query", {"query": "INSERT INTO dish VALUES ('豆腐', 4.5), ('soup', 3)"})
        rows = await client.call_tool("read_query", {"query": "SELECT name, price FROM dish ORDER BY price DESC"})
        assert ast.literal_eval(rows.text) == [{"name": "豆腐", "price": 4.5}, {"name": "soup", "price": 3.0}]
        assert "dish" in (await client.call_tool("list_tables")).text
        refused = await client.call_tool("read_query", {"query": "DROP TABLE dish"})
        assert "Only SELECT" in refused.text
        await client.call_tool("append_insight", {"insight": "tofu sells"})
        (memo,) = await client.list_resources()
        assert "tofu sells" in (await client.read_resource(memo.uri)).text
        (prompt,) = await client.list_prompts()
        assert "dumplings" in (await client.get_prompt(prompt.name, {"topic": "dumplings"})).text


class Page(BaseHTTPRequestHandler):
    """One page; everything else, robots.txt too, is not there."""

    def do_GET(self) -> None:
        found = self.path == "/page"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        if found:
            self.wfile.write("<html><body><h1>Menu</h1><p>Crème brûlée, 豆腐</p></body></html>".encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def page() -> Iterator[str]:
    """The URL of a page on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/page"
    server.shutdown()
    thread.join(timeout=5)
    server.server_close()


async def test_fetch_gets_a_page_from_loopback_when_allowed(page: str) -> None:
    """The server itself refuses private addresses unless told otherwise; both are results."""
    command = envs.python_server("mcp-server-fetch", "--allow-private-ips")
    # Where it finds npm, its first page that is not raw makes it run `npm install` inside its own package.
    async with Client(command, env={"PATH": "/nowhere"}, timeout_s=40) as client:
        assert client.server.era == "modern"
        (tool,) = await client.list_tools()
        assert tool.name == "fetch"
        fetched = await client.call_tool("fetch", {"url": page, "raw": True})
        assert "<p>Crème brûlée, 豆腐</p>" in fetched.text
        simplified = await client.call_tool("fetch", {"url": page})
        assert simplified.text.endswith("# Menu\n\nCrème brûlée, 豆腐")
        missing = await client.call_tool("fetch", {"url": f"{page}-2", "raw": True})
        assert missing.is_error
    async with Client(envs.python_server("mcp-server-fetch"), timeout_s=40) as client:
        refused = await client.call_tool("fetch", {"url": page, "raw": True})
        assert refused.is_error
        assert "allow-private-ips" in refused.text
