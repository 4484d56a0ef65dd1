"""server-filesystem (npm, legacy era): the scratch folder and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman import Client
from tests.interop import envs
from tests.interop.handlers import Inbox


@pytest.fixture
def safe(tmp_path: Path) -> Path:
    """The folder that the server may use; `secret.txt` lies beside it."""
    (tmp_path / "secret.txt").write_text("top secret")
    folder = tmp_path / "safe"
    folder.mkdir()
    (folder / "a.txt").write_text("first\nsecond\n")
    return folder


@pytest.fixture
async def files(safe: Path) -> AsyncIterator[Client]:
    """Connected."""
    async with Client(envs.npm_server("server-filesystem", str(safe)), timeout_s=20) as client:
        yield client


async def test_lists_its_tools_with_schemas(files: Client) -> None:
    """Server/tools: names, required arguments, output schemas and annotations as the server states them."""
    tools = {tool.name: tool for tool in await files.list_tools()}
    assert len(tools) == 14
    assert isinstance(tools["write_file"].input_schema, dict)
    assert set(tools["write_file"].input_schema["required"]) == {"path", "content"}
    assert (tools["read_text_file"].annotations or {})["readOnlyHint"] is True
    assert tools["read_text_file"].output_schema
    assert files.problems == []


async def test_reads_and_writes_in_its_folder(files: Client, safe: Path) -> None:
    """Whole, in part, edited, moved: what is on the disk afterwards counts."""
    assert (await files.call_tool("read_text_file", {"path": str(safe / "a.txt")})).text == "first\nsecond\n"
    assert (await files.call_tool("read_text_file", {"path": str(safe / "a.txt"), "head": 1})).text.strip() == "first"
    assert not (await files.call_tool("write_file", {"path": str(safe / "b.txt"), "content": "豆腐\r\n\u2028é"})).is_error
    assert (safe / "b.txt").read_bytes().decode() == "豆腐\r\n\u2028é"
    edits = [{"oldText": "second", "newText": "third"}]
    assert "+third" in (await files.call_tool("edit_file", {"path": str(safe / "a.txt"), "edits": edits})).text
    await files.call_tool("move_file", {"source": str(safe / "a.txt"), "destination": str(safe / "c.txt")})
    assert (safe / "c.txt").read_text() == "first\nthird\n"
    listed = await files.call_tool("list_directory", {"path": str(safe)})
    assert listed.text == "[FILE] b.txt\n[FILE] c.txt"
    assert listed.structured == {"content": listed.text}


async def test_one_megabyte_goes_there_and_back_unchanged(files: Client, safe: Path) -> None:
    """One line of a megabyte in both directions, larger than any pipe."""
    content = "0123456789abcdé\n" * 65_536
    await files.call_tool("write_file", {"path": str(safe / "big.txt"), "content": content})
    assert (safe / "big.txt").read_text() == content
    assert (await files.call_tool("read_text_file", {"path": str(safe / "big.txt")})).text == content


@pytest.mark.parametrize("way", ["beside", "dots", "link"])
async def test_is_refused_outside_its_folder(files: Client, safe: Path, way: str) -> None:
    """The server's own refusal is an outcome (`isError`), and nothing of the file comes with it."""
    secret = safe.parent / "secret.txt"
    (safe / "link").symlink_to(secret)
    path = {"beside": str(secret), "dots": f"{safe}/../secret.txt", "link": str(safe / "link")}[way]
    read = await files.call_tool("read_text_file", {"path": path})
    assert read.is_error
    assert "Access denied" in read.text
    assert "top secret" not in read.text
    written = await files.call_tool("write_file", {"path": path, "content": "changed"})
    assert written.is_error
    assert secret.read_text() == "top secret"


async def test_roots_take_the_place_of_the_folders_on_the_command_line(safe: Path, tmp_path: Path) -> None:
    """Client/roots: this server asks for them after the handshake and allows just these from then on."""
    other = tmp_path / "other"
    other.mkdir()
    words: Inbox[bytes] = Inbox()
    async with Client(envs.npm_server("server-filesystem", str(safe)), roots=[other], stderr=words.put, timeout_s=20) as client:
        await words.until(lambda data: b"Updated allowed directories from MCP roots" in data)
        allowed = (await client.call_tool("list_allowed_directories")).text
        assert str(other) in allowed
        assert str(safe) not in allowed
