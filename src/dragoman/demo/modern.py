"""The demo server "bazaar": stateless MCP of 2026-07-28 and nothing older; every request stands alone.

Run it with `python -m dragoman.demo.modern`, or as a plain file; with `--http PORT` it listens on this machine instead.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from ._tools import COMMON, PIXEL, Tool, crash, find, page, poisoned, text
    from ._wire import INVALID_PARAMS, Call, Json, RpcError, Server
else:
    from _tools import COMMON, PIXEL, Tool, crash, find, page, poisoned, text
    from _wire import INVALID_PARAMS, Call, Json, RpcError, Server

REVISION = "2026-07-28"
MISSING_CAPABILITY, UNSUPPORTED_VERSION = -32021, -32022
META = "io.modelcontextprotocol/"
WARES = {
    "carpet": (90, "red, two ells"),
    "lamp": (12, "brass, a little dented"),
    "saffron": (30, "one ounce"),
    "teapot": (18, "blue glaze"),
}
CACHED = {"ttlMs": 60000, "cacheScope": "public"}
NOT_CACHED = {"ttlMs": 0, "cacheScope": "private"}
CAPABILITY: dict[str, Json] = {
    "elicitation/create": {"elicitation": {"form": {}}},
    "sampling/createMessage": {"sampling": {}},
    "roots/list": {"roots": {}},
}


class InputRequired(Exception):
    """The call cannot go on before the client has answered something."""

    def __init__(self, result: Json) -> None:
        super().__init__()
        self.result = result


class BazaarCall(Call):
    """A call of the stateless era: a question ends this request, and the next one brings the answer together with all earlier ones."""

    def log_level(self) -> str | None:
        return self.meta.get(META + "logLevel")

    def ask(self, key: str, method: str, params: Json) -> Json:
        declared = self.meta.get(META + "clientCapabilities", {})
        needed = CAPABILITY[method]
        if not needed.keys() <= declared.keys():
            raise RpcError(MISSING_CAPABILITY, f"this needs the client capability {', '.join(needed)}", {"requiredCapabilities": needed})
        answers = self.answers()
        if key in answers:
            return answers[key] or {}
        state = "bazaar/1 " + json.dumps(self.answers(), sort_keys=True)
        request = {"method": method} | ({"params": params} if params else {})
        raise InputRequired({"resultType": "input_required", "inputRequests": {key: request}, "requestState": state})

    def answers(self) -> Json:
        """What the client has answered so far: the earlier rounds from requestState, the last one from inputResponses."""
        state, given = self.params.get("requestState"), self.params.get("inputResponses")
        if state is None and given is None:
            return {}
        try:
            return dict(json.loads(str(state).removeprefix("bazaar/1 "))) | dict(given or {})
        except (TypeError, ValueError):
            raise RpcError(INVALID_PARAMS, "a retry needs inputResponses and the requestState that was given, unchanged") from None


class Bazaar(Server):
    """The stall: its tools, and who listens for changes. Nothing is remembered about a client."""

    name = "bazaar"
    call_type = BazaarCall
    slow_methods = frozenset({"tools/call", "prompts/get"})

    def __init__(self) -> None:
        super().__init__()
        self.basket: list[str] = []
        self.listeners: list[tuple[Call, Json]] = []
        self.tools = [*_tools(self), *COMMON]
        self.methods = {
            "server/discover": self.discover,
            "tools/list": self.list_tools,
            "tools/call": lambda call: self.or_ask(call, find(self.tools, call.params.get("name")).call),
            "resources/list": lambda call: {"resources": _RESOURCES, **CACHED},
            "resources/templates/list": lambda call: {"resourceTemplates": [_TEMPLATE], **CACHED},
            "resources/read": self.read_resource,
            "prompts/list": lambda call: {"prompts": [_PROMPT], **CACHED},
            "prompts/get": lambda call: self.or_ask(call, self.get_prompt),
            "completion/complete": self.complete,
            "subscriptions/listen": self.listen,
        }

    # What the era wants of every request and every result

    def before(self, call: Call, method: str) -> Any:
        if method == "initialize":
            raise _unsupported(call.params.get("protocolVersion"))
        version = call.meta.get(META + "protocolVersion")
        if not isinstance(version, str) or not isinstance(call.meta.get(META + "clientCapabilities"), dict):
            raise RpcError(INVALID_PARAMS, f"{method} needs params._meta with {META}protocolVersion and {META}clientCapabilities")
        if version != REVISION:
            raise _unsupported(version)
        return super().before(call, method)

    def finish(self, result: Json) -> Json:
        mine = {META + "serverInfo": {"name": "bazaar", "version": "1.0.0"}}
        return {"resultType": "complete"} | result | {"_meta": {**mine, **result.get("_meta", {})}}

    def or_ask(self, call: Call, handler: Any) -> Json:
        try:
            return dict(handler(call))
        except InputRequired as question:
            return question.result

    def discover(self, call: Call) -> Json:
        capabilities: Json = {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True},
            "prompts": {},
            "completions": {},
            "logging": {},
        }
        instructions = "A bazaar: look for wares, haggle, order."
        return {"supportedVersions": [REVISION], "capabilities": capabilities, "instructions": instructions, **CACHED}

    def list_tools(self, call: Call) -> Json:
        tools, more = page([tool.definition for tool in self.tools], call.params.get("cursor"))
        return {"tools": tools, **more, **NOT_CACHED}

    # Subscriptions: one request that stays open and carries what changes

    def listen(self, call: Call) -> None:
        wanted = call.params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "subscriptions/listen needs notifications, an object")
        agreed = {key: value for key, value in wanted.items() if value and key in ("toolsListChanged", "resourceSubscriptions")}
        self.listeners.append((call, agreed))
        meta = {META + "subscriptionId": call.request_id}
        self.notify("notifications/subscriptions/acknowledged", {"_meta": meta, "notifications": agreed}, call)

    def tell(self, method: str, key: str, uri: str = "") -> None:
        """Send a change to everyone who listens for it, under the id of their subscription."""
        for call, agreed in self.listeners:
            if not call.gone.is_set() and (uri in agreed[key] if uri and key in agreed else agreed.get(key)):
                self.notify(method, {"_meta": {META + "subscriptionId": call.request_id}} | ({"uri": uri} if uri else {}), call)

    # Resources, prompts, completion

    def read_resource(self, call: Call) -> Json:
        uri = str(call.params.get("uri"))
        ware = uri.removeprefix("bazaar://ware/")
        if uri == "bazaar://basket":
            body = "\n".join(self.basket) or "empty"
        elif uri == "bazaar://sign":
            return {"contents": [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}], **CACHED}
        elif ware in WARES:
            body = f"{ware}, {WARES[ware][1]}: {WARES[ware][0]} dinar"
        else:
            raise RpcError(INVALID_PARAMS, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": body}], **NOT_CACHED}

    def get_prompt(self, call: Call) -> Json:
        arguments = call.params.get("arguments") or {}
        if call.params.get("name") != "praise" or "ware" not in arguments:
            raise RpcError(INVALID_PARAMS, "the only prompt here is praise, and it needs the argument ware")
        words = f"Praise the {arguments['ware']} in {arguments.get('style', 'plain')} words."
        return {"description": "Praise a ware", "messages": [{"role": "user", "content": {"type": "text", "text": words}}]}

    def complete(self, call: Call) -> Json:
        about = call.params.get("argument") or {}
        choices = ["flowery", "plain"] if about.get("name") == "style" else sorted(WARES)
        values = [choice for choice in choices if choice.startswith(str(about.get("value", "")).lower())]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}


def _unsupported(requested: Any) -> RpcError:
    data = {"supported": [REVISION], "requested": str(requested)}
    return RpcError(UNSUPPORTED_VERSION, f"Unsupported protocol version: {requested} (supported: {REVISION})", data)


_RESOURCES = [
    {"uri": "bazaar://basket", "name": "basket", "mimeType": "text/plain"},
    {"uri": "bazaar://sign", "name": "sign", "mimeType": "image/png"},
]
_TEMPLATE = {"uriTemplate": "bazaar://ware/{ware}", "name": "ware", "description": "A ware and its price", "mimeType": "text/plain"}
_PROMPT = {
    "name": "praise",
    "description": "Praise a ware",
    "arguments": [{"name": "ware", "description": "Its name", "required": True}, {"name": "style", "required": False}],
}


def _tools(bazaar: Bazaar) -> list[Tool]:
    """The tools that only the bazaar has."""

    def search(arguments: Json, call: Call) -> Json:
        wanted = arguments["text"].lower()
        found = [f"{ware}, {what}: {price} dinar" for ware, (price, what) in WARES.items() if wanted in f"{ware} {what}"]
        return text("\n".join(found) or "no such ware")

    def price(arguments: Json, call: Call) -> Json:
        each = WARES[arguments["ware"]][0]
        return text(f"{each} dinar") | {"structuredContent": {"ware": arguments["ware"], "dinar": each}}

    def add_to_basket(arguments: Json, call: Call) -> Json:
        bazaar.basket.append(arguments["ware"])
        bazaar.tell("notifications/resources/updated", "resourceSubscriptions", "bazaar://basket")
        return text(f"{len(bazaar.basket)} in the basket")

    def send_message(arguments: Json, call: Call) -> Json:
        return text(f"sent to {', '.join(arguments['to'])}: {arguments['text']}")

    def order(arguments: Json, call: Call) -> Json:
        quantity = arguments["quantity"]
        wrapped = ", wrapped as a gift" if arguments.get("gift") else ""
        return text(f"ordered {quantity} x {arguments['ware']} for {quantity * WARES[arguments['ware']][0]} dinar{wrapped}")

    def read_reviews(arguments: Json, call: Call) -> Json:
        return poisoned(f"Reviews of the {arguments['ware']}: five stars.")

    def haggle(arguments: Json, call: Call) -> Json:
        ware = arguments["ware"]
        number = {"type": "object", "properties": {"dinar": {"type": "integer", "minimum": 1}}, "required": ["dinar"]}
        offer = call.ask(
            "offer", "elicitation/create", {"mode": "form", "message": f"Your offer for the {ware}?", "requestedSchema": number}
        )
        if offer.get("action") != "accept":
            return text("no deal")
        dinar = (offer.get("content") or {}).get("dinar")
        agree = {"type": "object", "properties": {"agree": {"type": "boolean"}}, "required": ["agree"]}
        last = call.ask(
            "last", "elicitation/create", {"mode": "form", "message": f"{dinar} dinar, your last word?", "requestedSchema": agree}
        )
        agreed = last.get("action") == "accept" and (last.get("content") or {}).get("agree")
        return text(f"sold for {dinar} dinar" if agreed else "no deal")

    def grow_tool(arguments: Json, call: Call) -> Json:
        name = f"grown_{sum(tool.name.startswith('grown_') for tool in bazaar.tools) + 1}"
        bazaar.tools.append(Tool(name, "Grew while you were looking.", lambda arguments, call: text(f"I am {name}"), reads=True))
        bazaar.tell("notifications/tools/list_changed", "toolsListChanged")
        return text(f"grew {name}")

    words = {"type": "string"}
    ware = words | {"enum": sorted(WARES)}
    amount = {"type": "integer", "minimum": 1, "maximum": 20}
    priced = {"type": "object", "properties": {"ware": words, "dinar": {"type": "integer"}}, "required": ["ware", "dinar"]}
    letter = {"to": {"type": "array", "items": words, "minItems": 1}, "text": words}
    return [
        Tool("search", "Find wares by name or look.", search, {"text": words}, reads=True),
        Tool("price", "What a ware costs.", price, {"ware": ware}, reads=True, output=priced),
        Tool("add_to_basket", "Put a ware into the basket.", add_to_basket, {"ware": ware}),
        Tool("send_message", "Send a message to merchants; it cannot be called back.", send_message, letter, destroys=True),
        Tool("order", "Order a ware.", order, {"ware": ware, "quantity": amount, "gift": {"type": "boolean", "default": False}}),
        Tool("read_reviews", "What others say about a ware.", read_reviews, {"ware": ware}, reads=True),
        Tool("haggle", "Agree on a price with the person at the client, in two rounds.", haggle, {"ware": ware}),
        Tool("grow_tool", "Add one more tool to this server.", grow_tool),
        Tool("burn_stall", "Try how safe the bazaar is.", crash, destroys=True),
    ]


def main(arguments: list[str]) -> None:
    """Serve stdio, or `--http PORT`; port 0 takes any."""
    greeting = "bazaar: open for trade"
    if len(arguments) == 2 and arguments[0] == "--http" and arguments[1].isdecimal():
        if TYPE_CHECKING or __package__:
            from ._http import Stateless, serve
        else:
            from _http import Stateless, serve

        serve(Stateless(Bazaar()), int(arguments[1]), greeting)
    elif arguments:
        sys.exit("usage: modern.py [--http PORT]")
    else:
        print(greeting, file=sys.stderr, flush=True)
        Bazaar().run()


if __name__ == "__main__":
    main(sys.argv[1:])
