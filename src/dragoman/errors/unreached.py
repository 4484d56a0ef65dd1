"""No connection, no common protocol, no usable configuration."""

from __future__ import annotations

from collections.abc import Sequence

from .base import DragomanError


class TransportError(DragomanError):
    """No connection could be made, or it may not be made. ``tried`` is false where that is known from before."""

    cli_exit = 4
    tried: bool = True

    def _to_model(self) -> str:
        return "the server cannot be reached: use another way, or ask the person"

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
