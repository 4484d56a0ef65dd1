"""Sent, or perhaps sent: calls that left this machine and brought no result."""

from __future__ import annotations

import re
from typing import Any, Final

from .base import DragomanError, MaybeRan

_OPEN_MODEL: Final = "whether it ran is not known: do not repeat it; look at its effect another way, or ask the person"
_OPEN_USER: Final = "it may have run: look at what it was to change before you call it again"
_INVALID_PARAMS: Final = -32602
_COMPLAINT: Final = re.compile(
    r"(?:validation|schema|invalid|missing|unknown|unexpected|required)\W+(?:\w+\W+){0,3}?(?:arguments?|param(?:eter)?s?|propert(?:y|ies)|fields?|keys?|input|error)",
    re.IGNORECASE,
)


class CallFailed(DragomanError):
    """The request left this machine, or perhaps left it.

    Args:
        message: One sentence: what happened.
        server: Configured name, or the command or URL for an ad hoc connection.
        request_id: The id on the wire, where there was one.
        maybe_ran: ``no`` only if the request provably never left.

    Attributes:
        repeatable: Running it twice is known to be the same as once: a read, or what a person called idempotent.
    """

    repeatable: bool = False

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

    @property
    def _is_open(self) -> bool:
        """Whether it is unknown if something was changed."""
        return self._maybe_ran == "perhaps" and not self.repeatable

    def _to_model(self) -> str:
        if self._maybe_ran == "yes":
            return "it ran, and its answer cannot be used: do not repeat it for the same effect; tell the person"
        if self._is_open:
            return _OPEN_MODEL
        return "use another way, or ask the person"

    def _to_user(self) -> str:
        return _OPEN_USER if self._is_open else ""


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

    @property
    def is_about_arguments(self) -> bool:
        """Whether it is the arguments that the server complains about: its code says so, or words that validators use."""
        return self.code == _INVALID_PARAMS or (-32099 <= self.code <= -32000 and _COMPLAINT.search(self.message[:2000]) is not None)

    def _to_model(self) -> str:
        if self.is_about_arguments:
            return "the server does not accept these arguments: correct them by the tool's schema, and call it again"
        return "it is the server that refuses: tell the person what it said; repeating the same call will not help"

    def _to_user(self) -> str:
        return ""  # it was answered: the server's own words say what happened

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
    """The answer is over a size limit; the connection goes on.

    Args:
        size: Bytes that came, or more.
        max_bytes: The limit of this call; ``None`` where it was that of any message on the connection.
    """

    def __init__(
        self,
        message: str,
        size: int | None = None,
        max_bytes: int | None = None,
        *,
        server: str | None = None,
        request_id: int | str | None = None,
        maybe_ran: MaybeRan = "yes",
        hint: str | None = None,
    ) -> None:
        super().__init__(message, server=server, request_id=request_id, maybe_ran=maybe_ran, hint=hint)
        self.size, self.max_bytes = size, max_bytes


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

    def _to_model(self) -> str:
        if self._maybe_ran == "no":
            return "nothing was sent: use another way, or ask the person"
        if self.repeatable:
            return "it changes nothing: try it once more, ask for less at a time, use another way, or ask the person"
        return _OPEN_MODEL
