"""Proposes a tier for a tool from its name, its description and its parameters; a person decides. Pure: reads nothing, asks nobody.

The strongest word wins, and what is not understood is L2. Everything looked at comes from the server: words like "reads only" among its
annotations can raise a proposal and never lower it, and no proposal counts before a person agreed to it.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dragoman.policy import triage_chinese, triage_english
from dragoman.policy.triage_english import Verdict
from dragoman.policy.triage_known import ServerIdentity, known_server
from dragoman.policy.triage_words import ACTIONS, FORCES, MONEY, PHRASES, RUNS_WHAT_IT_IS_GIVEN
from dragoman.wire.listing import Tool
from dragoman.wire.tier import DEFAULT_TIER, TIERS, Tier

_MOST_TEXT: Final = 2_000  # characters of a description
_MOST_NAMES: Final = 200  # parameters

__all__ = ["Proposal", "ServerIdentity", "propose"]


class Proposal(NamedTuple):
    """A tier for a tool.

    Attributes:
        reason: One clause in our own words; of the server's only words that stand in our table.
        sources: What it rests on: ``name``, ``description``, ``parameters``, ``annotations``, ``known server``, ``nothing``.
    """

    tier: Tier
    reason: str
    sources: tuple[str, ...]


def propose(tool: Tool, server: ServerIdentity = ServerIdentity()) -> Proposal:  # noqa: B008 (a frozen value)
    """The tier to propose for ``tool``.

    Args:
        server: As a person typed its command or URL; a well-known one is looked up.
    """
    guessed = _guess(tool)
    known = known_server(server)
    if known is not None and (tier := known[0].tools.get(tool.name)) is not None:
        found, version = known
        looked_up = Proposal(tier, f"known: {found.title}", ("known server",))
        # A version that nobody read may do more than its name says, so it is only believed where it is the stricter.
        if (version is not None and version.startswith(found.versions)) or _rank(tier) > _rank(guessed.tier):
            guessed = looked_up
    if (tool.annotations or {}).get("destructiveHint") is True and _rank(guessed.tier) < _rank("L2"):
        return Proposal("L2", "its server says that it destroys", ("annotations",))
    if (tool.annotations or {}).get("readOnlyHint") is False and guessed.tier == "L0":
        # By the protocol's default what writes may destroy.
        adds = (tool.annotations or {}).get("destructiveHint") is False
        return Proposal("L1" if adds else "L2", "its server says that it writes", ("annotations",))
    return guessed


def _guess(tool: Tool) -> Proposal:
    description = (tool.description or "")[:_MOST_TEXT]
    title = (tool.title or "")[:200]
    said = _strongest(
        triage_english.of_text(description),
        triage_english.of_text(title),
        triage_chinese.of_text(f"{title}。{description}"),
        _phrase(description),
    )
    reads = said.tier == "L0" if said is not None else None if not description.strip() else False
    name = _strongest(triage_english.of_name(tool.name, reads=reads), triage_chinese.of_text(tool.name))
    schema = _of_schema(tool.input_schema)
    if name is not None and said is not None and name.tier == "L1" and said.tier == "L2" and said.makes:
        said = None  # adding a tag is adding, in a longer sentence
    if name is None and said is None:
        name = Verdict(DEFAULT_TIER, "none of its words is known")
        return Proposal(*name[:2], ("nothing",)) if schema is None or schema.tier != "L3" else Proposal(*schema[:2], ("parameters",))
    found = [
        (verdict, source)
        for verdict, source in ((name, "name"), (said, "description"), (schema, "parameters"))
        if verdict is not None and (source != "parameters" or verdict.tier != "L3" or _acts(name, said))
    ]
    best = max(found, key=lambda item: _rank(item[0].tier))  # the first of equals: the name before the description
    where = {"name": " in its name", "description": " in its description", "parameters": ""}[best[1]]
    return Proposal(best[0].tier, best[0].reason.replace("{where}", where), tuple(s for v, s in found if v.tier == best[0].tier))


def _acts(name: Verdict | None, said: Verdict | None) -> bool:
    """Whether it does more than read, as far as words tell: an amount that is only looked for spends nothing."""
    return any(verdict is not None and _rank(verdict.tier) >= _rank("L2") for verdict in (name, said))


def _phrase(text: str) -> Verdict | None:
    lowered = text.lower()
    for phrase, tier in PHRASES:
        place = lowered.find(phrase)
        # "not permanently", "is not irreversible": the only place where a denial is looked for is right before it.
        if place >= 0 and not lowered[:place].rstrip().endswith((" not", " never", " non", "-non", "不是", "不会")):
            return Verdict(tier, f'"{phrase}"{{where}}')
    return None


def _of_schema(schema: Any) -> Verdict | None:
    """What the parameters give away."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return None
    found: list[Verdict] = []
    money = False
    for name, shape in list(properties.items())[:_MOST_NAMES]:
        word = str(name).lower()
        flat = word.replace("-", "_")
        money |= flat in MONEY
        if flat in RUNS_WHAT_IT_IS_GIVEN and not (isinstance(shape, dict) and shape.get("enum")):
            found.append(Verdict("L2", f'it runs what its parameter "{flat}" holds'))
        elif flat in FORCES:
            found.append(Verdict("L2", f'its parameter "{flat}"'))
        choices = shape.get("enum") if isinstance(shape, dict) else None
        if flat in ACTIONS and isinstance(choices, list):
            for choice in choices[:_MOST_NAMES]:
                if isinstance(choice, str) and (verdict := triage_english.of_name(choice[:100], reads=None)) is not None:
                    found.append(
                        Verdict(verdict.tier, f'{verdict.reason.replace("{where}", "")} among the values of its parameter "{flat}"')
                    )
    if money:
        found.append(Verdict("L3", "its parameters are about money"))
    return _strongest(*found)


def _strongest(*verdicts: Verdict | None) -> Verdict | None:
    found = [verdict for verdict in verdicts if verdict is not None]
    return max(found, key=lambda verdict: _rank(verdict.tier), default=None)


def _rank(tier: Tier) -> int:
    return TIERS.index(tier)
