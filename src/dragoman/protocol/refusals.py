"""What an answer means that HTTP gave instead of the protocol: a status, perhaps a page, and versions named in plain words.

Source: MCP 2025-11-25 basic/transports#session-management and #protocol-version-header, RFC 9110 section 15.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from dragoman.errors import AuthRequired, ConnectFailed, DragomanError
from dragoman.protocol.inbound import read_strictly
from dragoman.wire.envelope import INVALID_PARAMS, METHOD_NOT_FOUND, ErrorBody, decode_error

# Statuses with which a server says that it did not act on the request: what was asked for did not happen.
#: How we refuse what a server asks and we did not declare; heard back in an answer, it is an echo.
NOT_OFFERED: Final = "this client does not offer"
TURNED_AWAY: Final = frozenset({*range(300, 400), 400, 401, 403, 404, 405, 406, 407, 411, 413, 414, 415, 417, 421, 426, 429, 431})
# Somebody in between, or a server that is busy: says nothing about the era.
_NOT_NOW: Final = frozenset({429, 502, 503, 504})
_OF_SESSIONS: Final = re.compile(r"session|not initialized|uninitialized", re.IGNORECASE)
_OF_VERSIONS: Final = re.compile(r"(?:unsupported|not supported|invalid|bad)\b.{0,60}protocol.?version", re.IGNORECASE)
_LIST: Final = re.compile(r"(?<![a-z])support(?:s|ed)\b[^0-9\n]{0,40}((?:\d{4}-\d\d-\d\d[^0-9\n]{0,8})+)", re.IGNORECASE)
_NO_CREDENTIAL: Final = "pass one, e.g. as the header Authorization: Bearer TOKEN"
_WRONG_SCOPE: Final = "the credential is known and not enough: get one with the scope that the challenge names"
# By status, and by its first digit.
_ADVICE: Final = {
    3: "if it is the right server, use the address it names as its URL",
    403: "it asks for no credential, so this is a rule of the server's, or of something before it",
    404: "is the path right? endpoints often end in /mcp or /sse",
    405: "is the path right? endpoints often end in /mcp or /sse",
    413: "the request is too large for it: send less",
    429: "it wants fewer requests: wait as long as it says, a minute where it does not, and call again",
    431: "the headers are too large for it: send fewer or shorter ones",
    503: "it is busy or down for now: wait, then call again",
    4: "it does not take the request as it is; its own words say why",
    5: "the fault is at the server or a proxy before it; their logs say more",
}
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")


class Refusal(msgspec.Struct, frozen=True):
    """How a request was turned away.

    Attributes:
        reason: One line for a person.
        status: HTTP's, or ``None`` where there was no HTTP answer at all.
        body: The first characters of an answer that was no message.
        challenge: ``WWW-Authenticate``, or ``""``.
        sent: Whether the request may have left this machine.
        hint: What to do about it, where whoever saw it knows better than the status says.
        retry_after_s: How long the server wants to be left alone, where it said so.
        error: The JSON-RPC error, where it was one.
    """

    reason: str
    status: int | None = None
    body: str = ""
    challenge: str = ""
    sent: bool = True
    hint: str = ""
    error: ErrorBody | None = None
    retry_after_s: float | None = None

    @property
    def says_nothing_of_eras(self) -> bool:
        """Credentials, a gateway, or no connection: asking in another era would get the same."""
        return self.status in (401, 403) or self.status in _NOT_NOW or not self.sent

    @property
    def wants_credential(self) -> bool:
        """It names how to say who we are, or its status means nothing else."""
        return self.status == 401 or (self.status == 403 and bool(self.challenge))

    def advice(self) -> str | None:
        """What a person can do about it."""
        if self.hint or self.status is None:
            return self.hint or None
        if self.wants_credential:
            return _WRONG_SCOPE if "insufficient_scope" in self.challenge else _NO_CREDENTIAL
        return _ADVICE.get(self.status) or _ADVICE.get(self.status // 100)

    def failure(self, what: str = "") -> DragomanError:
        """The error for a person, after which nothing more is tried; ``what`` is put before the reason."""
        if self.wants_credential:
            return AuthRequired(f"the server does not let us in: {self.reason}", hint=self.advice())
        return ConnectFailed(
            what + self.reason, status=self.status, body=self.body or None, retry_after_s=self.retry_after_s, hint=self.advice()
        )


def versions_in(text: str) -> list[str]:
    """The revisions that a refusal lists in plain words, as in ``(supported versions: 2025-06-18, 2025-03-26)``."""
    return [date for found in _LIST.findall(text[:2048]) for date in _DATE.findall(found)]


def ends_session(status: int | None, text: str) -> bool:
    """Whether a refusal means that the server does not know our session (any more); ``text`` is what it said.

    The rule is 404; servers that lost their memory also say 400 and that a session is missing or not initialized. A 400 about the
    version that was agreed on ends it too: there is nothing to do but to agree anew.
    """
    return status == 404 or (status == 400 and any(words.search(text[:1024]) for words in (_OF_SESSIONS, _OF_VERSIONS)))


def message_ends_session(status: int | None, message: bytes | bytearray) -> str | None:
    """The same for a refusal that is a JSON-RPC error: what it said, or ``None``."""
    if status not in (400, 404):
        return None
    envelope = read_strictly(message)
    if envelope is None or envelope.error is msgspec.UNSET:
        return None
    try:
        error = decode_error(envelope.error)
    except (msgspec.DecodeError, RecursionError):
        return None
    if error.code in (METHOD_NOT_FOUND, INVALID_PARAMS) or not ends_session(status, error.message):
        return None
    return error.message


def supported(data: Any) -> list[str]:
    """The revisions in the ``data`` of an error -32022."""
    offered = data.get("supported") if isinstance(data, dict) else None
    return [value for value in offered if isinstance(value, str)] if isinstance(offered, list) else []
