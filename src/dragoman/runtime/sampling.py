"""What a server may ask of a model, and what may be answered: the rules of messages that use tools.

Source: MCP 2025-11-25 and 2026-07-28 client/sampling#message-content-constraints.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from dragoman.wire.envelope import INTERNAL_ERROR, ErrorBody

MAX_A_MINUTE: Final = 60


def flaw_of_ask(params: dict[str, Any], *, tools: bool) -> str | None:
    """Why an ask is refused; ``None`` if it is not.

    Args:
        params: Of ``sampling/createMessage``.
        tools: Whether ``sampling.tools`` was declared.
    """
    if not tools and (params.get("tools") is not None or params.get("toolChoice") is not None):
        return "sampling with tools was not declared"
    messages = params.get("messages")
    if not isinstance(messages, list):
        return "messages must be a list"
    due: set[Any] = set()
    for message in messages:
        if not isinstance(message, dict):
            return "a message must be an object"
        kinds, given, asked = _blocks(message.get("content"))
        if "tool_result" in kinds and (message.get("role") != "user" or kinds != {"tool_result"}):
            return "results of tools must stand alone, in a message of the user"
        if given != due:
            return "each use of a tool must be followed by its result, and each result by none but its use"
        due = asked
    return "each use of a tool must be followed by its result" if due else None


def _blocks(content: Any) -> tuple[set[str], set[Any], set[Any]]:
    """The kinds of blocks, the uses of tools that they answer, and those they ask for."""
    blocks = [block for block in (content if isinstance(content, list) else [content]) if isinstance(block, dict)]
    kinds = {str(block.get("type")) for block in blocks}
    given = {str(block.get("toolUseId")) for block in blocks if block.get("type") == "tool_result"}
    asked = {str(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
    return kinds, given, asked


def is_answer(result: Any) -> bool:
    """Whether a handler's result is a ``CreateMessageResult``: role, model, and content, one block or several."""
    return (
        isinstance(result, dict)
        and result.get("role") in ("user", "assistant")
        and isinstance(result.get("model"), str)
        and isinstance(result.get("content"), dict | list)
    )


def fitted(result: Any, revision: str) -> Any:
    """The result as a server of ``revision`` can read it: before 2025-11-25 content is one block.

    Several blocks of text become one; with any other several the answer is an error.
    """
    if not isinstance(result, dict) or revision >= "2025-11-25" or not isinstance(blocks := result.get("content"), list):
        return result
    if len(blocks) == 1:
        return {**result, "content": blocks[0]}
    if blocks and all(isinstance(block, dict) and block.get("type") == "text" for block in blocks):
        return {**result, "content": {"type": "text", "text": "\n".join(str(block.get("text", "")) for block in blocks)}}
    return ErrorBody(INTERNAL_ERROR, f"the answer has {len(blocks)} blocks of content; revision {revision} has room for one")


class Rate:
    """How often a server may ask a model by way of us: so many times in any minute.

    A loop of tools in the handshake eras is a row of such asks, so this bounds it too.
    """

    def __init__(self, most: int = MAX_A_MINUTE) -> None:
        self._most = most
        self._times: deque[float] = deque()

    def allows(self, now: float) -> bool:
        """Whether one more at ``now`` (seconds of any clock) is within the rate; it counts if so."""
        while self._times and now - self._times[0] >= 60.0:
            self._times.popleft()
        if len(self._times) >= self._most:
            return False
        self._times.append(now)
        return True
