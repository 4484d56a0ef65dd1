"""Answering what a server asks of us: ping, roots, sampling, elicitation. The second chain.

The same answers serve both eras: legacy servers send requests, modern ones put them into an ``input_required`` result.
What we did not declare is refused with -32601, never dropped.

Handlers are the user's, plain or ``async``::

    def on_elicitation(ask: Elicitation) -> ElicitationAnswer: ...
    async def on_sampling(params: dict) -> dict | None: ... # a CreateMessageResult: role, content, model; None: the person said no

What more a handler can do, it says by attributes: ``on_sampling.tools = True`` (it takes ``tools`` and ``toolChoice``),
``on_sampling.context = True``, ``on_elicitation.modes = ("form",)`` (the default is form and url).
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Raw

from dragoman.errors import LocalProtocolError
from dragoman.policy.chain import compose
from dragoman.protocol.refusals import NOT_OFFERED
from dragoman.runtime.addresses import flaw_of_url, host_of, warning_of
from dragoman.runtime.forms import flaws_of_content, flaws_of_schema, with_defaults
from dragoman.runtime.sampling import flaw_of_ask, is_answer
from dragoman.wire.envelope import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, ErrorBody
from dragoman.wire.flaw import Flaw
from dragoman.wire.revisions import Era

log = logging.getLogger("dragoman")

DECLINED: Final = -1
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"


class Elicitation(msgspec.Struct, frozen=True):
    """A server wants to know something from a person. ``message`` is untrusted text.

    Attributes:
        mode: ``form`` wants values, ``url`` wants the person to go somewhere.
        schema: What the answer must look like (form mode): a flat JSON Schema object.
        url: Where the person should go (url mode): http or https. Show it whole, with its ``host``, and ask before it is
            opened; Dragoman never opens it.
        server: Who asks, as it is called here.
    """

    message: str
    mode: Literal["form", "url"] = "form"
    schema: dict[str, Any] | None = None
    url: str | None = None
    server: str = ""

    @property
    def host(self) -> str | None:
        """Whose address ``url`` is; letters outside ASCII as they travel (``xn--``)."""
        return host_of(self.url)

    @property
    def warning(self) -> str | None:
        """What of ``url`` a person should look at twice, in words, or ``None``."""
        return warning_of(self.url)

    def problems(self, content: dict[str, Any]) -> list[Flaw]:
        """What of an answer would not be sent, because it does not fit ``schema``; defaults are filled in first."""
        return flaws_of_content(self.schema, with_defaults(self.schema, content))


class ElicitationAnswer(msgspec.Struct, frozen=True):
    """What the person said: ``accept``, ``decline`` (a no) or ``cancel`` (no answer).

    Attributes:
        content: With ``accept`` in form mode: the values by name; defaults of the schema are filled in. What does not fit
            the schema is not sent: the server gets an error instead.
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
        self._roots = None if roots is None else _checked(roots)
        self._on_sampling = on_sampling
        self._on_elicitation = on_elicitation
        self._chain: AskNext = compose(layers, self._answer)

    def capabilities(self) -> dict[str, Any]:
        """What we declare: only what somebody is there to answer."""
        declared: dict[str, Any] = {}
        if self._roots is not None:
            declared["roots"] = {}
        if self._on_sampling is not None:
            declared["sampling"] = {name: {} for name in ("tools", "context") if getattr(self._on_sampling, name, False)}
        if self._on_elicitation is not None:
            declared["elicitation"] = {mode: {} for mode in self._modes()}
        return declared

    def handshake_capabilities(self) -> dict[str, Any]:
        """The same for revisions that are told when the roots change."""
        declared = self.capabilities()
        if self._roots is not None:
            declared["roots"] = {"listChanged": True}
        return declared

    def _modes(self) -> tuple[str, ...]:
        modes = tuple(getattr(self._on_elicitation, "modes", ("form", "url")))
        return modes or ("form",)

    def set_roots(self, roots: Roots) -> None:
        """Show other folders from now on.

        Raises:
            LocalProtocolError: None were declared when the connection was made; one is no folder.
        """
        if self._roots is None:
            raise LocalProtocolError("roots were not declared", hint="pass roots=[] when the client is made")
        self._roots = _checked(roots)

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
        answer = await self._chain(Ask(server, method, params, era))
        meta = params.get("_meta")
        if isinstance(answer, dict) and isinstance(meta, dict) and RELATED_TASK in meta:
            # 2025-11-25: whatever belongs to a task says so, our answers too.
            answer = {**answer, "_meta": {**(answer.get("_meta") or {}), RELATED_TASK: meta[RELATED_TASK]}}
        return answer

    async def _answer(self, ask: Ask) -> Answer:
        match ask.method:
            case "ping":
                return {}
            case "roots/list" if self._roots is not None:
                return {"roots": [_root(item) for item in await _call(self._roots)]}
            case "sampling/createMessage" if self._on_sampling is not None:
                return await self._sample(self._on_sampling, ask.params)
            case "elicitation/create" if self._on_elicitation is not None:
                return await self._elicit(self._on_elicitation, ask)
        return ErrorBody(METHOD_NOT_FOUND, f"{NOT_OFFERED} {ask.method[:80]}")

    async def _sample(self, handler: Callable[[dict[str, Any]], Any], params: dict[str, Any]) -> Answer:
        flaw = flaw_of_ask(params, tools=bool(getattr(handler, "tools", False)))
        if flaw is not None:
            return ErrorBody(INVALID_PARAMS, flaw)
        answer = await _call(handler, params)
        if answer is None:
            return ErrorBody(DECLINED, "the user declined")
        if not is_answer(answer):
            return ErrorBody(INTERNAL_ERROR, "the handler gave no message with role, content and model")
        return answer

    async def _elicit(self, handler: Callable[[Elicitation], Any], ask: Ask) -> Answer:
        params = ask.params
        message, schema, url, mode = params.get("message"), params.get("requestedSchema"), params.get("url"), params.get("mode") or "form"
        if mode not in self._modes():
            return ErrorBody(INVALID_PARAMS, f"elicitation in mode {str(mode)[:20]!r} was not declared")
        if not isinstance(message, str) or (mode == "url") != isinstance(url, str):
            return ErrorBody(INVALID_PARAMS, "an elicitation needs a message, and a url exactly in url mode")
        if isinstance(url, str):
            if (why := flaw_of_url(url)) is not None:
                log.warning("%s wants a person to go to an address that is not shown: %s", ask.server, why)
                return ErrorBody(INVALID_PARAMS, f"the url is not shown: {why}")
        elif flaws := flaws_of_schema(schema):
            log.warning("%s sent a form that is not shown: %s", ask.server, flaws[0])
            return ErrorBody(INVALID_PARAMS, f"the form is not shown: {flaws[0]}")
        form = schema if isinstance(schema, dict) and mode == "form" else None
        answer = await _call(handler, Elicitation(message, "url" if mode == "url" else "form", form, url, ask.server))
        if not isinstance(answer, ElicitationAnswer):
            return ErrorBody(INTERNAL_ERROR, "the handler gave no ElicitationAnswer")
        result: dict[str, Any] = {"action": answer.action}
        if answer.action == "accept" and mode == "form":
            content = result["content"] = with_defaults(form, answer.content or {})
            if problems := flaws_of_content(form, content):
                log.warning("the answer to the form of %s is not sent: %s", ask.server, "; ".join(map(str, problems[:5])))
                return ErrorBody(INTERNAL_ERROR, f"the answer does not fit the form: {problems[0]}")
        return result


def _checked(roots: Roots) -> Roots:
    if not callable(roots):
        if isinstance(roots, str) or not isinstance(roots, Iterable):
            raise LocalProtocolError(f"roots must be a list of folders or file:// URIs, got {roots!r:.80}")
        for item in roots:
            uri = _root(item)["uri"]
            if not os.path.isdir(unquote(urlsplit(uri).path)):
                log.warning("the root %.200s is no folder here; servers are told of it all the same", uri)
    return roots


def _root(item: str | Path) -> dict[str, str]:
    uri = item if isinstance(item, str) and "://" in item else Path(item).absolute().as_uri()
    if not uri.startswith("file://"):
        raise LocalProtocolError(f"{uri[:200]!r} cannot be a root: roots are folders, or file:// URIs")
    return {"uri": uri, "name": uri.rstrip("/").rsplit("/", 1)[-1]}


async def _call(handler: Any, *args: Any) -> Any:
    value = handler(*args) if callable(handler) else handler
    return await value if inspect.isawaitable(value) or isinstance(value, asyncio.Future) else value
