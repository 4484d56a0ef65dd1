"""What each answer to the probe and to initialize means: every row of the table, without a loop or a clock."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from dragoman.errors import ConnectFailed, DragomanError, ServerError, VersionMismatch
from dragoman.protocol.events import Peer
from dragoman.protocol.handshake import ClientHandshake, Identity
from dragoman.protocol.handshake_server import ServerHandshake
from dragoman.protocol.refusals import Refusal
from dragoman.wire.envelope import ErrorBody, RequestId
from dragoman.wire.listing import Implementation
from dragoman.wire.revisions import ALL, LEGACY, MODERN, Era

NEW, OLD = MODERN[0], LEGACY[0]
DISCOVERED: dict[str, Any] = {"supportedVersions": [NEW], "capabilities": {"tools": {}}}


class Wire:
    """Notes what the handshake wants; ``sent`` has method and revision of each request, in order."""

    def __init__(self, revisions: tuple[str, ...] = ALL, known: Era | None = None) -> None:
        self.sent: list[tuple[str, str]] = []
        self.ids: dict[str, RequestId] = {}
        self.timers: list[float] = []
        self.forgotten: list[RequestId] = []
        self.outcome: list[Peer | DragomanError] = []
        self.handshake = ClientHandshake(self, Identity(Implementation("t", "1")), revisions=revisions, known=known)
        self.handshake.start()

    def send_handshake(self, method: str, params: Any, revision: str) -> RequestId:
        self.sent.append((method, revision))
        self.ids[method] = len(self.sent)
        return len(self.sent)

    def set_timer(self, after_s: float) -> None:
        self.timers.append(after_s)

    def forget(self, request_id: RequestId) -> None:
        self.forgotten.append(request_id)

    def agreed(self, peer: Peer) -> None:
        self.outcome.append(peer)

    def failed(self, error: DragomanError) -> None:
        self.outcome.append(error)

    def result(self, method: str, value: Any) -> Wire:
        self.handshake.on_result(self.ids[method], Raw(msgspec.json.encode(value)))
        return self

    def refuse(self, method: str, code: int, data: Any = msgspec.UNSET) -> Wire:
        self.handshake.on_error(self.ids[method], ErrorBody(code, "no", data))
        return self

    def probe(self, value: Any) -> Wire:
        return self.result("server/discover", value)

    def probe_refused(self, code: int, data: Any = msgspec.UNSET) -> Wire:
        return self.refuse("server/discover", code, data)

    def init(self, revision: str, **more: Any) -> Wire:
        return self.result("initialize", {"protocolVersion": revision, "capabilities": {}, **more})

    def init_refused(self, code: int, data: Any = msgspec.UNSET) -> Wire:
        return self.refuse("initialize", code, data)

    def slow(self) -> Wire:
        """The second is over."""
        self.handshake.on_timer()
        return self

    @property
    def peer(self) -> Peer:
        (outcome,) = self.outcome
        assert isinstance(outcome, Peer), outcome
        return outcome

    @property
    def error(self) -> DragomanError:
        (outcome,) = self.outcome
        assert isinstance(outcome, DragomanError), outcome
        return outcome


def test_probe_goes_out_alone_and_a_second_is_given() -> None:
    """MCP 2026-07-28 basic/transports/stdio#backward-compatibility."""
    wire = Wire()
    assert (wire.sent, wire.timers) == ([("server/discover", NEW)], [1.0])


def test_probe_answered_with_a_modern_revision_in_common_is_modern() -> None:
    wire = Wire().probe(DISCOVERED | {"supportedVersions": ["2099-01-01", NEW, OLD]})
    assert (wire.peer.revision, wire.peer.era, wire.peer.capabilities) == (NEW, "modern", {"tools": {}})
    assert wire.sent == [("server/discover", NEW)]


@pytest.mark.parametrize("legacy", LEGACY)
def test_probe_answered_with_a_legacy_revision_only_leads_to_initialize_with_that_one(legacy: str) -> None:
    """A dual-era server with the modern era switched off."""
    wire = Wire().probe({"supportedVersions": [legacy], "capabilities": {}})
    assert wire.sent[1:] == [("initialize", legacy)]
    assert wire.init(legacy).peer.revision == legacy


@pytest.mark.parametrize("answer", [{}, {"supportedVersions": "2026-07-28"}, [], None, {"capabilities": {"tools": {}}}])
def test_probe_answered_without_a_list_of_versions_is_legacy(answer: Any) -> None:
    """Lenient servers answer any method."""
    assert Wire().probe(answer).sent[1:] == [("initialize", OLD)]


