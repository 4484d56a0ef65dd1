"""Why two sides do not come together: the sentences, and that none of them contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.errors import ConnectFailed, DragomanError, VersionMismatch
from dragoman.protocol.refusals import Refusal
from dragoman.wire.revisions import ALL, LEGACY, MODERN, newest_mutual
from tests.protocol.test_handshake import NEW, OLD, Wire


def test_stateless_revision_inside_of_an_answer_to_initialize_is_the_fault_of_the_server() -> None:
    """MCP 2026-07-28 has no initialize; "we speak 2026-07-28, the server speaks 2026-07-28" would explain nothing."""
    error = Wire().probe_refused(-32601).init(NEW).error
    assert isinstance(error, VersionMismatch)
    assert str(error) == (
        f"no common protocol revision: we asked for {OLD} with initialize, and the server answered {NEW}, a revision that has no initialize"
    )
    assert error.theirs == (NEW,)
    assert str(error.hint).startswith("the server contradicts itself or the specification; upgrade it")


def test_server_that_refuses_what_it_names_is_said_to_contradict_itself() -> None:
    wire = Wire((NEW,))
    for _ in range(3):
        wire.probe_refused(-32022, {"supported": [NEW]})
    assert f"the server refused it, though it names {NEW} among the revisions it speaks" in str(wire.error)
    assert "contradicts itself" in str(wire.error.hint)


@pytest.mark.parametrize(("pinned", "other"), [("2025-06-18", "2025-03-26"), ("2025-03-26", "2025-11-25")])
def test_revision_that_was_only_pinned_away_asks_nobody_to_upgrade_in_vain(pinned: str, other: str) -> None:
    error = Wire((pinned,)).init(other).error
    assert f"we asked for {pinned} with initialize, and the server answered {other}, which this client was told not to speak" in str(error)
    assert str(error.hint).endswith(f"let this client speak {other} too (revision=)")
    assert ("upgrade the server" in str(error.hint)) == (other < pinned)


@given(st.sets(st.sampled_from([*ALL, "2099-01-01", "1.0"])), st.sampled_from([ALL, MODERN, LEGACY, *((one,) for one in ALL)]), st.data())
def test_no_mismatch_says_that_both_sides_speak_the_same(offered: set[str], ours: tuple[str, ...], data: st.DataObject) -> None:
    """Whatever a server answers, up to the end."""
    wire = Wire(ours)
    for _ in range(8):
        if wire.outcome:
            break
        method = wire.sent[-1][0]
        if data.draw(st.booleans()):
            wire.refuse(method, data.draw(st.sampled_from([-32022, -32601])), {"supported": sorted(offered)})
        else:
            version = data.draw(st.sampled_from(sorted(offered) or ["0"]))
            wire.result(method, {"supportedVersions": sorted(offered), "protocolVersion": version})
    (outcome,) = wire.outcome
    if isinstance(outcome, VersionMismatch) and newest_mutual(outcome.ours, outcome.theirs) is not None:
        assert "we speak" not in str(outcome)
        assert "upgrade this client" not in str(outcome.hint)


@pytest.mark.parametrize("method", ["server/discover", "initialize"])
def test_answer_over_the_limit_ends_the_handshake_with_that_limit(method: str) -> None:
    wire = Wire((NEW,) if method == "server/discover" else (OLD,))
    wire.handshake.on_unreadable(wire.ids[method], "the answer is 300 bytes, limit 100", 300)
    assert str(wire.error) == f"the answer to {method} cannot be read: the answer is 300 bytes, limit 100"
    assert "frame_limit=" in str(wire.error.hint)


def test_probe_that_could_not_be_read_leads_to_initialize_and_explains_its_refusal() -> None:
    """A modern server refuses initialize; that its first answer was too long is the reason."""
    wire = Wire()
    wire.handshake.on_unreadable(wire.ids["server/discover"], "the answer is 300 bytes, limit 100", 300)
    assert wire.sent[-1] == ("initialize", OLD)
    assert "the answer to server/discover cannot be read" in str(wire.init_refused(-32601).error)
    again = Wire()
    again.handshake.on_unreadable(again.ids["server/discover"], "it is nested too deeply", None)
    assert again.init(OLD).peer.era == "legacy"


def test_initialize_that_could_not_be_read_waits_for_a_late_probe() -> None:
    wire = Wire().slow()
    wire.handshake.on_unreadable(wire.ids["initialize"], "the answer is 300 bytes, limit 100", 300)
    assert not wire.outcome
    error: DragomanError = wire.probe_refused(-32601).error
    assert isinstance(error, ConnectFailed)
    assert "the answer to initialize cannot be read" in str(error)


@pytest.mark.parametrize("number", [b"1e999", b"-1e400", b"1" + b"0" * 5000])
@pytest.mark.parametrize("method", ["server/discover", "initialize"])
def test_number_out_of_range_costs_only_itself(method: str, number: bytes) -> None:
    """JSON allows any number; Python's floats do not hold them all."""
    wire = Wire() if method == "server/discover" else Wire().probe_refused(-32601)
    said: dict[str, Any] = {"server/discover": b'"supportedVersions":["2026-07-28"]', "initialize": b'"protocolVersion":"2025-11-25"'}
    body = b'{%s,"capabilities":{"tools":{"x":%s},"prompts":{}},"ttlMs":%s}' % (said[method], number, number)
    assert wire.handshake.on_result(wire.ids[method], Raw(body))
    assert wire.peer.capabilities == {"tools": {"x": None}, "prompts": {}}


def test_protocol_version_that_is_none_is_shown() -> None:
    for value, words in ((None, "no protocolVersion"), (7, "the protocolVersion 7")):
        wire = Wire().probe_refused(-32601).result("initialize", {"protocolVersion": value})
        assert words in str(wire.error)


@pytest.mark.parametrize(
    ("status", "body", "theirs"),
    [(400, "Bad Request: no session", ()), (400, "Unsupported (supported versions: 2025-06-18, 2025-03-26)", ("2025-06-18", "2025-03-26"))],
)
def test_plain_refusal_over_http_that_only_a_legacy_server_gives_is_a_mismatch(status: int, body: str, theirs: tuple[str, ...]) -> None:
    wire = Wire((NEW,))
    wire.handshake.on_lost(wire.ids["server/discover"], Refusal(f"HTTP {status}: {body}", status=status, body=body))
    assert isinstance(wire.error, VersionMismatch)
    assert wire.error.theirs == theirs


def test_plain_refusal_that_any_web_server_gives_is_none() -> None:
    wire = Wire((NEW,))
    wire.handshake.on_lost(wire.ids["server/discover"], Refusal("HTTP 404: no such page", status=404, body="no such page"))
    assert isinstance(wire.error, ConnectFailed)
    assert "does not speak 2026-07-28 (it answered HTTP 404: no such page)" in str(wire.error)
