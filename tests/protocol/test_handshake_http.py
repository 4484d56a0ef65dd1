"""What each HTTP answer to the probe and to initialize means: the statuses, the words in pages, and what ends it at once."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import AuthRequired, ConnectFailed, ServerError, VersionMismatch
from dragoman.protocol.handshake import KNOWN_WAIT_S, ClientHandshake, Identity
from dragoman.protocol.refusals import Refusal
from dragoman.wire.envelope import ErrorBody
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import LEGACY, MODERN, Era
from tests.protocol.test_handshake import DISCOVERED, Wire

NEW, OLD = MODERN[0], LEGACY[0]
PROBE, INIT = "server/discover", "initialize"
TS_WORDS = f"Bad Request: Unsupported protocol version: {NEW} (supported versions: {OLD}, 2025-06-18)"


def lost(wire: Wire, method: str, reason: str = "", **facts: Any) -> Wire:
    status = facts.get("status")
    wire.handshake.on_lost(wire.ids[method], Refusal(reason or f"HTTP {status}", **facts))
    return wire


def refuse(wire: Wire, method: str, status: int, code: int, message: str, data: Any = None) -> Wire:
    wire.handshake.on_error(wire.ids[method], ErrorBody(code, message, data), status)
    return wire


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415, 422, 500, 501, 200, 202])
def test_probe_answered_by_a_page_leads_to_initialize(status: int) -> None:
    """MCP 2026-07-28 versioning#compatibility-matrix: any 4xx that is no modern error. 500 and 200 without JSON-RPC are our choice."""
    wire = lost(Wire(), PROBE, status=status, body="<h1>oops</h1>")
    assert wire.sent == [(PROBE, NEW), (INIT, OLD)]


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (200, -32601, "Method not found"),
        (400, -32000, "Bad Request: Server not initialized"),
        (400, -32602, "Invalid request parameters"),
        (404, -32601, "Method not found"),
        (400, -32000, TS_WORDS),
    ],
)
def test_probe_answered_by_an_old_error_leads_to_initialize(status: int, code: int, message: str) -> None:
    """The fourth looks modern and is not: every modern server has this method."""
    assert refuse(Wire(), PROBE, status, code, message).sent[1:] == [(INIT, OLD)]


@pytest.mark.parametrize("status", [400, 200])
def test_modern_errors_are_modern_whatever_the_status(status: int) -> None:
    """MCP 2026-07-28 streamable-http#protocol-version-header."""
    wire = refuse(Wire(), PROBE, status, -32022, "version", {"supported": [NEW]})
    assert wire.sent == [(PROBE, NEW)] * 2
    assert wire.probe(DISCOVERED).peer.era == "modern"
    assert isinstance(refuse(Wire(), PROBE, status, -32020, "headers").error, ServerError)


@pytest.mark.parametrize("method", [PROBE, INIT])
def test_revisions_that_a_refusal_lists_in_words_are_tried(method: str) -> None:
    """Seen in the wild: the version is refused at the HTTP layer with a plain page."""
    facts: dict[str, Any] = {"status": 400, "body": "Unsupported protocol version (supported versions: 2025-06-18, 2025-03-26)"}
    wire = Wire(known="legacy" if method == INIT else None)
    assert lost(wire, method, **facts).sent[-1] == (INIT, "2025-06-18")
    assert wire.init("2025-06-18").peer.revision == "2025-06-18"


def test_revision_that_was_listed_and_is_refused_all_the_same_is_not_asked_for_again() -> None:
    wire = Wire()
    facts: dict[str, Any] = {"status": 400, "body": "supported versions: 2025-06-18"}
    lost(wire, PROBE, **facts)
    lost(wire, INIT, **facts)
    error = wire.error
    assert isinstance(error, ConnectFailed)
    assert (error.status, len(wire.sent)) == (400, 2)


