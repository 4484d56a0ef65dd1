"""Every way a call, a connection or a configuration can end badly, as one tree.

The first branch answers *did anything leave this machine?*, because audit, retry and budget need just that::

    DragomanError
    ├── Refused                 nothing was sent
    │   ├── UnknownTool  InvalidArguments  ApprovalDenied  ApprovalExpired  ApprovalPending
    │   └── BudgetExhausted  BreakerOpen  ToolChanged  NotAllowed
    ├── CallFailed              sent, or perhaps sent
    │   ├── ServerError  ConnectionLost  InvalidResult  ResultTooLarge  MalformedResponse
    │   └── CallTimeout
    ├── TransportError
    │   └── ConnectFailed  SpawnFailed  AuthRequired  EgressDenied
    ├── ProtocolError
    │   └── LocalProtocolError  RemoteProtocolError  VersionMismatch
    └── ConfigError

Classes store fields and build their sentence from them; a message names the thing, the value, the limit and the next step.
Fields hold what a server said as it said it; ``str()`` is escaped and cut. ``cli_exit`` is the one word of the command line here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

MaybeRan = Literal["no", "perhaps", "yes"]


class Problem(NamedTuple):
    """One thing wrong with a value: where (a JSON pointer, ``""`` for the root), and what was expected."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class DragomanError(Exception):
    """The base of everything this package raises on purpose.

    Attributes:
        hint: The next step for a person, one line, or ``None``.
        server: The configured name of the server concerned, or ``None``.
    """

    cli_exit: ClassVar[int] = 1
    hint: str | None = None
    server: str | None = None

    @property
    def kind(self) -> str:
        """The class name, as used in JSON output and audit records."""
        return type(self).__name__

    @property
    def maybe_ran(self) -> MaybeRan:
        """Whether the tool may have run at the server: nothing was sent unless a subclass says otherwise."""
        return "no"

    def __str__(self) -> str:
        return _harmless(self._sentence())

    def for_model(self) -> str:
        """A hint a model can act on: what was wrong and what to do instead, without secrets or stack traces."""
        return f"{self}\n{_harmless(self.hint, inline=True)}" if self.hint else str(self)

    def for_user(self) -> str:
        """The message for a person; the hint on a line of its own."""
        return f"{self}\nhint: {_harmless(self.hint, inline=True)}" if self.hint else str(self)

    def _sentence(self) -> str:
        """What is said, which may quote a server: ``str()`` makes it harmless and cuts it."""
        return super().__str__()


def _harmless(text: str, *, inline: bool = False) -> str:
    from dragoman.wire.escape import harmless  # which only a failure needs

    return harmless(text, inline=inline)


# --- nothing was sent -------------------------------------------------------------------------------------------


