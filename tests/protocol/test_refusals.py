"""What HTTP answers mean that are no messages: versions in plain words, lost sessions, and the errors for a person."""

from __future__ import annotations

import pytest

from dragoman.errors import AuthRequired, ConnectFailed
from dragoman.protocol.refusals import Refusal, ends_session, message_ends_session, supported, versions_in


@pytest.mark.parametrize(
    ("text", "versions"),
    [
        ("Unsupported protocol version: 2026-07-28 (supported versions: 2025-11-25, 2025-06-18)", ["2025-11-25", "2025-06-18"]),
        ("Bad Request: Unsupported protocol version: 2026-07-28. Supported versions: 2025-03-26, 2024-11-05", ["2025-03-26", "2024-11-05"]),
        ('"supported":["2025-06-18","2025-03-26"]', ["2025-06-18", "2025-03-26"]),
        ("this server supports 2024-11-05 only", ["2024-11-05"]),
        ("Unsupported protocol version: 2026-07-28", []),
        ("released on 2025-06-18", []),
        ("", []),
    ],
)
def test_versions_are_read_from_a_list_of_what_is_supported(text: str, versions: list[str]) -> None:
    """Seen in the wild: servers that refuse a version at the HTTP layer, in words."""
    assert versions_in(text) == versions


@pytest.mark.parametrize(
    ("status", "text", "ends"),
    [(404, "", True), (400, "Missing SESSION id", True), (400, "bad arguments", False), (500, "session", False), (None, "session", False)],
)
def test_sessions_end_by_404_or_by_400_with_a_word_of_it(status: int | None, text: str, ends: bool) -> None:
    """MCP 2025-11-25 basic/transports#session-management; the words are our choice."""
    assert ends_session(status, text) is ends


@pytest.mark.parametrize("body", [b"", b"[]", b'{"result":{}}', b'{"error":5}', b'{"error":{"code":-32601,"message":"session"}}', b"\xff"])
def test_only_an_error_that_says_so_ends_a_session(body: bytes) -> None:
    assert message_ends_session(404, body) is None


def test_versions_of_an_error_are_strings_in_a_list() -> None:
    assert supported({"supported": ["a", 5, None]}) == ["a"]
    assert supported({"supported": "a"}) == supported(None) == []


def test_401_asks_for_a_credential_and_403_only_with_a_challenge() -> None:
    """MCP 2025-11-25 basic/transports#security-warning: a 403 may be about the origin."""
    assert isinstance(Refusal("HTTP 401", status=401).failure(), AuthRequired)
    assert isinstance(Refusal("HTTP 403", status=403, challenge="Bearer").failure(), AuthRequired)
    plain = Refusal("HTTP 403 Forbidden: no", status=403, body="no").failure("it says: ")
    assert isinstance(plain, ConnectFailed)
    assert (str(plain), plain.status, plain.body) == ("it says: HTTP 403 Forbidden: no", 403, "no")


@pytest.mark.parametrize(("status", "sent", "nothing"), [(401, True, True), (503, True, True), (429, True, True), (None, False, True)])
def test_credentials_gateways_and_dead_hosts_say_nothing_of_eras(status: int | None, sent: bool, nothing: bool) -> None:
    assert Refusal("x", status=status, sent=sent).says_nothing_of_eras is nothing
    assert not Refusal("x", status=405).says_nothing_of_eras
    assert not Refusal("x", status=500).says_nothing_of_eras  # some old servers fail like that on a method they do not know
    assert not Refusal("reset").says_nothing_of_eras
