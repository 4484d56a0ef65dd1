"""In the middle of a call it asks the client five things: ping, roots/list, sampling/createMessage, elicitation/create and a method of
its own invention; the result of the call is JSON: method to what came back ({"result": ...} or {"error": code}).

A good client answers each: an empty result to ping, -32601 to what it did not offer, never silence.
"""

from __future__ import annotations

import json

from _base import Json, answer, emit, is_call, messages, polite_legacy, words

QUESTIONS: dict[str, Json] = {
    "ping": {},
    "roots/list": {},
    "sampling/createMessage": {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}], "maxTokens": 5},
    "elicitation/create": {"message": "Your name?", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}},
    "harbour/askUser": {"why": "because"},
}

inbox = messages()
for message in inbox:
    if is_call(message):
        for method, params in QUESTIONS.items():
            emit({"id": f"ask {method}", "method": method, "params": params})
        replies: Json = {}
        for reply in inbox:
            method = str(reply.get("id")).removeprefix("ask ")
            if "method" not in reply and method in QUESTIONS:
                replies[method] = {"error": reply["error"]["code"]} if "error" in reply else {"result": reply["result"]}
            if len(replies) == len(QUESTIONS):
                break
        answer(message, words(json.dumps(replies, sort_keys=True)))
    elif polite := polite_legacy(message):
        emit({"id": message["id"], **polite})
