"""Answers a read from its last good result while the server is down, marked with its age, where the configuration allows it.

What was answered so is owed: when the server is back, whoever notices it asks for the owed calls and makes them anew, and the next
turn of the same principal is told what became of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from dragoman.clock import Clock
from dragoman.errors import BreakerOpen, CallTimeout, ConnectFailed, ConnectionLost, DragomanError, SpawnFailed
from dragoman.policy.chain import Call, CallNext, Outcome, Result
from dragoman.policy.digests import arguments_sha256
from dragoman.policy.flights import Flights
from dragoman.policy.ports import Resolved
from dragoman.wire.escape import escape_inline
from dragoman.wire.span import span

MAX_ENTRIES: Final = 500
MAX_BYTES: Final = 16_000_000
#: Of one result; a larger one is not kept.
MAX_RESULT_BYTES: Final = 1_000_000
#: Calls that are made anew when a server is back, and sentences kept for the next turn, for each server or principal.
MAX_OWED: Final = 20
_DOWN: Final = (BreakerOpen, ConnectFailed, ConnectionLost, CallTimeout, SpawnFailed)

#: Principal, server, kind, name, digest of the arguments.
Key = tuple[str, str, str, str, str]


class _Kept(msgspec.Struct, frozen=True):
    result: Result
    size: int
    at: float  # since the epoch


class _Owed(msgspec.Struct, frozen=True):
    key: Key
    call: Call
    turn: str  # that got the old answer
    result: Result


class StaleAnswers:
    """The last good results, and what is owed for having used them. Used from one event loop.

    Args:
        on_back: Is told when a server answered again to which calls are owed, during the call that showed it.
    """

    def __init__(self, clock: Clock, on_back: Callable[[str], None] | None = None) -> None:
        self.on_back = on_back
        self._clock = clock
        self.removals = 0
        self._kept: OrderedDict[Key, _Kept] = OrderedDict()
        self._bytes = 0
        self._owed: dict[str, dict[Key, _Owed]] = {}
        self._being_fetched: dict[str, _Owed] = {}
        self._news: dict[str, list[tuple[str, str]]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def forget(self, server: str) -> None:
        """Forget a server that was removed; what is on its way from it is not kept either."""
        self.removals += 1
        self._owed.pop(server, None)
        for key in [key for key in self._kept if key[1] == server]:
            self._bytes -= self._kept.pop(key).size

    # --- results ------------------------------------------------------------------------------------------------

    def keep(self, key: Key, result: Result) -> None:
        """Keep a good result in place of the one before."""
        size = memoryview(result.raw_json).nbytes
        if (before := self._kept.pop(key, None)) is not None:
            self._bytes -= before.size
        if size > MAX_RESULT_BYTES:
            return
        self._kept[key] = _Kept(result, size, self._clock.now())
        self._bytes += size
        while len(self._kept) > MAX_ENTRIES or self._bytes > MAX_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size

    def find(self, key: Key, max_age_s: float) -> tuple[Result, float] | None:
        """The last good result and its age in seconds, if it is not older than that."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        age_s = max(self._clock.now() - kept.at, 0.0)
        return (kept.result, age_s) if age_s <= max_age_s else None

    # --- what is owed -------------------------------------------------------------------------------------------

    def owe(self, key: Key, call: Call, result: Result) -> None:
        """Remember that a call got an old answer."""
        owed = self._owed.setdefault(call.server, {})
        if key in owed or len(owed) < MAX_OWED:
            owed[key] = _Owed(key, msgspec.structs.replace(call, on_progress=None), call.turn, result)

    def take_owed(self, server: str, new_id: Callable[[], str]) -> list[Call]:
        """The calls to make anew, once, now that a server is back. What comes of them is told to the next turn."""
        calls = []
        for owed in self._owed.pop(server, {}).values():
            call_id = new_id()
            self._being_fetched[call_id] = owed
            old = owed.call
            calls.append(
                Call(
                    id=call_id,
                    kind=old.kind,
                    server=old.server,
                    name=old.name,
                    arguments=old.arguments,
                    principal=old.principal,
                    turn=call_id,
                    from_model=old.from_model,
                )
            )
        return calls

    def fetched(self, call: Call, outcome: Outcome) -> None:
        """Note what became of a call of :meth:`take_owed`, for the next turn; others are ignored."""
        owed = self._being_fetched.pop(call.id, None)
        if owed is None:
            return
        what = f"{escape_inline(owed.call.full_name)}, which was answered with an old result while its server was down"
        if "stale" in outcome.labels:
            self._owed.setdefault(owed.call.server, {})[owed.key] = owed  # it is down again
            return
        if outcome.error is not None:
            text = f"{what}, fails now: {escape_inline(outcome.error.kind)}"
        elif outcome.result is not None and _same(outcome.result, owed.result):
            text = f"{what}, gives the same answer now"
        else:
            text = f"{what}, gives another answer now: call it again"
        news = self._news.setdefault(owed.call.principal, [])
        if len(news) < MAX_OWED:
            news.append((owed.turn, text))

    def take_news(self, principal: str, turn: str) -> list[str]:
        """The sentences for this turn, once: those about answers that an earlier turn got."""
        news = self._news.get(principal)
        if not news:
            return []
        told = [text for about, text in news if about != turn]
        left = [(about, text) for about, text in news if about == turn]
        if left:
            self._news[principal] = left
        else:
            del self._news[principal]
        return told

    def is_fetching(self, call: Call) -> bool:
        """Whether a call is one of :meth:`take_owed`."""
        return call.id in self._being_fetched

    @property
    def has_news(self) -> bool:
        """Whether there is something to tell to anybody."""
        return bool(self._news)

    def is_owed(self, server: str) -> bool:
        """Whether calls are to be made anew once this server is back."""
        return server in self._owed


