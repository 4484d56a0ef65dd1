"""Finding the era and agreeing on a revision: the first exchange of a client.

The probe (``server/discover``) goes out alone. After one second without an answer ``initialize`` is sent too, and the
first *positive* answer decides: slow modern servers answer late, and servers on some SDKs answer the probe and then
refuse ``initialize``. A server known to be modern gets ten seconds, one known to be legacy no probe at all, unless it
refuses ``initialize``. The table below says what each answer means; nothing here waits or knows the time.

    probe answered, modern revision in common  -> modern
    probe answered, only a legacy one          -> initialize with that one
    probe answered without supportedVersions   -> initialize (lenient old servers answer anything)
    probe refused with -32022                  -> again with a revision the server names, or initialize, or fail
    probe refused with -32020 or -32021        -> fail: the server is modern and will not talk to us
    probe refused otherwise                    -> initialize
    any of these, initialize sent already      -> wait for it; if it was refused too, fail
    initialize answered, revision we speak     -> legacy
    initialize answered, any other revision    -> fail
    initialize refused, probe still open       -> wait for the probe
    initialize refused, probe already refused  -> fail
    initialize refused, probe never sent       -> probe
    either lost, the other still open          -> wait for the other

Over HTTP an answer need not be a message. Then it is a refusal like any other, with a status; revisions that it lists in
plain words count. 401 and 403, a gateway's 429, 502, 503 and 504, and a connection that was refused say nothing of eras and
end it at once. There each request is answered on a stream of its own, so nobody has to guess after one second.

Source: MCP 2026-07-28 basic/transports/stdio#backward-compatibility and streamable-http#backward-compatibility.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

import msgspec
from msgspec import Raw

from dragoman.errors import ConnectFailed, DragomanError, ServerError
from dragoman.protocol.events import Peer
from dragoman.protocol.mismatch import answered, data_of, mismatch, no_revision, not_modern, refused_to_initialize, unreadable
from dragoman.protocol.refusals import Refusal, supported, versions_in
from dragoman.wire.envelope import (
    HEADER_MISMATCH,
    MISSING_CAPABILITY,
    UNSUPPORTED_VERSION,
    ErrorBody,
    RequestId,
)
from dragoman.wire.lenient import decode_leniently
from dragoman.wire.listing import Implementation
from dragoman.wire.methods import META_SERVER_INFO
from dragoman.wire.revisions import ALL, LEGACY, MODERN, Era, newest_mutual

PROBE_WAIT_S: Final = 1.0
KNOWN_WAIT_S: Final = 10.0
_MAX_VERSION_RETRIES: Final = 2


class Identity(msgspec.Struct, frozen=True):
    """Who we are and what we can do, as told to the peer.

    Attributes:
        capabilities: What we declare. Values are objects; ``{}`` means plain support.
        instructions: For the server role only.
        in_handshake: What a client declares to a legacy server, where that differs.
    """

    info: Implementation
    capabilities: Mapping[str, Any] = {}
    instructions: str | None = None
    in_handshake: Mapping[str, Any] | None = None


class HandshakeIO(Protocol):
    """What the handshake may ask of the connection it belongs to."""

    def send_handshake(self, method: str, params: Mapping[str, Any], revision: str) -> RequestId: ...
    def set_timer(self, after_s: float) -> None: ...
    def forget(self, request_id: RequestId) -> None: ...
    def agreed(self, peer: Peer) -> None: ...
    def failed(self, error: DragomanError) -> None: ...


class ClientHandshake:
    """The client's half.

    Args:
        io: The connection.
        identity: Who we are.
        revisions: What we speak here, newest first.
        known: The era that this server answered in last time, or ``None``.
        answers_each: Each request has a stream of its own that ends, so that silence means a slow server and nothing else.
    """

    def __init__(
        self,
        io: HandshakeIO,
        identity: Identity,
        *,
        revisions: tuple[str, ...] = ALL,
        known: Era | None = None,
        answers_each: bool = False,
    ) -> None:
        self._io = io
        self._identity = identity
        self._modern = tuple(r for r in MODERN if r in revisions)
        self._legacy = tuple(r for r in LEGACY if r in revisions)
        self._known = known
        self._answers_each = answers_each
        self._probe: RequestId | None = None
        self._init: RequestId | None = None
        self._init_refusal: Refusal | None = None
        self._tried_init = self._probed = False
        self._offered = self._lost = ""
        self._unreadable: DragomanError | None = None
        self._version_retries = 0
        self._done = False

    def start(self) -> None:
        """Send the first message."""
        if not self._modern or (self._known == "legacy" and self._legacy):
            self._send_initialize(self._legacy[0])
            return
        self._send_probe(self._modern[0])
        if self._legacy:
            self._io.set_timer(KNOWN_WAIT_S if self._known == "modern" or self._answers_each else PROBE_WAIT_S)

    @property
    def asked_both_ways(self) -> bool:
        """``initialize`` was sent although the server turned out to be modern: it may have switched eras on it."""
        return self._tried_init

    def on_timer(self) -> None:
        """The probe is taking long: ask the old way too, and let the first positive answer decide."""
        if not self._done and self._probe is not None and not self._tried_init:
            self._send_initialize(self._legacy[0])

    def on_result(self, request_id: RequestId, result: Raw) -> str | None:
        """An answer to one of our two requests; what of it could not be read."""
        if self._done:
            return None
        body, flaw = decode_leniently(result)
        members = body if isinstance(body, dict) else {}
        if request_id == self._probe:
            self._probe = None
            self._discovered(members)
        elif request_id == self._init:
            self._init = None
            self._initialized(members)
        return flaw

    def on_error(self, request_id: RequestId, error: ErrorBody, status: int | None = None) -> None:
        """A refusal of one of our two requests; ``status`` is HTTP's, where it was not one of success."""
        self._refused(request_id, Refusal(error.message, status=status, error=error))

    def on_unreadable(self, request_id: RequestId, reason: str, size: int | None, max_bytes: int | None = None) -> None:
        """Bytes arrived that answer one of our two requests and are no use; ``size`` and ``max_bytes`` say so of too many."""
        if self._done or request_id not in (self._probe, self._init):
            return
        if request_id == self._probe:
            self._probe, self._unreadable = None, unreadable("server/discover", reason, size, max_bytes)
            if self._legacy and not self._tried_init:
                self._send_initialize(self._legacy[0])
        else:
            self._init, self._unreadable = None, unreadable("initialize", reason, size, max_bytes)
        if self._probe is None and self._init is None:
            self._fail(self._unreadable)

    def on_lost(self, request_id: RequestId, refusal: Refusal) -> None:
        """One of our two requests will never be answered by a message, e.g. its HTTP exchange failed."""
        if self._done or request_id not in (self._probe, self._init):
            return
        if refusal.says_nothing_of_eras:
            self._fail(refusal.failure())
            return
        if refusal.status is not None:
            self._refused(request_id, refusal)
            return
        if request_id == self._probe:
            self._probe = None
            if self._legacy and not self._tried_init:
                self._send_initialize(self._legacy[0])
                return
        else:
            self._init, self._lost = None, refusal.reason
        if self._init_refusal is not None:
            self._initialize_refused(self._init_refusal)
        elif self._probe is None and self._init is None:
            self._fail(ConnectFailed(refusal.reason))

    def _refused(self, request_id: RequestId, refusal: Refusal) -> None:
        if self._done:
            return
        if request_id == self._probe:
            self._probe = None
            self._probe_refused(refusal)
        elif request_id == self._init:
            self._init = None
            self._init_refusal = refusal
            self._initialize_refused(refusal)

    # --- what each answer means ---------------------------------------------------------------------------------

    def _discovered(self, members: dict[str, Any]) -> None:
        offered = members.get("supportedVersions")
        if not isinstance(offered, list):
            self._fall_back(self._newest_legacy())
            return
        revision = newest_mutual(self._modern, offered)
        if revision is not None:
            self._agree(revision, "modern", members, _modern_info(members))
            return
        self._fall_back(newest_mutual(self._legacy, offered), theirs=offered)

    def _probe_refused(self, refusal: Refusal) -> None:
        error = refusal.error
        if error is not None and error.code in (HEADER_MISMATCH, MISSING_CAPABILITY):
            self._fail(ServerError(error.code, error.message, data_of(error), hint="the server is modern and refuses our probe"))
            return
        if error is not None and error.code == UNSUPPORTED_VERSION and (offered := supported(data_of(error))):
            revision = newest_mutual(self._modern, offered)
            if revision is not None and self._version_retries < _MAX_VERSION_RETRIES:
                self._version_retries += 1
                self._send_probe(revision)
                return
            self._fall_back(newest_mutual(self._legacy, offered), theirs=offered)
            return
        listed = _listed(refusal)
        theirs = None if self._legacy else listed or None
        self._fall_back(newest_mutual(self._legacy, listed) or self._newest_legacy(), theirs=theirs, refusal=refusal)

    def _initialized(self, members: dict[str, Any]) -> None:
        revision = members.get("protocolVersion")
        if isinstance(revision, str) and revision in self._legacy:
            self._agree(revision, "legacy", members, info_of(members.get("serverInfo")))
            return
        self._fail(answered(self._ours(), revision, self._offered) if isinstance(revision, str) else no_revision(revision))

    def _initialize_refused(self, refusal: Refusal) -> None:
        if self._probe is not None:
            return  # a slow modern server refuses this and answers the probe, in either order
        offered = _listed(refusal)
        revision = newest_mutual(self._modern, offered)
        if revision is None and not self._probed and self._modern and not offered:
            revision = self._modern[0]  # it was legacy the last time and is no longer
        if revision is not None and self._version_retries < _MAX_VERSION_RETRIES:
            self._version_retries += 1
            self._send_probe(revision)
            return
        legacy = newest_mutual(self._legacy, offered)
        if legacy is not None and legacy != self._offered and self._version_retries < _MAX_VERSION_RETRIES:
            self._version_retries += 1  # the specification wants a counter-offer here, but some servers refuse and list what they speak
            self._send_initialize(legacy)
            return
        # Where the probe was answered and could not be read, that is why we are here.
        self._fail(self._unreadable or refused_to_initialize(self._ours(), offered, refusal, self._offered))

    # --- steps --------------------------------------------------------------------------------------------------

    def _fall_back(self, revision: str | None, *, theirs: list[Any] | None = None, refusal: Refusal | None = None) -> None:
        if self._tried_init:
            if self._init_refusal is not None:
                if theirs is not None and newest_mutual(self._ours(), theirs) is None:
                    self._fail(mismatch(self._ours(), _strings(theirs), self._offered))
                else:
                    self._initialize_refused(self._init_refusal)
            elif self._init is None:
                self._fail(self._unreadable or ConnectFailed(self._lost))
            return  # otherwise its answer decides
        if revision is not None:
            self._send_initialize(revision)
        elif theirs is None:
            self._fail(not_modern(self._modern[0], refusal))
        else:
            self._fail(mismatch(self._ours(), _strings(theirs), self._modern[0]))

    def _send_probe(self, revision: str) -> None:
        self._probed = True
        self._probe = self._io.send_handshake("server/discover", {}, revision)

    def _send_initialize(self, revision: str) -> None:
        self._tried_init = True
        self._offered, self._init_refusal = revision, None
        declared = self._identity.in_handshake
        capabilities = dict(self._identity.capabilities if declared is None else declared)
        params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": self._identity.info}
        self._init = self._io.send_handshake("initialize", params, revision)

    def _agree(self, revision: str, era: Era, members: dict[str, Any], info: Implementation) -> None:
        self._done = True
        for left in (self._probe, self._init):
            if left is not None:
                self._io.forget(left)
        capabilities = members.get("capabilities")
        instructions = members.get("instructions")
        self._io.agreed(
            Peer(
                info,
                revision,
                era,
                capabilities if isinstance(capabilities, dict) else {},
                instructions if isinstance(instructions, str) else None,
            )
        )

    def _fail(self, error: DragomanError) -> None:
        self._done = True
        self._io.failed(error)

    def _ours(self) -> tuple[str, ...]:
        return self._modern + self._legacy

    def _newest_legacy(self) -> str | None:
        return self._legacy[0] if self._legacy else None


def _modern_info(members: dict[str, Any]) -> Implementation:
    meta = members.get("_meta")
    stated = meta.get(META_SERVER_INFO) if isinstance(meta, dict) else None
    return info_of(stated if stated is not None else members.get("serverInfo"))  # some put it in the body


def info_of(value: object) -> Implementation:
    """A name and version as a peer gave them; empty where it did not."""
    members = value if isinstance(value, dict) else {}
    name, version, title = members.get("name"), members.get("version"), members.get("title")
    return Implementation(
        name if isinstance(name, str) else "", version if isinstance(version, str) else "", title if isinstance(title, str) else None
    )


def _listed(refusal: Refusal) -> list[str]:
    """The revisions that a refusal names: in its data, or else in its words."""
    error = refusal.error
    return supported(data_of(error)) or versions_in(error.message) if error is not None else versions_in(refusal.body)


def _strings(values: object) -> list[str]:
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []
