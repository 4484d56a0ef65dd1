"""A modern server whose tool never has enough: each answer is another input_required, with a state that counts; text "odd" gives
a resultType that nobody knows, "empty" an input_required without requests or state.

A good client stops after some rounds, says so, and treats the unknown kinds as errors of that call.
"""

from __future__ import annotations

from _base import Json, answer, argument, is_call, polite_modern, serve


def on(message: Json) -> bool:
    if not is_call(message):
        return False
    if argument(message) == "odd":
        answer(message, {"resultType": "maybe", "content": []})
    elif argument(message) == "empty":
        answer(message, {"resultType": "input_required"})
    else:
        count = int(message["params"].get("requestState") or 0) + 1
        params = {"mode": "form", "message": f"And {count}?", "requestedSchema": {"type": "object", "properties": {}}}
        ask = {"method": "elicitation/create", "params": params}
        answer(message, {"resultType": "input_required", "requestState": str(count), "inputRequests": {f"q{count}": ask}})
    return True


serve(on, polite=polite_modern)
