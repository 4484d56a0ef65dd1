"""Sent, or perhaps sent: calls that left this machine and brought no result."""

from __future__ import annotations

from typing import Any

from .base import DragomanError, MaybeRan


class CallFailed(DragomanError):
    """The request left this machine, or perhaps left it.

    Args:
        message: One sentence: what happened.
        server: Configured name, or the command or URL for an ad hoc connection.
        request_id: The id on the wire, where there was one.
        maybe_ran: ``no`` only if the request provably never left.
    """

    def __init__(
        self,
        message: str,
        *,
        server: str | None = None,
        request_id: int | str | None = None,
        maybe_ran: MaybeRan = "perhaps",
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.server, self.request_id, self.hint = message, server, request_id, hint
        self._maybe_ran: MaybeRan = maybe_ran

    @property
    def maybe_ran(self) -> MaybeRan:
        return self._maybe_ran

    def _sentence(self) -> str:
        return self.message


class ServerError(CallFailed):
    """The server answered with a JSON-RPC error object: its ``code``, ``message`` and ``data``, all untrusted.

    ``status`` is HTTP's, where that was not one of success.
    """

    status: int | None = None

    def __init__(
        self,
        code: int,
        message: str,
        data: Any = None,
        *,
        server: str | None = None,
        request_id: int | str | None = None,
        maybe_ran: MaybeRan = "perhaps",
        hint: str | None = None,
    ) -> None:
        super().__init__(message, server=server, request_id=request_id, maybe_ran=maybe_ran, hint=hint)
        self.code, self.data = code, data

    def _sentence(self) -> str:
        return f"server error {self.code}: {self.message}".replace("\n", "\n  | ")  # no line of it may pass for one of ours


class ConnectionLost(CallFailed):
    """The connection ended while the answer was outstanding; ``status`` is HTTP's, where there was one."""

    status: int | None = None


class InvalidResult(CallFailed):
    """The result does not fit what the protocol or the tool's ``outputSchema`` promises.

    Args:
        path: JSON pointer into the result.
        result: The result as received, for code that wants it all the same.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str = "",
        result: Any = None,
        server: str | None = None,
        request_id: int | str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, server=server, request_id=request_id, maybe_ran="yes", hint=hint)
        self.path, self.result = path, result


class ResultTooLarge(CallFailed):
    """The answer is over a size limit; the connection goes on."""


class MalformedResponse(CallFailed):
    """Bytes arrived for this request that cannot be read as an answer."""


class CallTimeout(CallFailed):
    """No answer within the deadline, ``after_s`` seconds; the server was told to stop."""

    cli_exit = 5

    def __init__(
        self,
        message: str,
        after_s: float,
        *,
        server: str | None = None,
        request_id: int | str | None = None,
        maybe_ran: MaybeRan = "perhaps",
        hint: str | None = None,
    ) -> None:
        super().__init__(message, server=server, request_id=request_id, maybe_ran=maybe_ran, hint=hint)
        self.after_s = after_s
