"""Old answers while a server is down: only where allowed, marked, bounded, for the same principal, and made good afterwards."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from dragoman.clock import FakeClock
from dragoman.errors import (
    AuthRequired,
    BreakerOpen,
    CallTimeout,
    ConnectFailed,
    ConnectionLost,
    DragomanError,
    NotAllowed,
    ServerError,
    SpawnFailed,
)
from dragoman.policy.chain import Call, Outcome
from dragoman.policy.flights import Flights
from dragoman.policy.ports import Resolved
from dragoman.policy.rules import Rules, ToolRule
from dragoman.policy.stale import MAX_BYTES, MAX_ENTRIES, Stale, StaleAnswers
from dragoman.testing.layers import Inside, spawn_layer, tool_result
from dragoman.wire.tier import Tier
from tests.policy.kit import Chain, call_of, tool

DOWN: list[DragomanError] = [
    ConnectFailed("cannot connect"),
    SpawnFailed("it ended", exit_code=1),
    ConnectionLost("it is gone"),
    CallTimeout("no answer", 30),
    BreakerOpen("left alone", since=0.0, retry_after_s=9.0),
]


class Bench:
    def __init__(self, stale_s: float | None = 600.0) -> None:
        self.clock, self.flights, self.inside = FakeClock(), Flights(), Inside()
        self.answers = StaleAnswers(self.clock)
        self.layer = Stale(self.answers, self.flights)
        self.stale_s = stale_s
        self.notes: list[str] = []
        self.ids = itertools.count(1)

    async def run(
        self, ending: Any, arguments: dict[str, Any] | None = None, *, tier: Tier = "L0", call: Call | None = None, **more: Any
    ) -> Outcome:
        """What comes out; an error is inside the outcome."""
        self.inside.answer = ending
        if call is None:
            call = call_of(tool(), arguments or {"a": 1}, tier=tier, id=f"c{next(self.ids)}", **more)
        flight = self.flights.open(call)
        flight.found = Resolved(server="math", name="add", tier=tier, rule="", stale_s=self.stale_s)
        try:
            return await self.layer(call, self.inside)
        except DragomanError as exc:
            return Outcome(call=call, error=exc)
        finally:
            self.notes = flight.notes
            self.flights.close(call)


@pytest.mark.parametrize("error", DOWN, ids=lambda error: type(error).__name__)
async def test_a_read_is_answered_from_its_last_good_result_marked_with_its_age(error: DragomanError) -> None:
    """Our contract: marked stale with its age; the texts are fit to show to people."""
    bench = Bench()
    await bench.run(tool_result("sunny"))
    bench.clock.advance(180)
    outcome = await bench.run(error)
    assert outcome.ok
    assert outcome.result is not None
    assert outcome.result.text == "sunny"
    assert outcome.stale_age_s == 180
    assert "stale" in outcome.labels
    (note,) = bench.notes
    assert note.startswith("this is an old answer, 3 min old: the server math is down (")
    assert "this answer is 3 min old: the server math is down" in outcome.for_user()
    assert "3 min old" in outcome.for_model().splitlines()[0]


@pytest.mark.parametrize(
    "error", [ServerError(-32603, "no"), AuthRequired("who are you"), NotAllowed("no")], ids=lambda error: type(error).__name__
)
async def test_a_server_that_answers_or_a_rule_of_ours_is_not_hidden_behind_an_old_answer(error: DragomanError) -> None:
    """Our contract: only for a server that is down."""
    bench = Bench()
    await bench.run(tool_result("sunny"))
    assert (await bench.run(error)).error is error


@pytest.mark.parametrize(("tier", "stale_s"), [("L0", None), ("L1", 600.0), ("L2", 600.0)])
async def test_only_reads_and_only_where_the_configuration_allows_it(tier: Tier, stale_s: float | None) -> None:
    """Our contract."""
    bench = Bench(stale_s)
    await bench.run(tool_result("sunny"), tier=tier)
    assert len(bench.answers) == 0
    assert (await bench.run(DOWN[0], tier=tier)).error is DOWN[0]


async def test_only_for_the_same_arguments_and_the_same_principal() -> None:
    """Our contract: what one person saw is nobody else's."""
    bench = Bench()
    await bench.run(tool_result("sunny"), {"a": 1}, principal="ann")
    assert (await bench.run(DOWN[0], {"a": 2}, principal="ann")).error is DOWN[0]
    assert (await bench.run(DOWN[0], {"a": 1}, principal="ben")).error is DOWN[0]
    assert (await bench.run(DOWN[0], {"a": 1}, principal="ann")).ok


async def test_an_answer_that_arrives_when_its_server_was_removed_is_not_kept_for_its_namesake() -> None:
    """Two servers may bear one name, one after the other."""
    bench = Bench()

    def removed_meanwhile(call: Call) -> Outcome:
        bench.answers.forget("math")
        return Outcome(call=call, result=tool_result("of the one before"))

    assert (await bench.run(removed_meanwhile)).ok
    assert len(bench.answers) == 0
    assert (await bench.run(ConnectFailed("down"))).error is not None


