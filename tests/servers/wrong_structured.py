"""A tool with an outputSchema whose structuredContent breaks it; text = wrong (broken), absent (none), error (isError, none), fine.

A good client refuses `wrong` and `absent` as invalid results, keeps the words of `error`, and takes `fine`.
"""

from __future__ import annotations

from _base import ECHO, Json, answer, argument, is_call, polite_legacy, serve, words

SCHEMA = {"type": "object", "properties": {"knots": {"type": "integer"}}, "required": ["knots"]}
RESULTS: dict[str, Json] = {
    "wrong": words("fourteen") | {"structuredContent": {"knots": "fourteen"}},
    "absent": words("fourteen"),
    "error": words("the mast is gone") | {"isError": True},
    "fine": words("14") | {"structuredContent": {"knots": 14}},
}


def on(message: Json) -> bool:
    if is_call(message) and argument(message) in RESULTS:
        answer(message, RESULTS[argument(message)])
        return True
    return False


serve(on, polite=lambda message: polite_legacy(message, tools=[ECHO | {"outputSchema": SCHEMA}]))
