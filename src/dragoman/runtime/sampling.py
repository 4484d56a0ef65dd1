"""What a server may ask of a model, and what may be answered: the rules of messages that use tools.

Source: MCP 2025-11-25 and 2026-07-28 client/sampling#message-content-constraints.
"""

from __future__ import annotations

from typing import Any


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
