"""The register finds tools by every name they go by, and by no other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.policy.names import model_name
from dragoman.policy.registry import ToolRegistry
from dragoman.policy.rules import Rules, ToolRule
from dragoman.wire.listing import Tool


def _registry(**servers: list[str]) -> ToolRegistry:
    registry = ToolRegistry()
    for server, names in servers.items():
        registry.set_server(server, [Tool(name=name) for name in names], Rules(server, {"*": ToolRule("L0")}))
    return registry


def test_a_tool_is_found_by_both_names_and_by_its_own_at_its_server() -> None:
    """Our contract."""
    registry = _registry(files=["read", "a.b"], git=["read"])
    for written in ("files.read", "files__read"):
        found = registry.find("tool", "", written)
        assert found is not None
        assert (found.server, found.name, found.tier) == ("files", "read", "L0")
    found = registry.find("tool", "", "files.a.b")
    assert found is not None
    assert found.name == "a.b"
    assert registry.find("tool", "git", "read") is not None
    assert registry.find("tool", "", "read") is None
    assert registry.find("tool", "git", "files.read") is None


@given(st.lists(st.tuples(st.sampled_from(["a", "a__b", "b", "a_"]), st.text(alphabet="ab_.", min_size=1, max_size=80)), max_size=12))
def test_model_names_lead_back_to_their_tool(pairs: list[tuple[str, str]]) -> None:
    """Our contract: reversible through the registry."""
    servers: dict[str, list[str]] = {}
    for server, name in dict.fromkeys(pairs):
        servers.setdefault(server, []).append(name)
    registry = _registry(**servers)
    assert len(registry.model_names()) == len(set(pairs))
    for server, name in pairs:
        for limit in (64, 128):
            found = registry.find("tool", "", model_name(server, name, limit))
            assert found is not None
            assert (found.server, found.name) == (server, name)


def test_what_is_withheld_is_not_offered() -> None:
    """Our tiers: off, held, and L3 until it is switched on by name."""
    registry = ToolRegistry()
    rules = Rules("s", {"off": ToolRule("off"), "pay*": ToolRule("L3"), "pay2": ToolRule(enabled=True), "*": ToolRule("L0")})
    tools = [Tool(name=name) for name in ("off", "pay", "pay2", "held", "fine")]
    registry.set_server("s", tools, rules, held={"held": "its description changed"})
    assert [entry.name for entry in registry.offered()] == ["pay2", "fine"]
    assert list(registry.model_names()) == ["s__pay2", "s__fine"]
    assert len(registry.all()) == 5


def test_a_server_that_goes_takes_its_tools_along() -> None:
    """Servers come and go while a host runs."""
    registry = _registry(a=["x"], b=["x"])
    registry.drop_server("a")
    registry.drop_server("a")
    assert registry.find("tool", "", "a.x") is None
    assert registry.find("tool", "", "a__x") is None
    assert registry.servers() == ["b"]


def test_nearest_names_forgive_typos_and_the_wrong_server() -> None:
    """Our choice."""
    registry = _registry(files=["read_text_file", "write_file"], git=["git_status"])
    assert registry.nearest("tool", "", "files.read_text_fil")[0] == "files.read_text_file"
    assert registry.nearest("tool", "", "files__read_textfile")[0] == "files.read_text_file"
    assert registry.nearest("tool", "", "files.git_status")[0] == "git.git_status"
    assert registry.nearest("tool", "", "git_status")[0] == "git.git_status"
    assert registry.nearest("tool", "", "zzzzzz") == []


def test_a_definition_comes_back_as_it_was_listed_and_one_that_is_used_is_made_once() -> None:
    """Our choice: definitions are kept packed, and what packing does not hold is kept as it is."""
    schema = {"type": "object", "properties": {"a": {"enum": [1, 1.0, 2.5e300, -(2**63), None, "ü\u202e"]}}, "x-own": {}}
    listed = Tool(name="plain", title="", input_schema=schema, output_schema=False, annotations={}, icons=[], meta={"k": [True]})
    by_hand = Tool(name="by hand", input_schema={"pattern": "\ud800"})
    registry = ToolRegistry()
    registry.set_server("s", [listed, by_hand], Rules("s"))
    assert [entry.definition for entry in registry.all()] == [listed, by_hand]
    found = registry.find("tool", "s", "plain")
    assert found is not None
    assert found is registry.find("tool", "", "s__plain") is next(iter(registry.all()))
    assert found.definition is not listed


def test_a_server_that_lists_anew_takes_its_old_names_along() -> None:
    """Our contract: shortened names too, which lead nowhere by themselves."""
    registry = _registry(s=["x y", "z"], t=["x y"])
    short = model_name("s", "x y")
    assert registry.find("tool", "", short) is not None
    registry.set_server("s", [Tool(name="z")], Rules("s"))
    assert registry.find("tool", "", short) is None
    assert registry.find("tool", "", model_name("t", "x y")) is not None
    assert registry.find("tool", "", "s.x y") is None
