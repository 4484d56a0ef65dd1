"""The words for how a server is doing: why it is not up, when it is tried again, and which credential it does not want."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from dragoman.errors import AuthRequired, ConfigError, ConnectFailed, DragomanError, SpawnFailed, TransportError
from dragoman.transports.base import Closed


class Credential(NamedTuple):
    """Who we say we are to a server, without saying it.

    Attributes:
        mark: Differs where a value differs; nothing can be read from it.
        names: What it is called, for a person: headers and variables, never their values.
        renew: What to do to get another one accepted.
    """

    mark: str
    names: str
    renew: str


UNKNOWN: Final = Credential("", "", "")


def credential_of(read: Callable[[], Credential] | None) -> Credential:
    """The credential as it is now; a variable that is missing by now is another one."""
    if read is None:
        return UNKNOWN
    try:
        return read()
    except ConfigError as exc:
        return Credential(f"unreadable: {exc}", "", "")


def is_about_us(error: DragomanError) -> bool:
    """Whether the server does not want who we are: trying again is in vain until that is somebody else."""
    return isinstance(error, AuthRequired) or (isinstance(error, ConnectFailed) and error.status in (401, 403))


def name_credential(error: DragomanError, name: str, credential: Credential) -> None:
    """Say in ``error`` which credential was turned away, and how to renew it."""
    if isinstance(error, TransportError) and credential.names and credential.names not in error.message:
        error.message += f" (sent: {credential.names})"
        error.args = (error.message,)
    error.hint = credential.renew or f"give {name} a credential that it accepts, then: dragoman restart {name}"


def ended(name: str, reason: str, closed: Closed | None) -> DragomanError:
    """The error of a server that was up: with its exit status and its last words, where it was a program."""
    if closed is None:
        return ConnectFailed(f"{name}: {reason}", server=name)
    if closed.exit_code is None and not closed.detail:
        return ConnectFailed(f"{name}: {closed.reason}", server=name)
    return SpawnFailed(
        f"{name} {closed.reason}", exit_code=closed.exit_code, stderr_tail=closed.detail, server=name, hint=f"dragoman logs {name}"
    )


def again_in(error: DragomanError, name: str, state: str, left_s: float) -> DragomanError:
    """The error of a call that comes too soon: what is wrong with its server, and when that is looked at again."""
    text = f"{name} is {state}: {sentence(error)}; it is tried again in {max(left_s, 1.0):.0f} s, and nothing was sent"
    again: TransportError
    if isinstance(error, SpawnFailed):
        again = SpawnFailed(text, exit_code=error.exit_code, stderr_tail=error.stderr_tail, server=name, hint=error.hint)
    elif isinstance(error, ConnectFailed):
        again = ConnectFailed(text, status=error.status, body=error.body, server=name, hint=error.hint)
    else:
        return error
    again.retry_after_s, again.tried = left_s, False
    return again


def sentence(error: DragomanError) -> str:
    """What it says in one line, without the last words of a program."""
    text = error.message if isinstance(error, TransportError) else str(error)
    return text.splitlines()[0] if text else error.kind
