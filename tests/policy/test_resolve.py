"""Names lead to a server, a pinned tool and a tier, or are refused with a way out."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.errors import NotAllowed, ToolChanged, UnknownTool
from dragoman.policy.chain import Call
from dragoman.policy.flights import Flights
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.resolve import Resolve
from dragoman.policy.rules import Rules, Settings, ToolRule
from dragoman.testing.layers import spawn_layer
from dragoman.wire.listing import Tool


def _registry() -> ToolRegistry:
    registry = ToolRegistry()
    rules = Rules(
        "shop", {"list*": ToolRule("L0"), "refund": ToolRule("L3"), "pay": ToolRule("L3", enabled=True), "hidden": ToolRule("off")}
    )
    tools = [Tool(name=name) for name in ("list_items", "refund", "pay", "hidden", "held", "new")]
    registry.set_server("shop", tools, rules, held={"held": "its description changed since it was pinned"})
    return registry


@pytest.mark.parametrize("written", ["shop.list_items", "shop__list_items"])
async def test_a_name_becomes_server_tool_tier_and_rule(written: str) -> None:
    """Our contract: ``server.tool`` for people, ``server__tool`` for models."""
    layer = spawn_layer(Resolve(_registry(), Flights()))
    await layer(Call(id="1", name=written))
    (call,) = layer.inside.calls
    assert (call.server, call.name, call.tier, call.rule) == ("shop", "list_items", "L0", 'servers.shop.tools."list*"')
    assert call.definition == Tool(name="list_items")


@pytest.mark.parametrize(
    ("written", "kind", "words"),
    [
        ("shop.list_item", UnknownTool, "did you mean shop.list_items?"),
        ("nowhere.tool", UnknownTool, "servers: shop"),
        ("shop.hidden", UnknownTool, "there is no tool 'shop.hidden'"),
        ("shop.refund", NotAllowed, "dragoman tier --enable shop.refund"),
        ("shop.held", ToolChanged, "its description changed since it was pinned"),
        ("\x1b[31mx", UnknownTool, "\\x1b[31mx"),
        ("", UnknownTool, "there is no tool"),
    ],
)
async def test_what_may_not_be_used_is_refused_with_a_way_out(written: str, kind: type[Exception], words: str) -> None:
    """Our tiers; bad input: nearest names offered."""
    error = await spawn_layer(Resolve(_registry(), Flights())).refused(Call(id="1", name=written))
    assert type(error) is kind
    assert words in error.for_user()


async def test_an_irreversible_tool_that_was_switched_on_goes_on_to_be_asked_about() -> None:
    """Our tiers."""
    layer = spawn_layer(Resolve(_registry(), Flights()))
    await layer(Call(id="1", name="shop.pay"))
    assert layer.inside.calls[0].tier == "L3"


async def test_a_tool_nobody_named_is_risky() -> None:
    """Our choice: unknown tools are L2."""
    layer = spawn_layer(Resolve(_registry(), Flights()))
    await layer(Call(id="1", name="shop.new"))
    assert layer.inside.calls[0].tier == "L2"


async def test_a_call_on_a_server_without_config_that_brings_its_definition_passes_untouched() -> None:
    """Our contract: on them the person at the keyboard decides, no tiers."""
    layer = spawn_layer(Resolve(_registry(), Flights()))
    call = Call(id="1", server="python3 x.py", name="anything", definition=Tool(name="anything"), adhoc=True)
    await layer(call)
    assert layer.inside.calls == [call]


async def test_a_call_on_a_server_without_config_gets_its_definition_and_no_tier() -> None:
    """Our contract: no tiers, and still no tool that is not there."""
    layer = spawn_layer(Resolve(_registry(), Flights()))
    await layer(Call(id="1", server="shop", name="list_items", adhoc=True))
    (call,) = layer.inside.calls
    assert (call.definition, call.tier) == (Tool(name="list_items"), None)
    error = await layer.refused(Call(id="2", server="shop", name="list_item", adhoc=True))
    assert isinstance(error, UnknownTool)
    assert "did you mean list_items?" in error.for_user()


async def test_resources_and_prompts_are_reads_at_a_known_server() -> None:
    """Our contract: L0 by default."""
    layer = spawn_layer(Resolve(_registry(), Flights()))
    await layer(Call(id="1", kind="resource", server="shop", name="file:///x.y"))
    await layer(Call(id="2", kind="prompt", name="shop.greet"))
    assert [(call.server, call.name, call.tier) for call in layer.inside.calls] == [("shop", "file:///x.y", "L0"), ("shop", "greet", "L0")]
    assert isinstance(await layer.refused(Call(id="3", kind="resource", server="shopp", name="x")), UnknownTool)


async def test_a_catalog_that_is_not_loaded_yet_is_loaded_once() -> None:
    """Our choice: the register may connect a server that nobody has needed so far."""
    loaded: list[str] = []
    registry: ToolRegistry

    async def load(server: str) -> bool:
        loaded.append(server)
        registry.set_server(server, [Tool(name="x")], Rules(server, {"*": ToolRule("L0")}))
        return True

    registry = ToolRegistry(load)
    registry.set_server("late", [], Rules("late"))
    layer = spawn_layer(Resolve(registry, Flights()))
    await layer(Call(id="1", name="late.x"))
    await layer(Call(id="2", name="late__x"))
    assert loaded == ["late"]


async def test_cancellation_goes_through() -> None:
    """Every layer."""
    await spawn_layer(Resolve(_registry(), Flights())).cancelled(Call(id="1", name="shop.list_items"))


@pytest.mark.parametrize(
    ("asked", "watched", "expected"),
    [
        ({}, False, (20.0, None)),
        ({}, True, (20.0, 200.0)),
        ({"timeout_s": 3.0}, True, (3.0, None)),
    ],
)
async def test_deadline_is_the_callers_else_the_tools_and_progress_moves_only_the_latter(
    asked: dict[str, Any], watched: bool, expected: tuple[float, float | None]
) -> None:
    """Our contract: timeouts per tool; progress may extend up to a maximum, where it is looked at."""
    registry = ToolRegistry()
    rules = Rules("s", {"a": ToolRule("L0", timeout_s=20.0)}, defaults=Settings(timeout_s=30.0))
    registry.set_server("s", [Tool(name="a"), Tool(name="b")], rules)
    layer = spawn_layer(Resolve(registry, Flights()))
    await layer(Call(id="1", name="s.a", on_progress=print if watched else None, **asked))
    await layer(Call(id="2", kind="resource", server="s", name="x:y"))
    first, second = layer.inside.calls
    assert (first.timeout_s, first.max_timeout_s) == expected
    assert second.timeout_s == 30.0


async def test_a_maximum_that_a_person_set_counts_whoever_looks() -> None:
    """Our contract: configurable; one below the deadline itself would make no sense."""
    registry = ToolRegistry()
    rules = Rules("s", {"*": ToolRule("L0", max_timeout_s=90.0), "b": ToolRule(timeout_s=100.0)}, defaults=Settings(timeout_s=30.0))
    registry.set_server("s", [Tool(name="a"), Tool(name="b")], rules)
    layer = spawn_layer(Resolve(registry, Flights()))
    await layer(Call(id="1", name="s.a"))
    await layer(Call(id="2", name="s.b"))
    assert [(call.timeout_s, call.max_timeout_s) for call in layer.inside.calls] == [(30.0, 90.0), (100.0, 100.0)]