def test_probe_answered_with_nothing_in_common_fails_and_names_both() -> None:
    error = Wire().probe({"supportedVersions": ["2099-01-01", 7]}).error
    assert isinstance(error, VersionMismatch)
    assert (error.ours, error.theirs, error.hint) == (ALL, ("2099-01-01",), "upgrade this client")


def test_probe_refused_for_its_version_is_repeated_with_one_that_the_server_names() -> None:
    """Once more, not for ever: a server may contradict itself."""
    wire = Wire()
    for _ in range(3):
        wire.probe_refused(-32022, {"supported": [NEW], "requested": "x"})
    assert wire.sent[:3] == [("server/discover", NEW)] * 3
    assert len(wire.sent) == 3
    assert isinstance(wire.error, DragomanError)


def test_probe_refused_for_its_version_by_a_server_with_legacy_only_leads_to_initialize() -> None:
    assert Wire().probe_refused(-32022, {"supported": ["2099-01-01", "2025-03-26"]}).sent[1:] == [("initialize", "2025-03-26")]


def test_probe_refused_for_its_version_with_nothing_in_common_fails() -> None:
    error = Wire().probe_refused(-32022, {"supported": ["2099-01-01"], "requested": NEW}).error
    assert isinstance(error, VersionMismatch)
    assert error.theirs == ("2099-01-01",)


@pytest.mark.parametrize("code", [-32020, -32021])
def test_probe_refused_as_only_a_modern_server_does_is_never_followed_by_initialize(code: int) -> None:
    """The code is proof of a modern server."""
    wire = Wire().probe_refused(code)
    assert isinstance(wire.error, ServerError)
    assert len(wire.sent) == 1


@pytest.mark.parametrize(("code", "data"), [(-32601, msgspec.UNSET), (-32602, None), (-32600, {}), (-32000, "x"), (-32022, msgspec.UNSET)])
def test_probe_refused_otherwise_is_legacy(code: int, data: Any) -> None:
    """-32022 without a list of versions is not the modern error."""
    assert Wire().probe_refused(code, data).sent[1:] == [("initialize", OLD)]


@pytest.mark.parametrize("legacy", LEGACY)
def test_initialize_answered_with_any_revision_we_speak_is_legacy(legacy: str) -> None:
    wire = Wire().probe_refused(-32601).init(legacy, serverInfo={"name": "s", "version": "2", "title": "S"}, instructions="do")
    assert wire.peer == Peer(Implementation("s", "2", "S"), legacy, "legacy", {}, "do")


@pytest.mark.parametrize("revision", ["2099-01-01", "1", NEW])
def test_initialize_answered_with_another_revision_fails_and_names_both(revision: str) -> None:
    error = Wire().probe_refused(-32601).init(revision).error
    assert isinstance(error, VersionMismatch)
    assert error.theirs == (revision,)


@pytest.mark.parametrize("answer", [{}, None, [], {"protocolVersion": 5}])
def test_initialize_answered_without_a_revision_is_no_mcp_server(answer: Any) -> None:
    assert isinstance(Wire().probe_refused(-32601).result("initialize", answer).error, ConnectFailed)


def test_slow_server_is_asked_the_old_way_too_and_only_once() -> None:
    wire = Wire().slow().slow()
    assert wire.sent == [("server/discover", NEW), ("initialize", OLD)]
    assert not wire.outcome


def test_slow_modern_server_refuses_initialize_and_answers_the_probe_in_either_order() -> None:
    refused = {"supported": [NEW], "requested": OLD}
    for late in (Wire().slow().init_refused(-32022, refused), Wire().slow().init_refused(-32601)):
        assert not late.outcome
        assert late.sent == [("server/discover", NEW), ("initialize", OLD)]
        assert late.probe(DISCOVERED).peer.era == "modern"
    late = Wire().slow().init_refused(-32022, refused)
    assert late.probe(DISCOVERED).peer.era == "modern"
    assert late.handshake.asked_both_ways
    early = Wire().slow().probe(DISCOVERED).init_refused(-32022, refused)
    assert early.peer.era == "modern"
    assert early.forgotten == [early.ids["initialize"]]


