"""A transcript as a server's part: what it says to what it hears. No channel, no clock; ids are those of the one who asks now.

Requests match by method and params (``_meta`` aside), each recorded one once and in order. What the server said then follows what
it followed: an answer its request, or the client's answer to a question in between; anything else the client's message before it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from dragoman.transports.transcript import Entry, Transcript

START: Final = -1
"""The cause of what a server says before it has heard anything."""

_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
_BY_METHOD_ALONE: Final = frozenset({"initialize", "server/discover", "ping"})
_METHOD_NOT_FOUND: Final = -32601
_INVALID_PARAMS: Final = -32602
_SHOWN: Final = 200


class Line(NamedTuple):
    """Something that the server says now.

    Attributes:
        data: The message, or what it was instead, as bytes without a line's end.
        owner: Index of the recorded client entry whose stream it belongs to, or ``None``.
        delay_s: How long after its cause it was said then.
        final: It answers the request of its owner.
        event_id: On a stream of events, its id.
        end: Nothing is said, but the stream of the owner ends, or where there is none, everything: how.
    """

    data: bytes
    owner: int | None
    delay_s: float
    final: bool
    event_id: str | None = None
    end: str | None = None


class Taken(NamedTuple):
    """What a message set off: which recorded entry it matched (``None``: none), and what is said."""

    entry: int | None
    lines: list[Line]


class Script:
    """The server's part of one transcript; used up as it is played.

    Args:
        transcript: As read.
        streams: Each request has a stream of its own, so that an answer with the id ``null`` finds its way; elsewhere it gets an id.
    """

    def __init__(self, transcript: Transcript, *, streams: bool = False) -> None:
        self.kind = transcript.kind
        self._null_ids = streams
        self._entries = transcript.entries
        self._requests: dict[str, list[int]] = defaultdict(list)
        self._notices: dict[str, list[int]] = defaultdict(list)
        self._answers: dict[str, int] = {}
        self._gets: list[int] = []
        self._heads: dict[int, Entry] = {}
        self._steps: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        self._used: set[int] = set()
        self._live: dict[int, dict[str, Any]] = {}
        _Index(self).run()

    # --- what is heard ----------------------------------------------------------------------------------------------

    def begin(self) -> list[Line]:
        """What the server says before it has heard anything."""
        return list(self._say(START))

    def take(self, message: Any) -> Taken:
        """What the server says to one message of the client (JSON values)."""
        if not isinstance(message, dict):
            return Taken(None, [_error(None, _INVALID_PARAMS, "one JSON object at a time, please")])
        method = message.get("method")
        if method is None:
            found = self._answers.get(_key(message.get("id")))
        elif "id" in message:
            return self._take_request(message)
        else:
            found = next((index for index in self._notices[str(method)] if index not in self._used), None)
        if found is None or found in self._used:
            return Taken(None, [])
        self._used.add(found)
        return Taken(found, list(self._say(found)))

    def take_get(self) -> Taken | None:
        """The next recorded stream for what belongs to no request; ``None``: there is none."""
        found = next((index for index in self._gets if index not in self._used), None)
        if found is None:
            return None
        self._used.add(found)
        return Taken(found, list(self._say(found)))

    def head(self, entry: int) -> dict[str, Any]:
        """How the answer to a client's entry began on HTTP: ``status``, ``content_type``, ``headers``; empty where that is not known."""
        found = self._heads.get(entry)
        return dict(found.http or {}) if found is not None else {}

    def streams(self, entry: int) -> bool:
        """Whether more than an answer belongs to this entry, so that it needs a stream."""
        owned = [index for step in self._steps.values() for index, owner in step if owner == entry and self._entries[index].end is None]
        return len(owned) > 1 or any("method" in _dict(self._entries[index].message) for index in owned)

    def is_silent(self, entry: int) -> bool:
        """Whether nothing was ever said to this entry."""
        return not any(owner == entry for step in self._steps.values() for _, owner in step)

    def _take_request(self, message: dict[str, Any]) -> Taken:
        method = str(message["method"])
        candidates = self._requests[method]
        wanted = canonical(method, message.get("params"))
        matching = [index for index in candidates if canonical(method, _dict(self._entries[index].message).get("params")) == wanted]
        found = next((index for index in matching if index not in self._used), None)
        if found is not None:
            self._used.add(found)
            self._live[found] = message
            return Taken(found, list(self._say(found)))
        if matching and (method in _BY_METHOD_ALONE or method.endswith("/list")):  # asked again, as after a new connection
            again = matching[-1]
            self._live[again] = message
            return Taken(again, [line for line in self._say(again) if line.owner == again])
        return Taken(None, [_error(message["id"], *self._why_not(method, message.get("params"), len(candidates), len(matching)))])

    @staticmethod
    def _why_not(method: str, params: Any, recorded: int, matching: int) -> tuple[int, str]:
        if not recorded:
            return _METHOD_NOT_FOUND, f"Method not found: {method} is not in this transcript"
        if matching:
            return _INVALID_PARAMS, f"replay: {method} with these params was recorded {matching} x and asked for once more"
        shown = json.dumps(_without_meta(params))[:_SHOWN]
        return _INVALID_PARAMS, f"replay: none of the {recorded} recorded {method} requests has these params: {shown}"

    # --- what is said -----------------------------------------------------------------------------------------------

    def _say(self, cause: int) -> Iterator[Line]:
        began = self._entries[cause].ms if cause >= 0 else 0.0
        for index, owner in self._steps.get(cause, ()):
            entry = self._entries[index]
            data = self._data(entry, owner)
            if entry.end is not None and data is None:
                yield Line(b"", owner, max(0.0, entry.ms - began) / 1000, True, end=entry.end)
            elif data is not None:
                final = owner is not None and "method" not in _dict(entry.message) and entry.message is not None
                yield Line(data, owner, max(0.0, entry.ms - began) / 1000, final, entry.event_id)

    def _data(self, entry: Entry, owner: int | None) -> bytes | None:
        """The bytes of an entry with the ids of now; ``None``: nobody asked to hear it."""
        if entry.message is None:
            return None if entry.text is None else _encoded(entry.text)
        message = entry.message
        live = self._live.get(owner) if owner is not None else None
        if isinstance(message, dict) and live is not None:
            params = message.get("params")
            if "method" not in message:
                if message.get("id") is not None or not self._null_ids:
                    message = {**message, "id": live.get("id")}
            elif isinstance(params, dict) and "progressToken" in params:
                token = _meta(live).get("progressToken")
                if token is None:
                    return None
                message = {**message, "params": {**params, "progressToken": token}}
            elif isinstance(params, dict) and _SUBSCRIPTION in _dict(params.get("_meta")):
                message = {**message, "params": {**params, "_meta": {**params["_meta"], _SUBSCRIPTION: live.get("id")}}}
        return _encoded(json.dumps(message, ensure_ascii=False, separators=(",", ":")))