class Stale:
    """The layer."""

    name = "stale"

    def __init__(self, answers: StaleAnswers, flights: Flights) -> None:
        self._answers, self._flights = answers, flights

    async def __call__(self, call: Call, call_next: CallNext) -> Outcome:
        answers = self._answers
        if answers.has_news and not answers.is_fetching(call):
            self._flights.of(call).notes.extend(answers.take_news(call.principal, call.turn))
        max_age_s = self._max_age_s(call)
        if max_age_s is None:
            outcome = await call_next(call)
        else:
            removals = answers.removals
            key = (call.principal, call.server, call.kind, call.name, arguments_sha256(call.arguments))
            try:
                outcome = await call_next(call)
            except _DOWN as exc:
                found = answers.find(key, max_age_s)
                if found is None:
                    raise
                return self._old(call, key, found, exc)
            # Another server may have its name by now: an answer of the one must not be given for the other.
            if outcome.ok and outcome.result is not None and removals == answers.removals:
                answers.keep(key, outcome.result)
        if answers.is_owed(call.server) and answers.on_back is not None:
            answers.on_back(call.server)
        return outcome

    def _max_age_s(self, call: Call) -> float | None:
        if call.tier != "L0":
            return None
        found = self._flights.of(call).found
        return found.stale_s if found is not None else None

    def _old(self, call: Call, key: Key, found: tuple[Result, float], error: DragomanError) -> Outcome:
        result, age_s = found
        if not self._answers.is_fetching(call):
            self._answers.owe(key, call, result)
        flight = self._flights.of(call)
        flight.detail["stale"] = {"age_s": round(age_s, 1), "error": error.kind}
        flight.notes.append(
            f"this is an old answer, {span(age_s)} old: the server {escape_inline(call.server)} is down "
            f"({error.first_line}); it is asked again when it is back"
        )
        return Outcome(call=call, result=result, labels=frozenset({"stale"}), stale_age_s=age_s)

    def explain(self, found: Resolved) -> str:
        """What this layer does with a call of ``found``, for ``policy explain``."""
        if found.stale_s is None:
            return "no old answers: the configuration has no stale_s for it"
        if found.tier != "L0":
            return f"no old answers: they are for reads, and this is {found.tier}"
        return f"while the server is down, its last good answer to the same arguments, up to {span(found.stale_s)} old"


def _same(one: Result, other: Result) -> bool:
    return _content(one) == _content(other)


def _content(result: Result) -> Mapping[str, Any]:
    """What a result says, without what its server adds for the protocol."""
    try:
        members = msgspec.json.decode(result.raw_json)
    except (msgspec.DecodeError, RecursionError):
        return {"": bytes(result.raw_json)}
    return {key: value for key, value in members.items() if key in ("content", "structuredContent", "contents", "messages")}
