"""What may be sent to whom: the table of methods against what peers declare."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import LocalProtocolError
from dragoman.protocol.events import Peer
from dragoman.protocol.permits import Permits
from dragoman.wire.listing import Implementation
from dragoman.wire.methods import CLIENT_REQUESTS, NOTICES_REMOVED_IN_MODERN, REMOVED_IN_MODERN, ROOTS_CHANGED, TASKS_EXTENSION
from dragoman.wire.revisions import LEGACY, MODERN, era_of

EVERYTHING = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}},
    "extensions": {TASKS_EXTENSION: {}, "io.modelcontextprotocol/skills": {"directoryRead": True}},
}


def permits(capabilities: dict[str, Any], revision: str = LEGACY[0], *, to_server: bool = True) -> Permits:
    return Permits(Peer(Implementation("x"), revision, era_of(revision), capabilities), to_server=to_server)


@pytest.mark.parametrize("revision", LEGACY)
def test_server_that_declares_everything_may_be_asked_everything(revision: str) -> None:
    assert permits(EVERYTHING, revision).allowed == set(CLIENT_REQUESTS)


def test_what_the_stateless_era_removed_is_refused_with_what_to_use_instead() -> None:
    """MCP 2026-07-28 changelog."""
    modern = permits(EVERYTHING, MODERN[0])
    assert modern.allowed == set(CLIENT_REQUESTS) - set(REMOVED_IN_MODERN)
    without = permits({**EVERYTHING, "extensions": {}}, MODERN[0])
    tasks, skills = {"tasks/get", "tasks/update", "tasks/cancel"}, {"skills/list", "skills/get", "resources/directory/read"}
    assert tasks | skills == modern.allowed - without.allowed
    assert "extensions.io.modelcontextprotocol/tasks" in str(without.explain("tasks/get"))
    error = modern.explain("logging/setLevel")
    assert "does not exist in revision 2026-07-28" in str(error)
    assert error.hint == "use the log level of each request instead"


@pytest.mark.parametrize(
    ("capabilities", "method", "allowed"),
    [
        ({}, "tools/list", False),
        ({"tools": {}}, "tools/call", True),
        ({"tools": True}, "tools/call", True),
        ({"tools": None}, "tools/call", True),
        ({"tools": False}, "tools/call", False),
        ({"resources": {}}, "resources/read", True),
        ({"resources": {}}, "resources/subscribe", False),
        ({"resources": {"subscribe": False}}, "resources/subscribe", False),
        ({"resources": {"subscribe": True}}, "resources/unsubscribe", True),
        ({"resources": True}, "resources/subscribe", False),
        ({}, "ping", True),
        ({"extensions": {"io.modelcontextprotocol/skills": {}}}, "skills/list", True),
        ({"extensions": {"io.modelcontextprotocol/skills": {}}}, "resources/directory/read", False),
        ({"extensions": {"io.modelcontextprotocol/skills": {"directoryRead": 1}}}, "resources/directory/read", False),
        ({"extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}}}, "resources/directory/read", True),
        ({"extensions": None}, "skills/list", False),
    ],
)
def test_only_what_was_declared_may_be_asked(capabilities: dict[str, Any], method: str, allowed: bool) -> None:
    """MCP basic/lifecycle#operation."""
    assert (method in permits(capabilities).allowed) is allowed


def test_completions_need_no_capability_before_there_was_one() -> None:
    """It came with 2025-03-26."""
    assert "completion/complete" in permits({}, "2024-11-05").allowed
    assert "completion/complete" not in permits({}, "2025-03-26").allowed


def test_refusal_names_the_capability_what_was_declared_and_the_way_out() -> None:
    error = permits({"tools": {}, "prompts": {}}).explain("resources/read")
    assert "did not declare the capability 'resources' that resources/read needs; it declared tools, prompts" in str(error)
    assert error.hint == "pass force=True to send it anyway"
    assert "it declared none" in str(permits({}).explain("tools/list"))
    assert "is not a method of revision" in str(permits({}).explain("tools/lst"))


def test_nothing_may_be_asked_before_the_peer_is_known() -> None:
    nobody = Permits(None, to_server=True)
    assert not nobody.allowed
    assert "before the server has said who it is" in str(nobody.explain("tools/list"))


def test_client_may_be_asked_what_it_offers() -> None:
    """The other direction, for the serving half."""
    client = permits({"roots": {}}, to_server=False)
    assert client.allowed == {"ping", "roots/list"}
    assert "the client did not declare" in str(client.explain("sampling/createMessage"))


@pytest.mark.parametrize("notice", [ROOTS_CHANGED, *NOTICES_REMOVED_IN_MODERN])
def test_notice_that_the_stateless_era_removed_is_refused(notice: str) -> None:
    """MCP 2026-07-28: a client sends cancellations and nothing else unasked."""
    with pytest.raises(LocalProtocolError, match=f"{notice} does not exist in revision 2026-07-28: "):
        permits({}, MODERN[0]).check_notice(notice)
    permits({}, LEGACY[0]).check_notice(notice)
    permits({}, MODERN[0]).check_notice("notifications/cancelled")
    permits({}, MODERN[0], to_server=False).check_notice(notice)  # a server's own
