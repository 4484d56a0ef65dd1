"""Results of the wrong shape; the call's text says which: null, list, text, number, no_content, content_text, content_null, huge_number.
tools/list is well formed; the resources and prompts it declares are answered with lists where objects belong.

A good client ends just that request with a typed error that names the place, and goes on.
"""

from __future__ import annotations

from _base import Json, answer, argument, is_call, polite_legacy, serve

RESULTS: dict[str, object] = {
    "null": None,
    "list": [],
    "text": "done",
    "number": 5,
    "no_content": {},
    "content_text": {"content": "done"},
    "content_null": {"content": None, "structuredContent": None},
    "huge_number": {"content": [], "structuredContent": {"big": 10**400, "tiny": 1e-320}},
}


def on(message: Json) -> bool:
    method = message.get("method")
    if method == "initialize":
        reply = (polite_legacy(message) or {})["result"]
        answer(message, reply | {"capabilities": {"tools": {}, "resources": True, "prompts": {}, "logging": None}})
    elif method in ("resources/list", "prompts/list"):
        answer(message, [])
    elif is_call(message) and argument(message) in RESULTS:
        answer(message, RESULTS[argument(message)])
    else:
        return False
    return True


serve(on)
