"""The sentences a driver ends requests and connections with: what happened, to whom, and what is known about it."""

from __future__ import annotations

from msgspec import UNSET

from dragoman.errors import (
    AuthRequired,
    CallFailed,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    InvalidResult,
    MalformedResponse,
    MaybeRan,
    ResultTooLarge,
    ServerError,
    SpawnFailed,
)
from dragoman.protocol.events import RequestLost, ResponseUnreadable
from dragoman.transports.base import Closed
from dragoman.wire.envelope import MISSING_CAPABILITY, ErrorBody, RequestId
from dragoman.wire.results import ToolResult


def _invalid(message: str, path: str, result: ToolResult) -> InvalidResult:
    return InvalidResult(message, path=path, result=result)


ToolResult.unreadable = staticmethod(_invalid)  # wire knows no errors of ours


class Failures:
    """Makes the errors of one connection.

    Args:
        label: What to call the server.

    Attributes:
        closed: How the transport ended, once it has.
        closed_here: Why we ended the connection, where it was us: what the other side did after that explains nothing.
        last_foreign: The last answer that belonged to nobody: what a request that times out was perhaps meant to get.
    """

    __slots__ = ("closed", "closed_here", "label", "last_foreign")

    def __init__(self, label: str) -> None:
        self.label = label
        self.closed: Closed | None = None
        self.closed_here: str | None = None
        self.last_foreign: str | None = None

    def no_handshake(self, timeout_s: float) -> ConnectFailed:
        """Nothing was agreed on in time."""
        return ConnectFailed(
            f"{self.label} did not answer the handshake within {timeout_s:g} s",
            hint=f"meanwhile it sent {self.last_foreign}"
            if self.last_foreign
            else "is it an MCP server? raise the timeout if it starts slowly",
        )

    def never_answered(self, reason: str) -> DragomanError:
        """It ended before anything was agreed on."""
        closed = self.closed
        if closed is None:
            return ConnectFailed(f"{self.label}: {reason}")
        if closed.exit_code is None and not closed.detail:
            return ConnectFailed(f"{self.label}: {closed.reason}")
        return SpawnFailed(
            f"{self.label} {closed.reason} before it answered",
            exit_code=closed.exit_code,
            stderr_tail=closed.detail,
            hint=f"run it by hand to see what it wants: {self.label}",
        )

    def refused(self, request_id: RequestId, error: ErrorBody, status: int | None = None) -> ServerError:
        """It answered with an error object; ``status`` is HTTP's, where that was not one of success."""
        data = None if error.data is UNSET else error.data
        hint = _missing(data) if error.code == MISSING_CAPABILITY else None
        failed = ServerError(error.code, error.message, data, server=self.label, request_id=request_id, hint=hint)
        failed.status = status
        return failed

    def lost(self, request_id: RequestId | None, reason: str, *, maybe_ran: MaybeRan, hint: str | None = None) -> ConnectionLost:
        """No answer can arrive any more; with the last words of the process, where there are any."""
        closed = self.closed
        if self.closed_here is not None and maybe_ran == "no" and request_id is None:
            why = "" if self.closed_here == "closed" else f": {self.closed_here}"
            return ConnectionLost(
                f"{self.label}: the connection was closed here{why}; nothing was sent",
                server=self.label,
                maybe_ran=maybe_ran,
                hint="a client is opened once: make a new one",
            )
        said = f"; its last words on stderr: {_last_line(closed.detail)}" if closed is not None and closed.detail.strip() else ""
        why = closed.reason if closed is not None and request_id is None else reason
        where = "" if self.label in why else f"{self.label}: "  # a transport at a URL says it itself
        return ConnectionLost(f"{where}{why}{said}", server=self.label, request_id=request_id, maybe_ran=maybe_ran, hint=hint)

    def lost_request(self, lost: RequestLost) -> DragomanError:
        """The answer to a request can no longer arrive."""
        if lost.wants_credential:
            return AuthRequired(f"{self.label} does not let us in: {lost.reason}", server=self.label, hint=lost.hint)
        failed = self.lost(lost.request_id, lost.reason, maybe_ran="perhaps" if lost.sent else "no", hint=lost.hint)
        failed.status, failed.retry_after_s = lost.status, lost.retry_after_s
        return failed

    def unreadable(self, answer: ResponseUnreadable) -> CallFailed:
        """Bytes arrived that are its answer and are no use."""
        request_id, size, limit = answer.request_id, answer.size, answer.max_bytes
        if size is None:
            message = f"the answer of {self.label} cannot be read: {answer.reason}"
            return MalformedResponse(message, server=self.label, request_id=request_id, maybe_ran="yes")
        hint = "raise the frame limit (frame_limit=, limits.frame_bytes)" if limit is None else "ask for less, or raise max_bytes"
        message = f"{answer.reason} (server {self.label})"
        return ResultTooLarge(message, size, limit, server=self.label, request_id=request_id, hint=hint)

    def expired(self, request_id: RequestId, timeout_s: float, *, sending: bool) -> CallTimeout:
        """Its deadline is over; ``sending`` where not even the request has been taken."""
        if sending:
            message = f"{self.label} does not read what is sent to it; gave up after {timeout_s:g} s"
        else:
            message = f"no answer from {self.label} within {timeout_s:g} s"
        hint = f"meanwhile it sent {self.last_foreign}" if self.last_foreign else None
        return CallTimeout(message, timeout_s, server=self.label, request_id=request_id, hint=hint)


def _missing(data: object) -> str | None:
    names = data.get("requiredCapabilities") if isinstance(data, dict) else None
    if not isinstance(names, dict | list) or not names:
        return None
    shown = ", ".join(str(name)[:80] for name in list(names)[:8])
    return f"the server needs the client capability {shown}; pass the handler that offers it"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""
