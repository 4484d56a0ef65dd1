"""Arguments without bounds end as words, before anything writes them out."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import InvalidArguments, UnknownTool
from dragoman.policy.bounds import MAX_CHARS, MAX_DEPTH, MAX_DIGITS, MAX_VALUES, look
from dragoman.policy.chain import Call
from dragoman.policy.questions import Decision, Question
from tests.policy.kit import Chain, tool


class Yes:
    async def decide(self, question: Question) -> Decision:
        return Decision(verdict="allow", by="ann", how="test")


def doubled(times: int) -> list[Any]:
    value: list[Any] = ["x"]
    for _ in range(times):
        value = [value, value]
    return value


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


TOO_MUCH: dict[str, tuple[Any, str]] = {
    "shared": ({"a": doubled(60)}, f"more than {MAX_VALUES:,} values"),
    "deep": (nested(MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH} levels"),
    "wide": ({"a": [0] * MAX_VALUES}, f"more than {MAX_VALUES:,} values"),
    "long": ({"a": ["x" * 1_000_000] * 33}, f"more than {MAX_CHARS:,} characters"),
    "digits": ({"a": 10 ** (MAX_DIGITS + 300)}, f"more than {MAX_DIGITS:,} digits"),
    "a list": ([1], "expected an object with the arguments by name, got an array"),
    "an empty list": ([], "expected an object with the arguments by name, got an array"),
    "a text": ("x", "got a text"),
    "a number": (5, "got a int"),
}


@pytest.mark.parametrize("tier", ["L0", "L2"])
@pytest.mark.parametrize("case", TOO_MUCH)
async def test_arguments_beyond_a_limit_are_refused_by_its_name_and_written_down_without_them(case: str, tier: Any) -> None:
    """An attack: sixty lists, each with the one before it twice, are 2**60 values as text and end the process."""
    arguments, words = TOO_MUCH[case]
    chain = Chain(tool(schema=True), tiers={"*": tier}, approver=Yes())
    outcome = await chain.stack.run(Call(id="c1", name="math.add", arguments=arguments))
    assert isinstance(outcome.error, InvalidArguments)
    assert words in str(outcome.error)
    assert chain.inside.calls == []
    assert chain.sink.story == ["asked", "ended: refused"]
    assert chain.sink.events[0].detail["arguments"].startswith("not kept: ")
    assert "arguments_sha256" not in chain.sink.events[0].detail


async def test_a_prompt_has_the_same_bounds() -> None:
    """Prompts have no schema, and are serialised all the same."""
    chain = Chain()
    outcome = await chain.stack.run(Call(id="c1", kind="prompt", server="math", name="greet", arguments={"a": doubled(60)}))
    assert isinstance(outcome.error, InvalidArguments)


def test_what_is_within_the_bounds_passes() -> None:
    """The limits themselves are allowed, and so are the biggest arguments that anybody has sent."""
    for value in ({}, nested(MAX_DEPTH), {"a": 10 ** (MAX_DIGITS - 1)}, {"a": "x" * 20_000_000}, {"a": [0] * (MAX_VALUES - 1)}):
        assert look(value) == (None, None)
    assert look({"a": b"x"}) == (None, "bytes")


@pytest.mark.parametrize("name", [None, 5, b"math.add", ["math.add"], {}, 10**5000], ids=lambda name: type(name).__name__)
async def test_a_name_that_is_no_text_is_an_unknown_tool(name: Any) -> None:
    """Bad input: it never ends in a raw TypeError, and the outcome can be shown."""
    chain = Chain()
    outcome = await chain.stack.run(Call(id="c1", name=name))
    assert isinstance(outcome.error, UnknownTool)
    assert f"a name is text, got a {type(name).__name__}" in outcome.for_model()
    assert chain.sink.story == ["asked", "ended: refused"]
    server: Any = name or 7
    outcome = await chain.stack.run(Call(id="c2", kind="resource", server=server, name="x"))
    assert isinstance(outcome.error, UnknownTool)