def test_pinned_revision_that_is_refused_in_words_names_what_both_speak() -> None:
    error = lost(Wire((OLD,)), INIT, status=400, body="supported versions: 2025-06-18").error
    assert isinstance(error, VersionMismatch)
    assert (error.ours, error.theirs) == ((OLD,), ("2025-06-18",))


@pytest.mark.parametrize("status", [400, 404, 405])
def test_both_refused_ends_with_the_status_of_initialize_for_whoever_knows_another_transport(status: int) -> None:
    """MCP 2026-07-28 streamable-http#httpsse: these statuses leave the old transport."""
    error = lost(lost(Wire(), PROBE, status=405), INIT, reason=f"HTTP {status} No", status=status, body="no").error
    assert isinstance(error, ConnectFailed)
    assert (error.status, error.body) == (status, "no")
    assert f"HTTP {status} No" in str(error)
    error = refuse(lost(Wire(), PROBE, status=405), INIT, status, -32601, "Method not allowed").error
    assert isinstance(error, ConnectFailed)
    assert error.status == status
    assert "Method not allowed" in str(error)


def test_initialize_refused_with_modern_versions_shows_them() -> None:
    """MCP 2026-07-28 basic/versioning#backward-compatibility: the only diagnostic of a legacy-only client."""
    error = refuse(Wire((OLD,)), INIT, 400, -32022, "Unsupported protocol version", {"supported": [NEW]}).error
    assert isinstance(error, VersionMismatch)
    assert error.theirs == (NEW,)


def test_page_instead_of_both_answers_says_that_it_is_no_endpoint() -> None:
    facts: dict[str, Any] = {"status": 200, "reason": "answer is text/html, not JSON or an event stream: <p>"}
    error = lost(lost(Wire(), PROBE, **facts), INIT, **facts).error
    assert isinstance(error, ConnectFailed)
    assert str(error) == "this is no MCP endpoint: answer is text/html, not JSON or an event stream: <p>"


@pytest.mark.parametrize("method", [PROBE, INIT])
@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"status": 401, "challenge": "Bearer"}, AuthRequired),
        ({"status": 403, "challenge": 'Bearer error="insufficient_scope"'}, AuthRequired),
        ({"status": 403}, ConnectFailed),
        ({"status": 429}, ConnectFailed),
        ({"status": 502}, ConnectFailed),
        ({"status": 503}, ConnectFailed),
        ({"sent": False, "reason": "refused"}, ConnectFailed),
    ],
)
def test_credentials_gateways_and_dead_hosts_end_it_at_once(method: str, facts: dict[str, Any], kind: type) -> None:
    """MCP 2026-07-28 versioning#compatibility-matrix: they are no signal of an era, so nothing else is tried."""
    wire = Wire(known="legacy" if method == INIT else None)
    lost(wire, method, **facts)
    assert type(wire.error) is kind
    assert len(wire.sent) == 1


@pytest.mark.parametrize("facts", [{"status": 400}, {"status": 404}])
def test_server_remembered_as_legacy_that_refuses_initialize_is_probed(facts: dict[str, Any]) -> None:
    """MCP 2026-07-28 basic/versioning#backward-compatibility: what was remembered is dropped when contradicted."""
    wire = lost(Wire(known="legacy"), INIT, **facts)
    assert wire.sent == [(INIT, OLD), (PROBE, NEW)]
    assert wire.probe(DISCOVERED).peer.era == "modern"


@pytest.mark.parametrize(("known", "wait_s"), [(None, KNOWN_WAIT_S), ("modern", KNOWN_WAIT_S)])
def test_where_each_request_has_an_answer_of_its_own_a_slow_one_is_waited_for(known: Era | None, wait_s: float) -> None:
    """Our choice: one second is for pipes, where an old server may just be silent."""
    wire = Wire(known=known)
    wire.timers.clear()
    ClientHandshake(wire, Identity(Implementation("t", "1")), known=known, answers_each=True).start()
    assert wire.timers == [wait_s]