async def test_too_old_is_no_answer() -> None:
    """Our contract: stale_s is how old it may be."""
    bench = Bench()
    await bench.run(tool_result("sunny"))
    bench.clock.advance(601)
    assert (await bench.run(DOWN[0])).error is DOWN[0]


async def test_only_good_results_are_kept_and_the_newest_counts() -> None:
    """An error of the tool's is no answer to fall back on."""
    bench = Bench()
    for result in (tool_result("old"), tool_result("new"), tool_result("broken", is_error=True)):
        await bench.run(result)
    outcome = await bench.run(DOWN[0])
    assert outcome.result is not None
    assert outcome.result.text == "new"


async def test_what_is_kept_is_bounded_in_number_and_bytes() -> None:
    """Our contract."""
    bench = Bench()
    for n in range(MAX_ENTRIES + 50):
        await bench.run(tool_result("x"), {"a": n})
    assert len(bench.answers) == MAX_ENTRIES
    assert (await bench.run(DOWN[0], {"a": 0})).error is DOWN[0], "the oldest go first"
    big = tool_result("y" * 900_000)
    for n in range(30):
        await bench.run(big, {"a": n})
    assert len(bench.answers) <= MAX_BYTES // 900_000
    assert bench.answers._bytes <= MAX_BYTES
    await bench.run(tool_result("z" * 2_000_000), {"a": 29})
    assert (await bench.run(DOWN[0], {"a": 29})).error is DOWN[0], "a result that is too large replaces the old one by nothing"
    bench.answers.forget("math")
    assert (len(bench.answers), bench.answers._bytes) == (0, 0)


async def renew(bench: Bench, ending: Any) -> list[Call]:
    calls = bench.answers.take_owed("math", lambda: f"r{next(bench.ids)}")
    for call in calls:
        resolved = call_of(tool(), dict(call.arguments), id=call.id, turn=call.turn, principal=call.principal)
        bench.answers.fetched(call, await bench.run(ending, call=resolved))
    return calls


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (tool_result("rain"), "gives another answer now: call it again"),
        (tool_result("sunny"), "gives the same answer now"),
        (ServerError(-32603, "no"), "fails now: ServerError"),
    ],
)
async def test_when_the_server_is_back_it_is_asked_again_once_and_the_next_turn_is_told_once(ending: Any, words: str) -> None:
    """Our contract."""
    bench = Bench()
    await bench.run(tool_result("sunny"), turn="t1")
    for _ in range(3):
        await bench.run(DOWN[0], turn="t1")
    assert len(await renew(bench, ending)) == 1
    assert await renew(bench, ending) == []
    await bench.run(tool_result("x"), {"a": 7}, turn="t1")
    assert bench.notes == [], "that turn has the old answer; it is the next one that is told"
    await bench.run(tool_result("x"), {"a": 7}, turn="t2", principal="ben")
    assert bench.notes == [], "nor is it anybody else's"
    await bench.run(tool_result("x"), {"a": 7}, turn="t2")
    assert bench.notes == [f"math.add, which was answered with an old result while its server was down, {words}"]
    await bench.run(tool_result("x"), {"a": 7}, turn="t2")
    assert bench.notes == []


async def test_a_server_that_is_down_again_is_asked_when_it_is_back_again() -> None:
    """And nobody is told of an answer that there is not."""
    bench = Bench()
    await bench.run(tool_result("sunny"), turn="t1")
    await bench.run(DOWN[0], turn="t1")
    assert len(await renew(bench, DOWN[0])) == 1
    await bench.run(tool_result("x"), {"a": 7}, turn="t2")
    assert bench.notes == []
    assert len(await renew(bench, tool_result("rain"))) == 1


async def test_any_answer_of_the_server_shows_that_it_is_back() -> None:
    """A server at a URL is never started anew, so there is nobody else to notice."""
    bench = Bench()
    back: list[str] = []
    bench.answers.on_back = back.append
    await bench.run(tool_result("sunny"))
    assert back == []
    await bench.run(DOWN[0])
    assert back == []
    await bench.run(tool_result("x"), {"a": 2}, tier="L1")
    assert back == ["math"]


async def test_in_the_whole_chain_an_old_answer_is_labelled_noted_and_written_down() -> None:
    """Our contract: audit says so too."""
    chain = Chain(answer=tool_result("5"))
    rules = Rules("math", {"*": ToolRule("L0", stale_s=60.0)})
    chain.registry.set_server("math", [tool()], rules)
    assert (await chain.run("math.add", {"a": 1})).ok
    chain.clock.advance(30)
    chain.inside.answer = ConnectFailed("refused", status=404)
    outcome = await chain.run("math.add", {"a": 1})
    assert outcome.ok
    assert {"stale", "untrusted", "server:math"} <= outcome.labels
    assert outcome.stale_age_s == 30
    assert chain.sink.status == "ok"
    assert chain.sink.events[-1].detail["stale"] == {"age_s": 30.0, "error": "ConnectFailed"}
    assert "30 s old" in outcome.notes[0]


async def test_cancellation_goes_through() -> None:
    """Every layer."""
    await spawn_layer(Stale(StaleAnswers(FakeClock()), Flights())).cancelled(call_of(tool(), {}))