class Refused(DragomanError):
    """The call was stopped on this machine; nothing was sent.

    Args:
        reason: One sentence: what was refused and why.
        layer: The layer of the chain that refused it.
        hint: What to do instead.
    """

    cli_exit = 3

    def __init__(self, reason: str, *, layer: str = "resolve", hint: str | None = None, server: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.layer, self.hint, self.server = reason, layer, hint, server

    def _sentence(self) -> str:
        return self.reason


class UnknownTool(Refused):
    """No such server or tool, or it is switched off or held; ``hint`` has the nearest names."""


class InvalidArguments(Refused):
    """The arguments do not fit the tool's schema or a guard; ``problems`` says where and how."""

    def __init__(
        self, tool: str, problems: Sequence[Problem], *, layer: str = "validate", hint: str | None = None, server: str | None = None
    ) -> None:
        self.tool, self.problems = tool, tuple(problems)
        super().__init__(f"arguments of {tool} are not valid", layer=layer, hint=hint, server=server)

    def _sentence(self) -> str:
        return "\n".join([f"{self.reason}:", *(f"  - {problem}" for problem in self.problems)])


class ApprovalDenied(Refused):
    """A person or a rule said no, or nobody was there to say yes. ``hint`` is for the person, never for the model."""

    def for_model(self) -> str:
        """What was denied, and that the person decides: how to be allowed is none of a model's business."""
        return f"{self}\ndo not try the same call again; ask the person what they want instead"


class ApprovalExpired(Refused):
    """Nobody answered within the approval deadline."""


class ApprovalPending(Refused):
    """The question was put to somebody who answers later; ``token`` finds it again."""

    def __init__(self, reason: str, token: str, *, layer: str = "approve", hint: str | None = None, server: str | None = None) -> None:
        super().__init__(reason, layer=layer, hint=hint, server=server)
        self.token = token


class BudgetExhausted(Refused):
    """The turn, principal or server has no calls, bytes or retries left."""


class BreakerOpen(Refused):
    """The server failed too often in a row and is left alone for a while."""


class ToolChanged(Refused):
    """The tool's definition differs from the one that was pinned; it is held until a person has reviewed it."""


class NotAllowed(Refused):
    """A rule of this machine forbids the call, the server or the file."""


# --- sent, or perhaps sent --------------------------------------------------------------------------------------


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
    """The server answered with a JSON-RPC error object: its ``code``, ``message`` and ``data``, all untrusted."""

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
    """The connection ended while the answer was outstanding."""


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


# --- no connection ----------------------------------------------------------------------------------------------


class TransportError(DragomanError):
    """No connection could be made, or it may not be made."""

    cli_exit = 4

    def __init__(self, message: str, *, server: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.server, self.hint = message, server, hint

    def _sentence(self) -> str:
        return self.message


class ConnectFailed(TransportError):
    """An endpoint could not be reached, or is no MCP server.

    Args:
        status: HTTP's, where there was one.
        body: What came with it, at most 2 KB.
        retry_after_s: How long the server wants to be left alone, where it said so.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        body: str | None = None,
        retry_after_s: float | None = None,
        server: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, server=server, hint=hint)
        self.status, self.body, self.retry_after_s = status, body, retry_after_s


class SpawnFailed(TransportError):
    """A server process could not be started, or ended before it answered.

    Args:
        exit_code: The child's exit status: ``None`` if it never ran, negative for a signal.
        stderr_tail: The last lines it wrote on stderr, at most 4 KB.
    """

    def __init__(
        self,
        message: str,
        *,
        exit_code: int | None = None,
        stderr_tail: str = "",
        server: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, server=server, hint=hint)
        self.exit_code, self.stderr_tail = exit_code, stderr_tail

    def _sentence(self) -> str:
        tail = self.stderr_tail.strip()
        if not tail:
            return self.message
        return "\n".join([f"{self.message}; its last words on stderr:", *(f"  | {line}" for line in tail.splitlines()[-12:])])


class AuthRequired(TransportError):
    """The server wants a credential that is missing, expired or too weak."""


class EgressDenied(TransportError):
    """The configuration does not let this connection leave the machine."""


# --- the protocol -----------------------------------------------------------------------------------------------


class ProtocolError(DragomanError):
    """The protocol was broken, by us or by them."""

    cli_exit = 4

    def __init__(self, message: str, *, server: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.server, self.hint = message, server, hint

    def _sentence(self) -> str:
        return self.message


class LocalProtocolError(ProtocolError):
    """Our side asked for something the protocol or the negotiated capabilities do not allow; nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """The peer did something after which going on would be wrong."""


class VersionMismatch(ProtocolError):
    """No revision is spoken by both sides; ``ours`` and ``theirs`` are revision strings, newest first.

    Args:
        detail: What was asked and what was answered, where the two lists do not say it all.
    """

    def __init__(
        self, ours: Sequence[str], theirs: Sequence[str], *, detail: str = "", server: str | None = None, hint: str | None = None
    ) -> None:
        self.ours, self.theirs = tuple(ours), tuple(theirs)
        if hint is None and self.ours and self.theirs:
            hint = "upgrade the server" if max(self.theirs) < max(self.ours) else "upgrade this client"
        if not detail:
            detail = f"we speak {', '.join(self.ours)}; the server speaks {', '.join(self.theirs) or 'nothing we could read'}"
        super().__init__(f"no common protocol revision: {detail}", server=server, hint=hint)


# --- the configuration ------------------------------------------------------------------------------------------


class ConfigError(DragomanError):
    """A configuration cannot be used. ``file``, ``line`` (from 1) and ``key`` (dotted) where they are known."""

    cli_exit = 2

    def __init__(
        self, message: str, *, file: str | None = None, line: int | None = None, key: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message, self.file, self.line, self.key, self.hint = message, file, line, key, hint

    def _sentence(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        key = f"{self.key}: " if self.key else ""
        return f"{where}: {key}{self.message}" if where else f"{key}{self.message}"
