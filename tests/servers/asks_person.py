"""Asks what its caller wants asked: `echo` with the params of an elicitation as JSON in `text`; the answer is the result.

With `"progress": true` among the params it says every 2 ms that it still waits. Who reads a resource or wants a prompt is asked for a name.

A good client shows a person what is asked, all of it and harmless, and sends only what they said yes to.
"""

from __future__ import annotations

import json
import threading
from typing import Any

from _base import Json, answer, argument, dumps, is_call, notify, raw, serve, words

waiting: dict[str, Any] = {}
answered = threading.Event()
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def still_waiting(token: Any) -> None:
    step = 0
    while not answered.wait(0.002):
        step += 1
        notify("notifications/progress", {"progressToken": token, "progress": step, "message": "still waiting"})


def ask(message: Json, params: Json) -> bool:
    waiting["message"] = message
    shows = params.pop("progress", False)
    raw(dumps({"id": "ask", "method": "elicitation/create", "params": params}) + "\n")
    if shows:
        waiting["thread"] = threading.Thread(target=still_waiting, args=[message["params"]["_meta"]["progressToken"]])
        waiting["thread"].start()
    return True


def on(message: Json) -> bool:
    method = message.get("method")
    if method == "initialize":
        capabilities: Json = {"tools": {}, "resources": {}, "prompts": {}}
        version = message["params"]["protocolVersion"]
        answer(
            message, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "asks_person.py", "version": "1"}}
        )
        return True
    if is_call(message, "echo"):
        return ask(message, json.loads(argument(message)))
    if method in ("resources/read", "prompts/get"):
        return ask(message, {"message": "Who wants it?", "requestedSchema": NAME})
    if message.get("id") == "ask" and method is None:
        answered.set()
        if "thread" in waiting:
            waiting["thread"].join()
        said = json.dumps(message.get("result", message.get("error")))
        question = waiting["message"]
        if question["method"] == "resources/read":
            answer(question, {"contents": [{"uri": question["params"]["uri"], "text": said}]})
        elif question["method"] == "prompts/get":
            answer(question, {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]})
        else:
            answer(question, words(said))
        return True
    return False


serve(on)