def test_slow_legacy_server_answers_initialize_and_the_probe_is_forgotten() -> None:
    wire = Wire().slow().init(OLD)
    assert wire.peer.era == "legacy"
    assert wire.forgotten == [wire.ids["server/discover"]]
    assert wire.probe(DISCOVERED).peer.era == "legacy"  # too late


def test_slow_server_that_refuses_the_probe_is_decided_by_initialize() -> None:
    assert Wire().slow().probe_refused(-32601).init(OLD).peer.era == "legacy"
    assert Wire().slow().probe({"supportedVersions": ["2025-06-18"]}).init("2025-06-18").peer.revision == "2025-06-18"


@pytest.mark.parametrize("probe_first", [True, False])
def test_slow_server_that_refuses_both_ends_at_once(probe_first: bool) -> None:
    """It must not wait for the deadline of the connection."""
    future = {"supported": ["2099-01-01"]}
    wire = Wire().slow()
    for method in ["server/discover", "initialize"][:: 1 if probe_first else -1]:
        wire.refuse(method, -32022, future)
    assert isinstance(wire.error, VersionMismatch)
    wire = Wire().slow()
    for method in ["server/discover", "initialize"][:: 1 if probe_first else -1]:
        wire.refuse(method, -32601)
    assert isinstance(wire.error, ServerError)
    assert "refuses to initialize: no" in str(wire.error)
    assert wire.error.maybe_ran == "no"


def test_initialize_refused_with_a_list_is_repeated_with_one_of_it() -> None:
    """Some servers refuse where the specification wants a counter-offer."""
    wire = Wire().probe_refused(-32601).init_refused(-32602, {"supported": ["2024-11-05"], "requested": OLD})
    assert wire.sent[-1] == ("initialize", "2024-11-05")
    assert wire.init("2024-11-05").peer.revision == "2024-11-05"


def test_initialize_refused_with_a_modern_list_leads_to_the_probe() -> None:
    """A remembered legacy server has become a modern one."""
    wire = Wire(known="legacy").init_refused(-32022, {"supported": [NEW], "requested": OLD})
    assert wire.sent == [("initialize", OLD), ("server/discover", NEW)]
    assert wire.probe(DISCOVERED).peer.era == "modern"


def test_initialize_refused_without_a_list_by_a_remembered_legacy_server_leads_to_the_probe() -> None:
    """What was remembered is dropped when contradicted."""
    wire = Wire(known="legacy").init_refused(-32601)
    assert wire.sent == [("initialize", OLD), ("server/discover", NEW)]
    assert isinstance(wire.probe_refused(-32601).error, ServerError)


def test_server_known_to_be_legacy_gets_no_probe() -> None:
    wire = Wire(known="legacy")
    assert (wire.sent, wire.timers) == ([("initialize", OLD)], [])
    assert wire.init(OLD).peer.era == "legacy"


def test_server_known_to_be_modern_gets_longer_before_it_is_asked_the_old_way() -> None:
    """Or a server that went back to the old era would never be connected again."""
    wire = Wire(known="modern")
    assert (wire.sent, wire.timers) == ([("server/discover", NEW)], [10.0])
    assert wire.slow().init(OLD).peer.era == "legacy"


@pytest.mark.parametrize("revision", LEGACY)
def test_pinned_legacy_revision_is_offered_without_a_probe(revision: str) -> None:
    wire = Wire((revision,))
    assert (wire.sent, wire.timers) == ([("initialize", revision)], [])
    other = next(one for one in LEGACY if one != revision)
    assert isinstance(wire.init(other).error, VersionMismatch)


def test_pinned_modern_revision_is_never_followed_by_initialize() -> None:
    wire = Wire((NEW,))
    assert (wire.sent, wire.timers) == ([("server/discover", NEW)], [])
    error = wire.probe_refused(-32601).error
    assert isinstance(error, VersionMismatch)
    assert (error.ours, error.theirs) == ((NEW,), ())
    assert f"we asked for {NEW}, the only one this client was told to speak" in str(error)
    assert "refused it with error -32601: no" in str(error)
    assert "upgrade it, or let this client speak them too" in str(error.hint)
    assert "answered without supportedVersions" in str(Wire((NEW,)).probe({}).error)
    assert isinstance(Wire((NEW,)).probe_refused(-32603).error, ConnectFailed)  # it is broken, which says nothing of what it speaks
    assert isinstance(Wire((NEW,)).probe({"supportedVersions": [OLD]}).error, VersionMismatch)


