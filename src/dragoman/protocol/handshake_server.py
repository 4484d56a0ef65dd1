"""The server's half of the first exchange: answers ``initialize`` and ``server/discover``. It asks nothing."""

from __future__ import annotations

from typing import Any

from dragoman.protocol.events import Peer
from dragoman.protocol.handshake import Identity, info_of
from dragoman.wire.envelope import UNSUPPORTED_VERSION, ErrorBody
from dragoman.wire.methods import META_SERVER_INFO
from dragoman.wire.revisions import ALL, LEGACY, MODERN


class ServerHandshake:
    """The server's half: answers ``initialize`` and ``server/discover``.

    Args:
        identity: Who we are.
        revisions: What we speak, newest first.
    """

    def __init__(self, identity: Identity, revisions: tuple[str, ...] = ALL) -> None:
        self._identity = identity
        self.modern = tuple(r for r in revisions if r in MODERN)
        self.legacy = tuple(r for r in revisions if r in LEGACY)

    def initialize(self, params: dict[str, Any]) -> tuple[dict[str, Any] | ErrorBody, Peer | None]:
        """The result of ``initialize`` and the client it came from; an error where we speak no legacy revision."""
        wanted = params.get("protocolVersion")
        if not self.legacy:
            return ErrorBody(UNSUPPORTED_VERSION, "this server is stateless", {"supported": self.modern, "requested": wanted}), None
        revision = wanted if isinstance(wanted, str) and wanted in self.legacy else self.legacy[0]
        result: dict[str, Any] = {
            "protocolVersion": revision,
            "capabilities": dict(self._identity.capabilities),
            "serverInfo": self._identity.info,
        }
        if self._identity.instructions is not None:
            result["instructions"] = self._identity.instructions
        capabilities = params.get("capabilities")
        return result, Peer(info_of(params.get("clientInfo")), revision, "legacy", capabilities if isinstance(capabilities, dict) else {})

    def discover(self) -> dict[str, Any]:
        """The result of ``server/discover``."""
        result: dict[str, Any] = {
            "resultType": "complete",
            "supportedVersions": list(self.modern + self.legacy),
            "capabilities": dict(self._identity.capabilities),
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": {META_SERVER_INFO: self._identity.info},
        }
        if self._identity.instructions is not None:
            result["instructions"] = self._identity.instructions
        return result

    def unsupported(self, requested: object) -> ErrorBody:
        """The refusal of a modern request in a version we do not speak."""
        return ErrorBody(
            UNSUPPORTED_VERSION, "Unsupported protocol version", {"supported": list(self.modern + self.legacy), "requested": requested}
        )
