"""A configured host over real servers of both eras: tiers, approval, refusals, audit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman import ApprovalDenied, Host, InvalidArguments
from dragoman.policy.approvers import CallbackApprover
from dragoman.policy.questions import Question
from tests.interop import envs


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Files, a database, the time, and one server that does not exist."""
    (tmp_path / "safe").mkdir()
    (tmp_path / "safe" / "a.txt").write_text("Lentils, 豆腐\n")
    commands = {
        "files": envs.npm_server("server-filesystem", str(tmp_path / "safe")),
        "shop": envs.python_server("mcp-server-sqlite", "--db-path", str(tmp_path / "shop.db")),
        "clock": envs.python_server("mcp-server-time"),
        "broken": [str(tmp_path / "no-such-program")],
    }
    servers = "".join(f"[servers.{name}]\ncommand = {json.dumps(command)}\ntimeout_s = 20\n" for name, command in commands.items())
    path = tmp_path / "named.toml"
    path.write_text(
        servers
        + '[servers.files.tools]\n"read_*" = "L0"\nlist_directory = "L0"\nwrite_file = { tier = "L2", say = "Write {path}" }\n'
        + '[servers.shop.tools]\nread_query = "L0"\ncreate_table = "L1"\nwrite_query = "L1"\n'
        + '[servers.clock.tools]\n"*" = "L0"\n'
    )
    return path


async def test_servers_of_both_eras_work_side_by_side(config: Path, tmp_path: Path) -> None:
    """One server that cannot be started stops none of the others."""
    async with Host.from_config(config, cwd=tmp_path) as host:
        assert {name: slot.state for name, slot in host.slots.items()} == {
            **{"files": "ready", "shop": "ready", "clock": "ready", "broken": "down"},
        }
        assert len(await host.tools()) == 14 + 6 + 2
        read = await host.call("files.read_text_file", {"path": str(tmp_path / "safe" / "a.txt")})
        assert read.ok
        assert read.for_user().strip() == "Lentils, 豆腐"
        assert "untrusted" in read.labels
        assert (await host.call("clock__get_current_time", {"timezone": "UTC"})).ok
        created = await host.call("shop.create_table", {"query": "CREATE TABLE dish (name TEXT)"})
        assert created.ok
        gone = await host.call("broken.anything")
        assert not gone.ok


async def test_arguments_are_checked_against_the_schema_of_the_server(config: Path, tmp_path: Path) -> None:
    """What the schema leaves one reading for is repaired, the rest is refused in words before anything is sent."""
    path = str(tmp_path / "safe" / "a.txt")
    async with Host.from_config(config, cwd=tmp_path) as host:
        repaired = await host.call("files.read_text_file", {"path": path, "head": "1"})
        assert repaired.ok
        assert repaired.notes
        refused = await host.call("files.read_text_file", {"pth": path})
        assert isinstance(refused.error, InvalidArguments)
        assert refused.hint
        assert "path" in refused.hint
        zone = await host.call("clock.get_current_time", {"timezone": 5})
        assert isinstance(zone.error, InvalidArguments)


async def test_risky_call_runs_only_when_a_person_agrees(config: Path, tmp_path: Path) -> None:
    """Without an approver denied and nothing written; with one, asked in the words of the configuration."""
    target = tmp_path / "safe" / "b.txt"
    arguments = {"path": str(target), "content": "new"}
    async with Host.from_config(config, cwd=tmp_path) as host:
        denied = await host.call("files.write_file", arguments)
        assert isinstance(denied.error, ApprovalDenied)
        assert not target.exists()
    asked: list[Question] = []

    def agree(question: Question) -> bool:
        asked.append(question)
        return True

    async with Host.from_config(config, cwd=tmp_path, approver=CallbackApprover(agree)) as host:
        assert (await host.call("files.write_file", arguments)).ok
        assert target.read_text() == "new"
        assert len(asked) == 1
        assert str(target) in str(asked[0])


async def test_refusal_of_the_server_is_an_outcome_with_a_hint(config: Path, tmp_path: Path) -> None:
    """`isError` of the filesystem server: the call ran, the outcome is not ok, nothing is raised."""
    (tmp_path / "secret.txt").write_text("top secret")
    async with Host.from_config(config, cwd=tmp_path) as host:
        outcome = await host.call("files.read_text_file", {"path": str(tmp_path / "secret.txt")})
        assert not outcome.ok
        assert outcome.error is None
        assert outcome.hint
        assert "Access denied" in outcome.hint
        assert "top secret" not in outcome.for_model()


async def test_servers_come_and_go_while_it_runs(host: Host, tmp_path: Path) -> None:
    """A name that is free again can be used again."""
    (tmp_path / "a.txt").write_text("hello")
    for _ in range(2):
        await host.add("files", command=envs.npm_server("server-filesystem", str(tmp_path)), tools={"read_*": "L0"}, timeout_s=20)
        assert (await host.call("files.read_text_file", {"path": str(tmp_path / "a.txt")})).for_user() == "hello"
        await host.remove("files")
        assert not (await host.call("files.read_text_file", {"path": str(tmp_path / "a.txt")})).ok
