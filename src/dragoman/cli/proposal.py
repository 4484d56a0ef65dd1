"""What a person reads before they agree to a server: its command line, its variables, its tools with parameters, tiers."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from typing import Any

from dragoman.cli import output
from dragoman.cli.fit import cut
from dragoman.service.adding import Proposal, ProposedTool
from dragoman.service.trust import Facts
from dragoman.wire.escape import escape_inline

_LABEL = 11
_MOST = 12  # arguments in an example


def show_proposal(proposal: Proposal) -> None:
    """Print what would be added."""
    show_facts(proposal.facts, tiers=False)
    said = f"{proposal.name} {proposal.version}".strip()
    took = f"connected in {proposal.connect_ms:.0f} ms"
    _line("server", f"{cut(escape_inline(said), 60)} ({proposal.era}, {proposal.revision}), {took}")
    count = len(proposal.tools)
    output.say(f"\n{count} tool{'' if count == 1 else 's'}{', with the proposed tiers' if count else ''}:")
    for tool in proposal.tools:
        _show_tool(tool)
    output.say()


def tiers_in_words(proposal: Proposal) -> str:
    """How many tools got which tier: ``15 tools, each L2``, ``15 tools: 9 L0, 6 L2``."""
    count = len(proposal.tools)
    shown = f"{count} tool{'' if count == 1 else 's'}"
    by_tier = Counter(item.tier for item in proposal.tools)
    if len(by_tier) < 2:
        return shown + "".join(f", each {tier}" for tier in by_tier)
    return f"{shown}: {', '.join(f'{by_tier[tier]} {tier}' for tier in sorted(by_tier))}"


def show_facts(facts: Facts, *, tiers: bool = True) -> None:
    """Print what decides which program runs, and what it is given."""
    if facts.command is not None:
        _line("command", shlex.join(facts.command))
        _line("starts in", facts.cwd or "the folder of whoever starts it")
    else:
        _line("url", facts.url or "")
    for label, values in (("variable", facts.env), ("header", facts.headers)):
        for name, value in values.items():
            _line(label, f"{name} = {value}")
    for name in facts.inherit:
        _line("variable", f"{name} (passed on from yours)")
    if tiers:
        _line("tiers", f"{facts.default_tier} for every tool" + (" that is not named here" if facts.tools else ""))
        for name, tier in facts.tools.items():
            _line("", f"{tier}  {name}")


def parameters(schema: Any) -> str:
    """The parameters of a tool on one line: ``path, head?: integer``; a question mark where one may be left out."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return ""
    required = schema.get("required")
    needed = set(map(str, required)) if isinstance(required, list) else set()
    shown = []
    for name, value in properties.items():
        kind = value.get("type") if isinstance(value, dict) else None
        kind = " or ".join(map(str, kind)) if isinstance(kind, list) else kind
        shown.append(f"{name}{'' if name in needed else '?'}" + (f": {kind}" if isinstance(kind, str) and kind != "string" else ""))
    return ", ".join(shown)


def placeholders(schema: Any) -> list[str]:
    """The arguments that a tool cannot do without, as words for a shell, each with a value of the right type to be replaced."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    required = schema.get("required") if isinstance(schema, dict) else None
    if not isinstance(required, list):
        return []
    shapes = properties if isinstance(properties, dict) else {}
    return [shlex.quote(_placeholder(name, shapes.get(name))) for name in required[:_MOST] if isinstance(name, str)]


def _placeholder(name: str, shape: Any) -> str:
    shape = shape if isinstance(shape, dict) else {}
    if isinstance(choices := shape.get("enum"), list) and choices:
        choice = choices[0]
        return f"{name}={choice}" if isinstance(choice, str) and not choice.startswith("@") else f"{name}:={json.dumps(choice)}"
    match shape.get("type"):
        case "array":
            return f"{name}:=[]"
        case "object":
            return f"{name}:={{}}"
        case "boolean":
            return f"{name}=true"
        case "integer" | "number":
            least = shape.get("minimum")
            return f"{name}={least if isinstance(least, int) and least > 1 else 1}"
    return f"{name}={name.upper()}"


def _show_tool(item: ProposedTool) -> None:
    tool = item.tool
    _tell(f"  {item.tier}  {escape_inline(tool.name)}({escape_inline(parameters(tool.input_schema))})")
    remarks = [item.reason if item.tier == item.proposed else f"speaks for {item.proposed}: {item.reason}"]
    remarks += [f"its server says: {claim}" for claim in item.claims]
    if not item.written:
        remarks.append("a name that cannot stand in the file; the server's default (L2) counts")
    _tell(f"      {'; '.join(remarks)}")
    first = next((line.strip() for line in (tool.description or "").splitlines() if line.strip()), "")
    if first:
        output.say(f"      {cut(escape_inline(first), (output.terminal_width() or 126) - 6)}")


def _tell(text: str, hang: str = " " * 8) -> None:
    # What goes on stands further in than any line of ours: no name or command can look like the next thing agreed to.
    output.tell(text, hang=hang, whole_words=False)


def _line(label: str, text: str) -> None:
    _tell(f"{label:<{_LABEL}}{escape_inline(text)}", " " * (_LABEL + 2))
