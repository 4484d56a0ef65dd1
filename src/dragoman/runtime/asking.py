"""Answering what a server asks of us: ping, roots, sampling, elicitation. The second chain.

The same answers serve both eras: legacy servers send requests, modern ones put them into an ``input_required`` result.
What we did not declare is refused with -32601, never dropped.

Handlers are the user's, plain or ``async``::

    def on_elicitation(ask: Elicitation) -> ElicitationAnswer: ...
    async def on_sampling(params: dict) -> dict: ...        # a CreateMessageResult: role, content, model
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Raw

from dragoman.policy.chain import compose
from dragoman.wire.envelope import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, ErrorBody
from dragoman.wire.revisions import Era


class Elicitation(msgspec.Struct, frozen=True):
    """A server wants to know something from a person. ``message`` is untrusted text.

    Attributes:
        mode: ``form`` wants values, ``url`` wants the person to go somewhere.
        schema: What the answer must look like (form mode): a flat JSON Schema object.
        url: Where the person should go (url mode).
    """

    message: str
    mode: Literal["form", "url"] = "form"
    schema: dict[str, Any] | None = None
    url: str | None = None


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """What the person said: ``accept``, ``decline`` (a no) or ``cancel`` (no answer).

    Attributes:
        content: With ``accept`` in form mode: the values by name; defaults of the schema are filled in.
    """

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] | None = None


class Ask(msgspec.Struct, frozen=True):
    """One ask, on its way through the second chain."""

    server: str
    method: str
    params: dict[str, Any]
    era: Era


Answer = Any
AskNext = Callable[[Ask], Awaitable[Answer]]
AskLayer = Callable[[Ask, AskNext], Awaitable[Answer]]
Roots = Sequence[str | Path] | Callable[[], Any]


class Asker:
    """Answers asks.

    Args:
        roots: Folders or ``file://`` URIs, or a callable that returns them; ``None`` declares no roots.
        on_sampling: Makes a message with a model.
        on_elicitation: Asks a person.
        layers: Around every ask, outermost first.
    """

    def __init__(
        self,
        *,
        roots: Roots | None = None,
        on_sampling: Callable[[dict[str, Any]], Any] | None = None,
        on_elicitation: Callable[[Elicitation], Any] | None = None,
        layers: Sequence[AskLayer] = (),
    ) -> None:
        self._roots = roots
        self._on_sampling = on_sampling
        self._on_elicitation = on_elicitation
        self._chain: AskNext = compose(layers, self._answer)

    def capabilities(self) -> dict[str, Any]:
        """What we declare: only what somebody is there to answer."""
        declared: dict[str, Any] = {}
        if self._roots is not None:
            declared["roots"] = {}
        if self._on_sampling is not None:
            declared["sampling"] = {}
        if self._on_elicitation is not None:
            declared["elicitation"] = {"form": {}, "url": {}}
        return declared

    def waits_for_a_person(self, method: str) -> bool:
        """Whether the clock of our own calls stops while this is answered."""
        return method == "elicitation/create"

    async def handle(self, server: str, method: str, params: Raw | dict[str, Any], era: Era) -> Answer:
        """The answer: a result object, or an :class:`ErrorBody`."""
        if isinstance(params, Raw):
            try:
                decoded = msgspec.json.decode(params)
            except (msgspec.DecodeError, RecursionError):
                decoded = None
            if not isinstance(decoded, dict):
                return ErrorBody(INVALID_PARAMS, "params must be an object")
            params = decoded
        return await self._chain(Ask(server, method, params, era))

    async def _answer(self, ask: Ask) -> Answer:
        match ask.method:
            case "ping":
                return {}
            case "roots/list" if self._roots is not None:
                return {"roots": [_root(item) for item in await _call(self._roots)]}
            case "sampling/createMessage" if self._on_sampling is not None:
                return await _call(self._on_sampling, ask.params)
            case "elicitation/create" if self._on_elicitation is not None:
                return await self._elicit(self._on_elicitation, ask.params)
        return ErrorBody(METHOD_NOT_FOUND, f"this client does not offer {ask.method[:80]}")

    async def _elicit(self, handler: Callable[[Elicitation], Any], params: dict[str, Any]) -> Answer:
        message, schema, url = params.get("message"), params.get("requestedSchema"), params.get("url")
        mode: Literal["form", "url"] = "url" if params.get("mode") == "url" else "form"
        if not isinstance(message, str) or (mode == "url") != isinstance(url, str):
            return ErrorBody(INVALID_PARAMS, "an elicitation needs a message, and a url exactly in url mode")
        answer = await _call(handler, Elicitation(message, mode, schema if isinstance(schema, dict) else None, url))
        if not isinstance(answer, ElicitationAnswer):
            return ErrorBody(INTERNAL_ERROR, "the handler gave no ElicitationAnswer")
        result: dict[str, Any] = {"action": answer.action}
        if answer.action == "accept" and mode == "form":
            result["content"] = with_defaults(schema if isinstance(schema, dict) else {}, answer.content or {})
        return result


def with_defaults(schema: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """The content, with what was left out filled from the schema's defaults."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return content
    defaults = {key: spec["default"] for key, spec in properties.items() if isinstance(spec, dict) and "default" in spec}
    return {**defaults, **content}


def _root(item: str | Path) -> dict[str, str]:
    uri = item if isinstance(item, str) and "://" in item else Path(item).absolute().as_uri()
    return {"uri": uri, "name": uri.rstrip("/").rsplit("/", 1)[-1]}


async def _call(handler: Any, *args: Any) -> Any:
    value = handler(*args) if callable(handler) else handler
    return await value if inspect.isawaitable(value) or isinstance(value, asyncio.Future) else value
