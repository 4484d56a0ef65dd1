"""Refused until a person has been somewhere: error -32042 of 2025-11-25, with the addresses in its data.

The handler of elicitations is asked about each, as if the server had asked; with all of them accepted, the request is sent once
more. A yes only means that the person goes there: if the server still refuses, the error says what to do.

Source: MCP 2025-11-25 client/elicitation#url-elicitation-required-error.
"""

from __future__ import annotations

from typing import Any, Final

from dragoman.errors import CallFailed, ServerError
from dragoman.runtime.session import Session
from dragoman.wire.envelope import URL_ELICITATION_REQUIRED

MAX_VISITS: Final = 10
_HINT: Final = "finish what the server wants at its address, then call again"


async def went_there(session: Session, error: CallFailed) -> bool:
    """Whether the request may be sent once more, because a person agreed to all that the server wants first."""
    if not isinstance(error, ServerError) or error.code != URL_ELICITATION_REQUIRED or session.peer.era != "legacy":
        return False
    wanted = error.data.get("elicitations") if isinstance(error.data, dict) else None
    if not isinstance(wanted, list) or not 0 < len(wanted) <= MAX_VISITS or "elicitation" not in session.asker.capabilities():
        return False
    error.hint = _HINT
    for one in wanted:
        if not isinstance(one, dict):
            return False
        params: dict[str, Any] = {**one, "mode": "url"}
        answer = await session.asker.handle(session.label, "elicitation/create", params, "legacy")
        if not isinstance(answer, dict) or answer.get("action") != "accept":
            return False
    return True


def told_what_to_do(error: CallFailed) -> CallFailed:
    """The same error, which a server gave again though the person went there."""
    if isinstance(error, ServerError) and error.code == URL_ELICITATION_REQUIRED:
        error.hint = _HINT
    return error
