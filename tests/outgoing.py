"""
Holds every message that a client engine of this process sends against the schema of its connection's revision.

`tests/conftest.py` installs it for the whole run. The first `ALWAYS` messages of each kind are checked, and after those each one of a new
shape, so that a property test of thousands costs little. Methods that no revision knows, of extensions and of users, are held against
the envelope alone. tests/schemas says where the schemas come from.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import msgspec

from dragoman.protocol.actions import Action, Send
from dragoman.protocol.connection import Connection, Role
from dragoman.wire.envelope import RequestId
from dragoman.wire.revisions import ALL, LEGACY

SCHEMAS: Final = Path(__file__).parent / "schemas"
ALWAYS: Final = 200
HUGE: Final = 1 << 20  # larger ones are checked while their kind is new: 16 MB of text say no more than 1 MB
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
# Extensions use names that a revision without them defines too: the tasks extension of the stateless era.
EXTENSIONS: Final = {"2026-07-28": frozenset({"tasks/get", "tasks/update", "tasks/cancel"})}
ENVELOPE: Final = {
    "type": "object",
    "properties": {
        "jsonrpc": {"const": "2.0"},
        "id": {"type": ["string", "integer"]},
        "method": {"type": "string", "minLength": 1},
        "params": {"type": "object"},
        "result": {"type": "object"},
        "error": {"type": "object"},
    },
    "required": ["jsonrpc"],
    "additionalProperties": False,
    "oneOf": [{"required": ["method"]}, {"required": ["id", "result"]}, {"required": ["id", "error"]}],
}


class Revision:
    """The schemas of one revision, each compiled when it is first needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.whole: dict[str, Any] = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
        self.key = "$defs" if "$defs" in self.whole else "definitions"
        self._validators: dict[tuple[str, ...], Any] = {}
        elicited = self.whole[self.key].get("ElicitResult", {}).get("properties", {}).get("content")
        if elicited is not None:
            # Forms may ask for a "number"; the published JSON narrows what TypeScript calls number to integers here alone.
            text = json.dumps(elicited).replace('"integer"', '"number"')
            self.whole[self.key]["ElicitResult"]["properties"]["content"] = json.loads(text)

    def knows(self, method: str) -> bool:
        return method in self.whole["requests"] or method in self.whole["notifications"]

    def problem(self, value: Any, *names: str) -> str | None:
        """How a value differs from every one of these definitions; None where it is one of them."""
        validator = self._validators.get(names)
        if validator is None:
            choice = [{"$ref": f"#/{self.key}/{name}"} for name in names]
            schema = choice[0] if len(choice) == 1 else {"anyOf": choice}
            # In draft 7 nothing may stand beside a $ref, so that it is wrapped.
            validator = compiled({"$schema": self.whole["$schema"], "allOf": [schema], self.key: self.whole[self.key]})
            self._validators[names] = validator
        return first_error(validator, value)

    def members(self, name: str) -> set[str] | None:
        """Names of the params that a request of this kind has; None where others may be there too."""
        params = self._resolved(self.whole[self.key][name]["properties"].get("params", {}))
        return set(params["properties"]) if "properties" in params and "additionalProperties" not in params else None

    def _resolved(self, schema: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in schema:
            schema = self.whole[self.key][schema["$ref"].rpartition("/")[2]]
        return schema


def compiled(schema: Mapping[str, Any]) -> Any:
    import jsonschema_rs

    return jsonschema_rs.validator_for(dict(schema), offline=True)


def first_error(validator: Any, value: Any) -> str | None:
    for error in validator.iter_errors(value):
        place = ".".join(str(part) for part in error.instance_path)
        return f"{place or 'the message'}: {str(error.message)[:300]}"
    return None


class Outgoing:
    """What was sent, and what was wrong with it."""

    def __init__(self) -> None:
        self.complaints: list[str] = []
        self.checked: Counter[tuple[str, str]] = Counter()
        """By revision and kind: a method, `result of METHOD`, or `error`."""
        self._shapes: set[tuple[str, str, Any]] = set()
        self._revisions: dict[str, Revision] = {}
        self._envelope: Any = None
        self._asked: WeakKeyDictionary[Connection, dict[RequestId, str]] = WeakKeyDictionary()

    def install(self) -> None:
        """Look at everything that any engine of this process sends from now on."""
        actions, asked = Connection.actions, Connection._asked

        def tapped(connection: Connection) -> list[Action]:
            found = actions(connection)
            if found and connection.role is Role.CLIENT:
                for action in found:
                    if type(action) is Send:
                        self.look(connection, action.message)
            return found

        def remembered(connection: Connection, request_id: RequestId, method: str, params: Any) -> None:
            self._asked.setdefault(connection, {})[request_id] = method
            asked(connection, request_id, method, params)

        Connection.actions = tapped  # type: ignore[method-assign,assignment]  # for this process, which is a test run
        Connection._asked = remembered  # type: ignore[method-assign,assignment]  # the same

    def look(self, connection: Connection, data: bytes) -> None:
        """Take in one message of a connection."""
        agreed = connection.peer.revision if connection.peer is not None else None
        if len(data) > HUGE and sum(self.checked.values()) > ALWAYS:
            return
        if problem := self.check(data, agreed, self._asked.get(connection, {})):
            self.complaints.append(f"{problem}\n    {data[:500].decode('utf-8', 'replace')}")

    def check(self, data: bytes, agreed: str | None, asked: Mapping[RequestId, str]) -> str | None:
        """What is wrong with a message; None where nothing is, or where enough like it were right."""
        try:
            message = msgspec.json.decode(data)
        except msgspec.DecodeError:  # a number beyond 64 bits is JSON all the same
            try:
                message = json.loads(data)
            except ValueError as exc:
                return f"it is no JSON: {exc}"
        if not isinstance(message, dict):
            return "it is no object"
        method, params = message.get("method"), message.get("params")
        stated = params.get("_meta", {}).get(VERSION) if isinstance(params, dict) else None
        if agreed is not None and stated is not None and stated != agreed:
            return f"it says revision {stated}, and {agreed} was agreed on"
        name = agreed or stated or (params["protocolVersion"] if method == "initialize" and isinstance(params, dict) else LEGACY[0])
        if name not in ALL:
            return f"{name!r} is no revision that we speak"
        kind = method or ("error" if "error" in message else f"result of {asked.get(message.get('id', ''), 'nothing')}")
        self.checked[name, kind] += 1
        if self.checked[name, kind] > ALWAYS:
            shape = (name, kind, shape_of(message))
            if shape in self._shapes:
                return None
            self._shapes.add(shape)
        problem = self._held(self._revision(name), message, kind)
        return f"{kind} is not valid in revision {name}: {problem}" if problem else None

    def _held(self, revision: Revision, message: dict[str, Any], kind: str) -> str | None:
        if self._envelope is None:
            self._envelope = compiled(ENVELOPE)
        if problem := first_error(self._envelope, message):
            return problem
        if "error" in message:
            return revision.problem(message, revision.whole["error"])
        if "result" in message:
            names = revision.whole["results"].get(kind.removeprefix("result of "))
            return revision.problem(message["result"], *names) if names else None
        if not revision.knows(kind):
            elsewhere = [other for other in ALL if self._revision(other).knows(kind)]
            if elsewhere and kind not in EXTENSIONS.get(revision.name, ()):
                return f"the method is one of {', '.join(elsewhere)}"
            return None
        group = "requests" if "id" in message else "notifications"
        definition = revision.whole[group].get(kind)
        if definition is None:
            return f"it is sent as one of the {group}, and is none"
        if problem := revision.problem(message, definition):
            return problem
        known = revision.members(definition)
        strange = set(message.get("params", {})) - known - {"_meta"} if known is not None else set()
        return f"no such params: {', '.join(sorted(strange))}" if strange else None

    def _revision(self, name: str) -> Revision:
        if name not in self._revisions:
            self._revisions[name] = Revision(name)
        return self._revisions[name]


def shape_of(value: Any, depth: int = 5) -> Any:
    """What a value looks like: names of members and kinds of values, not the values."""
    if isinstance(value, dict):
        return frozenset((key, shape_of(item, depth - 1)) for key, item in value.items()) if depth else len(value)
    if isinstance(value, list):
        return frozenset(shape_of(item, depth - 1) for item in value[:20]) if depth else bool(value)
    return type(value)
