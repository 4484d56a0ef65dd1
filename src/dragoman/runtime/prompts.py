"""The arguments of a prompt: text by name, and nothing else.

Source: GetPromptRequestParams of all schemas.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.errors import LocalProtocolError


def texts(arguments: Mapping[str, str] | None) -> dict[str, str]:
    """The arguments as they are sent.

    Raises:
        LocalProtocolError: One of them is no text.
    """
    found = dict(arguments or {})
    for name, value in found.items():
        if not isinstance(value, str):
            raise LocalProtocolError(f"the argument {name!r} of a prompt must be text; it is {type(value).__name__}")
    return found
