"""The host for code without ``async``: the same calls, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman import ApprovalDenied, ConfigError, LocalProtocolError, UnknownTool, blocking
from dragoman.policy.approvers import YesApprover
from tests.service.hosting import configured, demo, rows, server


@pytest.fixture
def host(tmp_path: Path) -> Iterator[blocking.Host]:
    """Both demo servers; notes are L2, everything else is L0."""
    tables = [server("harbour", demo("legacy"), {"add_note": "L2", "*": "L0"}), server("bazaar", demo("modern"))]
    with blocking.Host.from_config(configured(tmp_path, *tables)) as one:
        yield one


def test_everything_a_host_does_works_without_async(host: blocking.Host, dragoman_home: Path) -> None:
    """Calls, lists, resources, prompts, turns, servers that come and go."""
    assert host.call("harbour.search", {"text": "salt"}).for_user().startswith("Bonaventure")
    assert {tool.server for tool in host.tools()} == {"harbour", "bazaar"}
    with host.turn(principal="ada") as turn:
        assert turn.call("bazaar__search", {"text": "lamp"}).ok
        assert turn.read("harbour", "harbour://notes").ok
        assert turn.prompt("harbour", "hail", {"ship": "Petrel"}).ok
    assert host.read("bazaar", "bazaar://basket").ok
    assert host.prompt("bazaar", "praise", {"ware": "lamp"}).ok
    assert isinstance(host.call("harbour.add_note", {"text": "x"}).error, ApprovalDenied)
    host.add("third", command=demo("legacy"), tools={"*": "L0"})
    assert host.call("third.search", {"text": "salt"}).ok
    host.remove("third")
    with pytest.raises(UnknownTool):
        host.remove("third")
    host.close()
    turns = [turn for event, turn, principal in rows(dragoman_home, "event, turn, principal") if (event, principal) == ("asked", "ada")]
    assert turns == [turn.id] * 3


def test_several_threads_share_a_host(host: blocking.Host) -> None:
    """Each gets its own answer, and calls overlap."""
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda n: host.call("harbour.echo" if n % 2 else "bazaar.echo", {"text": str(n)}).for_user(), range(40))
        assert list(answers) == [str(n) for n in range(40)]


def test_closing_from_another_thread_ends_a_call_by_name(host: blocking.Host) -> None:
    """Nobody hangs."""
    outcomes = []
    started = threading.Event()
    slow = threading.Thread(
        target=lambda: outcomes.append(host.call("harbour.count", {"to": 10_000}, on_progress=lambda progress: started.set()))
    )
    slow.start()
    assert started.wait(20)
    host.close()
    slow.join(20)
    assert not slow.is_alive()
    assert type(outcomes[0].error).__name__ == "ConnectionLost"
    with pytest.raises(LocalProtocolError, match="closed"):
        host.call("harbour.echo", {"text": "x"})


def test_approver_and_errors_are_those_of_the_async_host(tmp_path: Path) -> None:
    """The same options, the same exceptions."""
    config = configured(tmp_path, server("harbour", demo("legacy"), {"*": "L2"}))
    with blocking.Host.from_config(config, approver=YesApprover("ada")) as host:
        assert host.call("harbour.add_note", {"text": "x"}).ok
    with pytest.raises(ConfigError, match="no such file"):
        blocking.Host.from_config(tmp_path / "none.toml")
