"""Each odd server does what its docstring says, so that a test which uses one may rely on the fault: starting, versions, eras."""

from __future__ import annotations

import pytest

from tests.demo.raw_peer import ODD, greeted, odd

SCRIPTS = sorted(path.stem for path in ODD.glob("*.py") if not path.stem.startswith(("_", "test_")))


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_server_says_what_it_does_what_a_good_client_does_and_has_a_test_here(name: str) -> None:
    """Our choice: a fault without a stated right answer teaches nothing."""
    source = (ODD / f"{name}.py").read_text()
    assert "A good client" in source
    assert any(f'"{name}"' in path.read_text() for path in ODD.glob("test_*.py"))
    assert "import dragoman" not in source
    assert "from dragoman" not in source


def test_exits_at_once() -> None:
    with odd("exits_at_once") as peer:
        assert peer.status() == 3
        assert "HARBOUR_KEY" in peer.stderr()


def test_exits_on_probe_only() -> None:
    with odd("exits_on_probe") as peer:
        peer.post("server/discover")
        assert peer.status() == 1
    with greeted("exits_on_probe") as peer:
        assert peer.words("echo", text="hi") == "echo: hi"


def test_exits_on_initialize() -> None:
    for status in (0, 9):
        with odd("exits_on_initialize", *([str(status)] if status else [])) as peer:
            peer.post("initialize", {"protocolVersion": "2025-11-25"})
            assert (peer.line(), peer.status()) == (b"", status)
            assert "database" in peer.stderr()


def test_ignores_probe() -> None:
    with odd("ignores_probe") as peer:
        peer.post("server/discover")
        assert peer.initialize()["protocolVersion"] == "2025-11-25"
        assert peer.heard == []


def test_answers_everything() -> None:
    with odd("answers_everything") as peer:
        assert peer.result("server/discover") == {}
        peer.initialize()


@pytest.mark.parametrize("name", ["slow_modern", "slow_dual"])
def test_late_server_answers_the_probe_and_refuses_the_queued_initialize(name: str) -> None:
    with odd(name, "0.2") as peer:
        peer.discover()
        assert peer.request("initialize", {"protocolVersion": "2025-11-25"})["error"]["code"] == -32022


def test_slow_dual_is_legacy_when_initialize_comes_first() -> None:
    with greeted("slow_dual", "0") as peer:
        assert peer.result("tools/list")["tools"]
        assert peer.request("server/discover")["error"]["code"] == -32601


def test_dual_speaks_both_at_any_time() -> None:
    with odd("dual") as peer:
        assert peer.discover()["supportedVersions"] == ["2026-07-28"]
        assert peer.result("tools/list")["resultType"] == "complete"
        peer.extra = {}
        peer.initialize()
        assert "resultType" not in peer.result("tools/list")
    with odd("dual", "legacy-only") as peer:
        assert peer.discover()["supportedVersions"] == ["2025-11-25"]


def test_modern_treats_as_legacy_after_initialize() -> None:
    with odd("modern_treats_as_legacy", "0") as peer:
        peer.discover()
        assert peer.result("tools/list")["resultType"] == "complete"
        peer.initialize()
        assert peer.request("tools/list")["error"]["code"] == -32600


@pytest.mark.parametrize("revision", ["2024-11-05", "1999-01-01"])
def test_version_2024(revision: str) -> None:
    with odd("version_2024", revision) as peer:
        assert peer.initialize()["protocolVersion"] == revision


def test_future_version() -> None:
    with odd("future_version") as peer:
        assert peer.initialize()["protocolVersion"] == "2099-01-01"
    with odd("future_version", "modern") as peer:
        assert peer.request("server/discover")["error"]["data"]["supported"] == ["2099-01-01"]


def test_refuses_initialize() -> None:
    with odd("refuses_initialize") as peer:
        assert peer.request("initialize", {"protocolVersion": "2025-11-25"})["error"]["data"]["supported"] == ["2024-11-05"]
        assert peer.initialize("2024-11-05")["protocolVersion"] == "2024-11-05"
    with odd("refuses_initialize", "plain") as peer:
        assert peer.request("initialize", {"protocolVersion": "2024-11-05"})["error"]["message"] == "licence expired"
