"""The demo server "harbour": MCP with a handshake, every revision up to 2025-11-25, nothing of the stateless era.

Run it with `python -m dragoman.demo.legacy`, or as a plain file; with `--http PORT` or `--sse PORT` it listens on this machine instead.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from ._tools import COMMON, PIXEL, Tool, crash, find, page, poisoned, text
    from ._wire import INVALID_PARAMS, INVALID_REQUEST, LEVELS, Call, Cancelled, Json, RpcError, Server
else:
    from _tools import COMMON, PIXEL, Tool, crash, find, page, poisoned, text
    from _wire import INVALID_PARAMS, INVALID_REQUEST, LEVELS, Call, Cancelled, Json, RpcError, Server

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
RESOURCE_NOT_FOUND = -32002
SHIPS = {
    "Aurora": "three-masted barque, berth 2, sails on Tuesday",
    "Bonaventure": "coaster, berth 1, waiting for salt",
    "Petrel": "pilot cutter, on the roads",
}
CAPABILITY = {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}


class HarbourCall(Call):
    """A call of the handshake eras: questions to the client are requests of our own."""

    server: Harbour

    def log_level(self) -> str | None:
        return self.server.log_level

    def ask(self, key: str, method: str, params: Json) -> Json:
        too_old = method == "elicitation/create" and self.server.revision < "2025-06-18"
        if too_old or CAPABILITY[method] not in self.server.client_capabilities:
            raise RpcError(INVALID_REQUEST, f"this client does not offer {CAPABILITY[method]}")
        answer = self.server.ask_client(self, method, params)
        if "error" in answer:
            raise RpcError(INVALID_REQUEST, f"the client refused {method}: {answer['error'].get('message')}")
        return answer.get("result") or {}


class Harbour(Server):
    """The state of one conversation: what was agreed in the handshake, and the notes in the logbook."""

    name = "harbour"
    call_type = HarbourCall

    def __init__(self) -> None:
        super().__init__()
        self.revision = ""
        self.log_level: str | None = None
        self.client_capabilities: Json = {}
        self.subscribed: set[str] = set()
        self.notes = {"n1": "buy rope", "n2": "paint the hull", "n3": "pay the pilot"}
        self.tools = [*_tools(self), *COMMON]
        self._asked: dict[str, tuple[threading.Event, list[Json]]] = {}
        self.methods = {
            "initialize": self.initialize,
            "ping": lambda call: {},
            "tools/list": self.list_tools,
            "tools/call": lambda call: self.fit(find(self.tools, call.params.get("name")).call(call)),
            "resources/list": lambda call: {"resources": _RESOURCES},
            "resources/templates/list": lambda call: {"resourceTemplates": [_TEMPLATE]},
            "resources/read": self.read_resource,
            "resources/subscribe": self.subscribe,
            "resources/unsubscribe": self.unsubscribe,
            "prompts/list": lambda call: {"prompts": [_PROMPT]},
            "prompts/get": self.get_prompt,
            "completion/complete": self.complete,
            "logging/setLevel": self.set_level,
        }

    # The handshake, and what the agreed revision allows

    def initialize(self, call: Call) -> Json:
        wanted = call.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise RpcError(INVALID_PARAMS, "initialize needs protocolVersion, a string")
        self.revision = wanted if wanted in REVISIONS else REVISIONS[-1]
        self.client_capabilities = call.params.get("capabilities") or {}
        capabilities: Json = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": False},
            "prompts": {"listChanged": False},
            "logging": {},
        }
        if self.revision >= "2025-03-26":
            capabilities["completions"] = {}
        instructions = "A small harbour: look for ships, keep notes, book berths."
        info = {"name": "harbour", "version": "1.0.0"}
        return {"protocolVersion": self.revision, "capabilities": capabilities, "serverInfo": info, "instructions": instructions}

    def before(self, call: Call, method: str) -> Any:
        handler = super().before(call, method)
        if not self.revision and method not in ("initialize", "ping"):
            raise RpcError(INVALID_REQUEST, f"{method} came before initialize")
        return handler

    def fit(self, thing: Json) -> Json:
        """Leave out of a tool or a result what the agreed revision does not have yet."""
        since = {"annotations": "2025-03-26", "title": "2025-06-18", "outputSchema": "2025-06-18", "structuredContent": "2025-06-18"}
        return {key: value for key, value in thing.items() if self.revision >= since.get(key, "")}

    def list_tools(self, call: Call) -> Json:
        tools, more = page([self.fit(tool.definition) for tool in self.tools], call.params.get("cursor"))
        return {"tools": tools, **more}

    # Questions to the client

    def ask_client(self, call: Call, method: str, params: Json) -> Json:
        """Send a request of our own and wait for the answer, as long as the call that needs it is alive."""
        ours = f"harbour-{len(self._asked) + 1}"
        arrived, answers = self._asked[ours] = (threading.Event(), [])
        self.send({"id": ours, "method": method, "params": params}, call)
        while not arrived.wait(0.05):
            if call.gone.is_set():
                self.notify("notifications/cancelled", {"requestId": ours, "reason": "the call that needed it was cancelled"}, call)
                raise Cancelled
        return answers[0]

    def on_answer(self, message: Json) -> None:
        arrived, answers = self._asked.get(str(message.get("id")), (threading.Event(), []))
        answers.append(message)
        arrived.set()

    # Resources, prompts, completion, logging

    def read_resource(self, call: Call) -> Json:
        uri = str(call.params.get("uri"))
        ship = uri.removeprefix("harbour://ship/")
        if uri == "harbour://notes":
            body = "\n".join(f"{key}: {note}" for key, note in self.notes.items())
        elif uri == "harbour://flag":
            return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}]}
        elif ship in SHIPS:
            body = SHIPS[ship]
        else:
            raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": body}]}

    def subscribe(self, call: Call) -> Json:
        self.subscribed.add(str(call.params.get("uri")))
        return {}

    def unsubscribe(self, call: Call) -> Json:
        self.subscribed.discard(str(call.params.get("uri")))
        return {}

    def get_prompt(self, call: Call) -> Json:
        arguments = call.params.get("arguments") or {}
        if call.params.get("name") != "hail" or "ship" not in arguments:
            raise RpcError(INVALID_PARAMS, "the only prompt here is hail, and it needs the argument ship")
        words = f"Hail the {arguments['ship']} and ask for her cargo. Tone: {arguments.get('tone', 'polite')}."
        return {"description": "Hail a ship", "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}

    def complete(self, call: Call) -> Json:
        about = call.params.get("argument") or {}
        choices = ["gruff", "polite"] if about.get("name") == "tone" else sorted(SHIPS)
        values = [choice for choice in choices if choice.lower().startswith(str(about.get("value", "")).lower())]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    def set_level(self, call: Call) -> Json:
        level = call.params.get("level")
        if level not in LEVELS:
            raise RpcError(INVALID_PARAMS, f"no such log level: {level!r}")
        self.log_level = level
        return {}


_RESOURCES = [
    {"uri": "harbour://notes", "name": "notes", "mimeType": "text/plain"},
    {"uri": "harbour://flag", "name": "flag", "mimeType": "image/png"},
]
_TEMPLATE = {"uriTemplate": "harbour://ship/{ship}", "name": "ship", "description": "What is known of a ship", "mimeType": "text/plain"}
_PROMPT = {
    "name": "hail",
    "description": "Hail a ship",
    "arguments": [{"name": "ship", "description": "Her name", "required": True}, {"name": "tone", "required": False}],
}


def _tools(harbour: Harbour) -> list[Tool]:
    """The tools that only the harbour has; they work on its notes."""

    def search(arguments: Json, call: Call) -> Json:
        wanted = arguments["text"].lower()
        return text("\n".join(f"{name}: {what}" for name, what in SHIPS.items() if wanted in f"{name} {what}".lower()) or "no such ship")

    def weather(arguments: Json, call: Call) -> Json:
        facts = {"wind": "SW", "knots": 14, "visibility_miles": 6.5}
        return text('{"wind": "SW", "knots": 14, "visibility_miles": 6.5}') | {"structuredContent": facts}

    def changed() -> None:
        if "harbour://notes" in harbour.subscribed:
            harbour.notify("notifications/resources/updated", {"uri": "harbour://notes"})

    def add_note(arguments: Json, call: Call) -> Json:
        key = f"n{1 + max((int(known[1:]) for known in harbour.notes), default=0)}"
        harbour.notes[key] = arguments["text"]
        changed()
        return text(f"noted as {key}")

    def delete_notes(arguments: Json, call: Call) -> Json:
        missing = [key for key in arguments["ids"] if key not in harbour.notes]
        if missing:
            return text(f"nothing deleted; no such note: {', '.join(missing)}", is_error=True)
        gone = [harbour.notes.pop(key) for key in dict.fromkeys(arguments["ids"])]
        changed()
        return text("deleted: " + ", ".join(gone))

    def book_berth(arguments: Json, call: Call) -> Json:
        return text(f"berth {arguments['berth']} booked for the {arguments['ship']}, {arguments['nights']} nights")

    def read_bottle(arguments: Json, call: Call) -> Json:
        return poisoned("Found in a bottle near berth 3:")

    def ask_captain(arguments: Json, call: Call) -> Json:
        schema = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}, "required": ["name"]}
        answer = call.ask("captain", "elicitation/create", {"message": "Who is the captain?", "requestedSchema": schema})
        if answer.get("action") != "accept":
            return text(f"the captain keeps silent ({answer.get('action')})")
        return text(f"welcome, captain {(answer.get('content') or {}).get('name')}")

    def grow_tool(arguments: Json, call: Call) -> Json:
        name = f"grown_{sum(tool.name.startswith('grown_') for tool in harbour.tools) + 1}"
        harbour.tools.append(Tool(name, "Grew while you were looking.", lambda arguments, call: text(f"I am {name}"), reads=True))
        harbour.notify("notifications/tools/list_changed")
        return text(f"grew {name}")

    words = {"type": "string"}
    numbers = {"wind": words, "knots": {"type": "integer"}, "visibility_miles": {"type": "number"}}
    berth = {
        "ship": words | {"description": "Her name"},
        "berth": words | {"enum": ["north", "south", "quay"]},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30},
    }
    ids = {"ids": {"type": "array", "items": words, "minItems": 1, "description": "Such as n1"}}
    return [
        Tool("search", "Find ships by name, kind or place.", search, {"text": words}, reads=True),
        Tool(
            "weather",
            "Wind and visibility.",
            weather,
            reads=True,
            output={"type": "object", "properties": numbers, "required": list(numbers)},
        ),
        Tool("add_note", "Add a note to the logbook.", add_note, {"text": words}),
        Tool("delete_notes", "Delete notes from the logbook for good.", delete_notes, ids, destroys=True),
        Tool("book_berth", "Book a berth for a ship.", book_berth, berth),
        Tool("read_bottle", "Read the message in the bottle.", read_bottle, reads=True),
        Tool("ask_captain", "Ask the person at the client for the captain's name.", ask_captain, reads=True),
        Tool("grow_tool", "Add one more tool to this server.", grow_tool),
        Tool("sink_ship", "Try how safe the harbour is.", crash, destroys=True),
    ]


def main(arguments: list[str]) -> None:
    """Serve stdio, or `--http PORT` (sessions), or `--sse PORT` (as in 2024-11-05); port 0 takes any."""
    greeting = "harbour: open for ships"
    if len(arguments) == 2 and arguments[0] in ("--http", "--sse") and arguments[1].isdecimal():
        if TYPE_CHECKING or __package__:
            from ._http import OneStream, Sessions, serve
        else:
            from _http import OneStream, Sessions, serve

        serve((Sessions if arguments[0] == "--http" else OneStream)(Harbour), int(arguments[1]), greeting)
    elif arguments:
        sys.exit("usage: legacy.py [--http PORT | --sse PORT]")
    else:
        print(greeting, file=sys.stderr, flush=True)
        Harbour().run()


if __name__ == "__main__":
    main(sys.argv[1:])
