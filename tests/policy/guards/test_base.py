"""The seam: which values a guard sees, what becomes of what it returns, and where the chain runs it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import ApprovalDenied, InvalidArguments, NotAllowed, Problem
from dragoman.policy.approvers import CallbackApprover
from dragoman.policy.chain import Call
from dragoman.policy.guards.base import Guarded, run
from dragoman.policy.guards.range import RangeGuard
from dragoman.policy.guards.sql import SqlGuard
from dragoman.policy.questions import Question
from dragoman.policy.raising import Raise
from dragoman.policy.rules import Rules, ToolRule
from dragoman.wire.condition import parse_condition
from tests.policy.guards.corpus import CALL
from tests.policy.kit import Chain, tool

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"sql": {"type": "string"}, "n": {"type": "integer"}}}


class Shout:
    """A guard as a user writes one: refuses what says no, and raises its voice."""

    name, whole = "shout", False

    async def check(self, value: Any, call: Call) -> Any:
        return Problem("", "say it kindly") if value == "no" else str(value).upper()

    def describe(self) -> str:
        return "in capitals"


def _chain(*guards: Guarded, tier: Any = "L0", approver: Any = None) -> Chain:
    chain = Chain(tool("query", SCHEMA), approver=approver)
    chain.registry.set_server("math", [tool("query", SCHEMA)], Rules("math", {"query": ToolRule(tier, guards=guards)}))
    return chain


async def _run(argument: str, arguments: dict[str, Any], *, exact: bool = True) -> tuple[dict[str, Any], list[Problem], list[str]]:
    return await run([Guarded(Shout(), argument, exact)], arguments, CALL, frozenset(arguments))


@pytest.mark.parametrize(
    ("argument", "arguments", "sent"),
    [
        ("a", {"a": "x", "b": "y"}, {"a": "X", "b": "y"}),
        ("a", {"a": ["x", "y"]}, {"a": ["X", "Y"]}),
        ("a", {"a": [["x"], "y"]}, {"a": [["X"], "Y"]}),
        ("/a/b", {"a": {"b": "x", "c": "y"}}, {"a": {"b": "X", "c": "y"}}),
        ("/a/*/b", {"a": [{"b": "x"}, {"b": "y"}, {"c": "z"}]}, {"a": [{"b": "X"}, {"b": "Y"}, {"c": "z"}]}),
        ("/a/*", {"a": {"p": "x", "q": "y"}}, {"a": {"p": "X", "q": "Y"}}),
        ("/a/1", {"a": ["x", "y"]}, {"a": ["x", "Y"]}),
        ("/a~1b", {"a/b": "x"}, {"a/b": "X"}),
        ("/a/b", {"a": "x"}, {"a": "X"}),
        ("a", {"a": []}, {"a": []}),
    ],
)
async def test_names_and_pointers_find_nested_values_and_items(argument: str, arguments: dict[str, Any], sent: dict[str, Any]) -> None:
    """RFC 6901, and ``*`` for all; what stands where a pointer leads through is looked at itself."""
    before = repr(arguments)
    got, problems, _ = await _run(argument, arguments)
    assert (got, problems) == (sent, [])
    assert repr(arguments) == before, "the caller's own values are not touched"


async def test_every_bad_item_is_named_by_its_place() -> None:
    """A model repairs what it is told about."""
    _, problems, _ = await _run("/a/*/b", {"a": [{"b": "x"}, {"b": "no"}, {"b": ["y", "no"]}]})
    assert [str(problem) for problem in problems] == ["/a/1/b: say it kindly", "/a/2/b/1: say it kindly"]


async def test_too_many_values_are_refused_unseen() -> None:
    """Each may cost a look-up."""
    _, problems, _ = await _run("a", {"a": ["x"] * 201})
    assert "201 values" in problems[0].message


async def test_guard_of_an_argument_that_the_tool_does_not_have_refuses_the_call() -> None:
    """A guard that cannot bite protects nothing, and nobody would notice; a pattern only means the tools that have it."""
    for exact, count in ((True, 1), (False, 0)):
        _, problems, _ = await run([Guarded(Shout(), "path", exact)], {"file": "x"}, CALL, frozenset({"file"}))
        assert len(problems) == count
    _, problems, _ = await run([Guarded(Shout(), "path", False)], {}, CALL, frozenset())
    assert len(problems) == 1, "a schema that names nothing says nothing"
    _, problems, _ = await run([Guarded(Shout(), "path")], {}, CALL, frozenset({"path"}))
    assert problems == [], "whether it may be left out is the schema's business"


async def test_refused_argument_goes_back_as_a_hint_and_nothing_is_sent() -> None:
    """The model is told what would be accepted."""
    chain = _chain(Guarded(SqlGuard("postgres", 10), "sql"))
    outcome = await chain.run("math.query", {"sql": "DROP TABLE users"})
    assert isinstance(outcome.error, InvalidArguments)
    assert chain.inside.calls == []
    assert chain.sink.story == ["asked", "ended: refused"]
    assert "/sql: only SELECT is allowed here, and this statement is DROP" in outcome.error.for_model()
    assert "call the tool again" in outcome.error.for_model()


async def test_person_is_asked_about_the_statement_that_is_sent() -> None:
    """Guards stand before *approve*: the yes is for the rewritten statement."""
    asked: list[Question] = []

    def yes(question: Question) -> bool:
        asked.append(question)
        return True

    chain = _chain(Guarded(SqlGuard("postgres", 10), "sql"), tier="L2", approver=CallbackApprover(yes, by="ann"))
    outcome = await chain.run("math.query", {"sql": "select * from t"})
    assert outcome.ok
    assert chain.inside.calls[0].arguments == asked[0].arguments == {"sql": "SELECT * FROM t LIMIT 10"}
    assert "/sql: changed by the guard sql" in outcome.notes


async def test_guards_of_every_matching_rule_count_and_explain_names_them() -> None:
    """A more exact rule does not take a guard away."""
    rules = {
        "*": ToolRule("L0", guards=(Guarded(RangeGuard(most=5), "n", exact=False),)),
        "query": ToolRule(guards=(Guarded(Shout(), "sql"),)),
    }
    chain = Chain(tool("query", SCHEMA))
    chain.registry.set_server("math", [tool("query", SCHEMA)], Rules("math", rules))
    found = chain.registry.find("tool", "math", "query")
    here = next(row.here for row in chain.stack.explain(found) if row.layer == "validate")
    assert here == "arguments checked, guard shout on sql (in capitals), guard range on n (at most 5)"
    assert isinstance((await chain.run("math.query", {"sql": "a", "n": 6})).error, InvalidArguments)
    assert (await chain.run("math.query", {"sql": "a", "n": 5})).ok
    assert chain.inside.calls[-1].arguments == {"sql": "A", "n": 5}


async def test_a_value_that_a_guard_rewrote_raises_the_tier_as_it_is_sent() -> None:
    """A rule on the text as written would be passed by writing it another way: a link, a capital, a space."""
    guard = Guarded(SqlGuard("postgres", 10), "sql")
    for tier, refusal in (("L2", ApprovalDenied), ("L3", NotAllowed)):
        raises = [Raise(parse_condition('sql contains "limit 10"'), tier, "rule 1")]  # type: ignore[arg-type]  # one of two tiers
        chain = Chain(tool("query", SCHEMA))
        rules = Rules("math", {"query": ToolRule("L0", guards=(guard,), raises=raises)})
        chain.registry.set_server("math", [tool("query", SCHEMA)], rules)
        assert isinstance((await chain.run("math.query", {"sql": "SELECT 1"})).error, refusal)
        assert chain.inside.calls == []
        assert (await chain.run("math.query", {"sql": "SELECT 1 LIMIT 5"})).ok
