"""What is proposed for a tool: right or higher for every example that people agree on, and exactly right for nearly all."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.policy.triage import ServerIdentity, propose
from dragoman.policy.triage_known import KNOWN
from dragoman.wire.listing import Tool
from dragoman.wire.tier import TIERS, Tier
from tests.policy.triage_cases import CASES

EXACT = 0.9


def _tier(name: str, description: str | None = None, server: ServerIdentity | None = None, **more: Any) -> Tier:
    return propose(Tool(name=name, description=description, **more), server or ServerIdentity()).tier


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_the_proposal_is_right_or_higher_for_every_example_and_exact_for_nine_in_ten() -> None:
    """Our goal, over examples in English and Chinese."""
    judged = [(name, text, tier, propose(Tool(name=name, description=text))) for name, text, tier in CASES]
    low = [
        f"{name} ({text}): {found.tier}, should be {tier}: {found.reason}" for name, text, tier, found in judged if _below(found.tier, tier)
    ]
    other = [f"{name} ({text}): {found.tier}, should be {tier}: {found.reason}" for name, text, tier, found in judged if found.tier != tier]
    exact = 1 - len(other) / len(judged)
    assert len(CASES) >= 120
    assert not low, "\n".join([f"{len(low)} of {len(judged)} too low:", *low])
    assert exact >= EXACT, "\n".join([f"{exact:.1%} of {len(judged)} exact, at least {EXACT:.0%} wanted:", *other])


def _below(found: Tier, wanted: Tier) -> bool:
    return TIERS.index(found) < TIERS.index(wanted)


@pytest.mark.parametrize("name", ["send_sms", "send-sms", "sendSms", "SendSMS", "SEND_SMS", "shop.send.sms", "sendsms"])
def test_a_name_is_split_however_it_is_written(name: str) -> None:
    """snake_case, kebab-case, camelCase, glued."""
    assert propose(Tool(name=name)).reason == '"send" in its name'


@pytest.mark.parametrize("name", ["get_and_remove", "list_then_delete", "read_or_drop"])
def test_the_strongest_word_wins(name: str) -> None:
    """A name that begins with a reading word may end with another."""
    assert _tier(name) in ("L2", "L3")


@pytest.mark.parametrize("name", ["frobnicate", "", "\u202e", "x" * 100_000, "_", "工具", "get_and_frobnicate"])
def test_what_is_not_understood_is_risky(name: str) -> None:
    """Our choice: no word, no easing."""
    assert _tier(name) == "L2"


def test_annotations_only_raise() -> None:
    """DESIGN: what a server says of itself is a claim. Source: MCP server/tools, ToolAnnotations."""
    assert _tier("delete_file", annotations={"readOnlyHint": True}) == "L2"
    assert _tier("charge", annotations={"readOnlyHint": True, "destructiveHint": False}) == "L3"
    assert _tier("frobnicate", annotations={"readOnlyHint": True}) == "L2"
    assert _tier("list_files", annotations={"destructiveHint": True}) == "L2"
    assert _tier("list_files", annotations={"readOnlyHint": False}) == "L2"
    assert _tier("list_files", annotations={"readOnlyHint": False, "destructiveHint": False}) == "L1"
    assert _tier("charge", annotations={"destructiveHint": True}) == "L3"


@pytest.mark.parametrize(
    ("name", "properties", "tier"),
    [
        ("search", {"text": {}}, "L0"),
        ("search", {"command": {}}, "L2"),
        ("query", {"sql": {}}, "L2"),
        ("list", {"action": {"enum": ["list", "delete"]}}, "L2"),
        ("frobnicate", {"amount": {}, "currency": {}}, "L3"),
        ("send_gift", {"amount": {}, "card_number": {}}, "L3"),
        ("search_prices", {"currency": {}}, "L0"),
        ("tag", {"force": {}}, "L2"),
    ],
)
def test_parameters_give_a_tool_away(name: str, properties: dict[str, Any], tier: Tier) -> None:
    """Our choice: a command, a statement, a switch that forces, a means of payment."""
    assert _tier(name, input_schema=_schema(**properties)) == tier


@pytest.mark.parametrize(
    "schema", [None, True, {}, {"properties": 3}, {"properties": {"action": {"enum": [1, None]}}}, {"properties": {"a": 1}}]
)
def test_a_broken_schema_is_no_reason_and_no_obstacle(schema: Any) -> None:
    """Garbage from a server never raises."""
    assert _tier("list_files", input_schema=schema) == "L0"


FILES = "@modelcontextprotocol/server-filesystem"


@pytest.mark.parametrize(
    ("command", "tier"),
    [
        (("npx", "-y", f"{FILES}@2026.8.31", "/tmp"), "L1"),
        (("npx", "-y", FILES, "/tmp"), "L2"),  # whichever version comes
        (("npx", "-y", f"{FILES}@9.9.9"), "L2"),
        (("npx", "--registry=http://elsewhere", f"{FILES}@2026.8.31"), "L2"),
        (("./npx", f"{FILES}@2026.8.31"), "L2"),
        (("python3", f"{FILES}@2026.8.31"), "L2"),
        (("npx", "-y", "@modelcontextprotocol/server-file@2026.8.31"), "L2"),
        (("npx",), "L2"),
    ],
)
def test_a_well_known_server_is_believed_by_its_command_and_version_alone(command: tuple[str, ...], tier: Tier) -> None:
    """Our choice: what a server calls itself counts for nothing."""
    tool = Tool(name="create_directory", description="Frobnicates, then sends.")
    assert propose(tool, ServerIdentity(command)).tier == tier


def test_the_table_also_raises() -> None:
    """A version that nobody read is believed where the table is the stricter; a claim raises what the table says."""
    sql = Tool(name="write_query", description="Add a note")
    assert propose(sql, ServerIdentity(("uvx", "mcp-server-sqlite"))).tier == "L3"
    assert propose(sql, ServerIdentity(("uvx", "mcp-server-sqlite==2025.4.25"))) == (
        "L3",
        "known: the reference SQLite server",
        ("known server",),
    )
    claimed = Tool(name="git_status", annotations={"destructiveHint": True})
    assert propose(claimed, ServerIdentity(("uvx", "mcp-server-git@2026.1.14"))).tier == "L2"
    assert _tier("merge_pull_request", server=ServerIdentity(url="https://api.githubcopilot.com/mcp/")) == "L2"
    assert _tier("create_branch", "Frobnicates", server=ServerIdentity(url="http://api.githubcopilot.com/mcp/")) == "L1"


def test_the_table_knows_tools_by_tier() -> None:
    """At least the servers that everybody meets first."""
    assert len(KNOWN) >= 10
    assert all(known.tools and set(known.tools.values()) <= set(TIERS) for known in KNOWN.values())


def test_a_reason_holds_no_word_of_the_servers_own() -> None:
    """It is shown on a terminal, beside what a person agrees to."""
    found = propose(Tool(name="delete_\x1b[2J", description="delete \x1b[31m everything \u202e"))
    assert found.reason.isprintable()