def test_lost_probe_leads_to_initialize_and_a_lost_initialize_to_the_end() -> None:
    """A transport with a stream for each request loses them one by one."""
    wire = Wire()
    wire.handshake.on_lost(wire.ids["server/discover"], Refusal("reset"))
    assert wire.sent[-1] == ("initialize", OLD)
    wire.handshake.on_lost(wire.ids["initialize"], Refusal("reset again"))
    assert str(wire.error) == "reset again"


@pytest.mark.parametrize("lost", ["server/discover", "initialize"])
def test_one_of_two_lost_leaves_the_other_to_decide(lost: str) -> None:
    wire = Wire().slow()
    wire.handshake.on_lost(wire.ids[lost], Refusal("reset"))
    assert not wire.outcome
    decided = wire.probe(DISCOVERED) if lost == "initialize" else wire.init(OLD)
    assert decided.peer.era == ("modern" if lost == "initialize" else "legacy")


def test_probe_lost_after_initialize_was_refused_ends_with_the_refusal() -> None:
    wire = Wire().slow().init_refused(-32000)
    wire.handshake.on_lost(wire.ids["server/discover"], Refusal("reset"))
    assert "refuses to initialize" in str(wire.error)


def test_name_of_a_modern_server_is_found_in_meta_or_in_the_body() -> None:
    """MCP 2026-07-28: `_meta`; some put it where initialize had it."""
    info = {"name": "m", "version": "3"}
    assert Wire().probe(DISCOVERED | {"_meta": {"io.modelcontextprotocol/serverInfo": info}}).peer.info.name == "m"
    assert Wire().probe(DISCOVERED | {"serverInfo": info}).peer.info.name == "m"
    assert Wire().probe(DISCOVERED | {"serverInfo": {"name": 5}, "_meta": []}).peer.info.name == ""


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from([*ALL, "2099-01-01", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["supportedVersions", "protocolVersion", "data"]), inner),
    max_leaves=5,
)
methods = st.sampled_from(["server/discover", "initialize"])
step = st.one_of(
    st.tuples(st.just("result"), methods, values),
    st.tuples(st.just("error"), methods, st.tuples(st.sampled_from([-32022, -32601, -32020]), values)),
    st.tuples(st.just("lost"), methods, st.none()),
    st.tuples(st.just("timer"), st.none(), st.none()),
)


@given(st.lists(step, max_size=8), st.sampled_from([None, "legacy", "modern"]))
def test_whatever_arrives_there_is_one_outcome_at_most_and_something_is_open_until_then(steps: list[Any], known: Era | None) -> None:
    """Each request gets one answer at most; then either the outcome is there or another request is under way: it never gets stuck."""
    wire = Wire(known=known)
    open_ids = set(wire.ids.values())
    for kind, method, value in steps:
        before = len(wire.sent)
        request_id = wire.ids.get(method) if method else None
        if kind == "timer":
            wire.slow()
        elif request_id in open_ids:
            open_ids.discard(request_id)
            if kind == "result":
                wire.handshake.on_result(request_id, Raw(msgspec.json.encode(value)))
            elif kind == "lost":
                wire.handshake.on_lost(request_id, Refusal("reset"))
            else:
                data = {"supported": value[1]} if isinstance(value[1], list) else value[1]
                wire.handshake.on_error(request_id, ErrorBody(value[0], "no", data))
        open_ids |= set(range(before + 1, len(wire.sent) + 1))
        assert len(wire.outcome) <= 1
        assert wire.outcome or open_ids
    assert len(wire.sent) <= 6


@pytest.mark.parametrize("wanted", [*LEGACY, NEW, "2099-01-01", None, 5])
def test_server_half_answers_with_the_wanted_revision_or_its_newest(wanted: Any) -> None:
    """MCP 2025-11-25 basic/lifecycle#version-negotiation."""
    result, peer = ServerHandshake(Identity(Implementation("s", "1"))).initialize({"protocolVersion": wanted, "clientInfo": {"name": "c"}})
    assert isinstance(result, dict)
    assert peer is not None
    assert result["protocolVersion"] == peer.revision == (wanted if wanted in LEGACY else OLD)


def test_stateless_server_half_refuses_initialize_with_its_versions() -> None:
    result, peer = ServerHandshake(Identity(Implementation("s", "1")), (NEW,)).initialize({"protocolVersion": OLD})
    assert peer is None
    assert isinstance(result, ErrorBody)
    assert (result.code, result.data["requested"]) == (-32022, OLD)