class _Index:
    """Goes over a transcript once and notes what follows what."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._by_id: dict[str, int] = {}
        self._by_token: dict[str, int] = {}
        self._by_stream: dict[int, int] = {}
        self._cause: dict[int, int] = {}  # what further messages of this owner have to wait for
        self._asks: dict[str, int | None] = {}  # a question of the server, by id: whose it is
        self._last = self._open = START

    def run(self) -> None:
        for index, entry in enumerate(self._script._entries):
            if entry.side == "client":
                self._heard(index, entry)
            elif entry.message is None and entry.text is None and entry.http is None:
                owner = self._by_stream.get(entry.stream) if entry.stream is not None else None
                if owner is not None or entry.stream is None:
                    cause = self._last if owner is None else self._cause.get(owner, owner)
                    self._script._steps[cause].append((index, owner))
            else:
                self._said(index, entry)

    def _heard(self, index: int, entry: Entry) -> None:
        script, message = self._script, _dict(entry.message)
        if entry.stream is not None and entry.end is None:
            self._by_stream[entry.stream] = index
        if (entry.http or {}).get("method") == "GET":
            script._gets.append(index)
        elif "method" not in message:
            if "id" not in message:
                return
            key = _key(message["id"])
            script._answers[key] = index
            owner = self._asks.get(key)
            if owner is not None:
                self._cause[owner] = index
            self._open = index
        elif "id" in message:
            script._requests[str(message["method"])].append(index)
            self._by_id[_key(message["id"])] = index
            token = _meta(message).get("progressToken")
            if token is not None:
                self._by_token[_key(token)] = index
            self._open = index
        else:
            script._notices[str(message["method"])].append(index)
        self._last = index

    def _said(self, index: int, entry: Entry) -> None:
        script, message = self._script, _dict(entry.message)
        owner = self._owner(entry, message)
        if entry.http is not None and owner is not None:
            script._heads[owner] = entry
            if entry.message is None and entry.text is None:
                return
        if "method" not in message:
            cause = self._last if owner is None else self._cause.get(owner, owner)
        elif "id" in message:
            if owner is None and self._open >= 0 and entry.stream is None:
                owner = self._open_request()
            self._asks[_key(message["id"])] = owner
            cause = self._open
        elif owner is not None and "progressToken" in _dict(message.get("params")):
            cause = self._cause.get(owner, owner)
        else:
            cause = self._last
        script._steps[cause].append((index, owner))

    def _owner(self, entry: Entry, message: dict[str, Any]) -> int | None:
        if entry.stream is not None:
            return self._by_stream.get(entry.stream)
        if "method" not in message:
            return self._by_id.get(_key(message.get("id"))) if message else None
        params = _dict(message.get("params"))
        if "progressToken" in params:
            return self._by_token.get(_key(params["progressToken"]))
        subscription = _dict(params.get("_meta")).get(_SUBSCRIPTION)
        return self._by_id.get(_key(subscription)) if subscription is not None else None

    def _open_request(self) -> int | None:
        """The request that a question belongs to; asked after an answer, it belongs to the request of that question."""
        message = _dict(self._script._entries[self._open].message)
        return self._open if "method" in message else self._asks.get(_key(message.get("id")))


def canonical(method: str, params: Any) -> str:
    """What makes two requests the same one."""
    return "" if method in _BY_METHOD_ALONE else json.dumps(_without_meta(params), sort_keys=True)


def _without_meta(params: Any) -> Any:
    return {key: value for key, value in params.items() if key != "_meta"} if isinstance(params, dict) else {}


def _meta(message: dict[str, Any]) -> dict[str, Any]:
    return _dict(_dict(message.get("params")).get("_meta"))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _key(request_id: Any) -> str:
    """An id as a key: 1 and "1" are two."""
    return repr(request_id)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate goes back as JSON writes it


def _error(request_id: Any, code: int, words: str) -> Line:
    message = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": words}}
    return Line(_encoded(json.dumps(message, ensure_ascii=False, separators=(",", ":"))), None, 0.0, True)
