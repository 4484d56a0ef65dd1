"""Which tier a tool has: exact name beats longest pattern beats the server's default; and which rule said so.

Patterns know ``*`` and ``?`` and nothing else, so a bracket in a tool's name is just a bracket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from dragoman.policy.guards.base import Guarded
from dragoman.policy.raising import Raise, one_up
from dragoman.wire.tier import DEFAULT_TIER, TIERS, Tier


class ToolRule(NamedTuple):
    """What a person wrote about a tool or a pattern; ``None`` leaves that to a shorter pattern or the default."""

    tier: Tier | None = None
    say: str | None = None
    timeout_s: float | None = None
    max_timeout_s: float | None = None
    idempotent: bool | None = None
    stale_s: float | None = None
    max_bytes: int | None = None
    raises: Sequence[Raise] = ()
    enabled: bool = False
    guards: tuple[Guarded, ...] = ()


class Settings(NamedTuple):
    """How calls of one tool are made, as far as a person said so: see :class:`~dragoman.policy.ports.Resolved`."""

    timeout_s: float | None = None
    max_timeout_s: float | None = None
    idempotent: bool = False
    stale_s: float | None = None
    max_bytes: int | None = None
    guards: tuple[Guarded, ...] = ()


class Ruling(NamedTuple):
    """The tier of one tool, the place in the configuration that decided it, and the sentence for an approver."""

    tier: Tier
    rule: str
    say: str | None


class Rules:
    """The rules of one server.

    Args:
        tools: By tool name or pattern, as in ``[servers.NAME.tools]``.
        default_tier: For tools that no rule names; ``None``: nobody said, so the cautious default.
        defaults: For all that no rule says otherwise.
        little_trust: Every tool is one tier higher than was said.
    """

    def __init__(
        self,
        server: str,
        tools: Mapping[str, ToolRule] | None = None,
        default_tier: Tier | None = None,
        defaults: Settings | None = None,
        *,
        little_trust: bool = False,
    ) -> None:
        self.server = server
        self.defaults = Settings() if defaults is None else defaults
        self._exact = dict(tools or {})
        self._default, self._little_trust = default_tier, little_trust
        patterns = [(key, rule) for key, rule in self._exact.items() if "*" in key or "?" in key]
        # Among patterns of one length the stricter comes first: a tie must not make a call easier.
        patterns.sort(key=lambda item: (-len(item[0]), -(TIERS.index(item[1].tier) if item[1].tier else -1), item[0]))
        self._patterns = [(key, rule, _compile(key)) for key, rule in patterns]

    def decide(self, tool: str) -> Ruling:
        """The ruling for a tool of this server."""
        said = self.said(tool)
        if self._little_trust and (higher := one_up(said.tier)) != said.tier:
            return Ruling(higher, f"{said.rule} ({said.tier}), one up by servers.{self.server}.trust", said.say)
        return said

    def said(self, tool: str) -> Ruling:
        """What was said about a tool, before little trust in its server raises it."""
        tier: Tier | None = None
        said: str | None = None
        rule = ""
        for key, found in self._matching(tool):
            if tier is None and found.tier is not None:
                tier, rule = found.tier, f"servers.{self.server}.tools.{_quoted(key)}"
            if said is None:
                said = found.say
        if tier is not None:
            return Ruling(tier, rule, said)
        if self._default is not None:
            return Ruling(self._default, f"servers.{self.server}.default_tier", said)
        return Ruling(DEFAULT_TIER, f"nobody has set a tier, so {DEFAULT_TIER}", said)

    def raises(self, tool: str) -> tuple[Raise, ...]:
        """All rules that raise a tool's tier by arguments, those of patterns too: none takes the place of another."""
        return tuple(one for _, rule in self._matching(tool) for one in rule.raises)

    def enabled(self, tool: str) -> bool:
        """Whether a person switched an L3 tool on, by its name."""
        return tool in self._exact and self._exact[tool].enabled

    def settings(self, tool: str) -> Settings:
        """How calls of a tool are made: each setting from the most exact rule that has it."""
        rules = [rule for _, rule in self._matching(tool)]
        if not rules:
            return self.defaults

        def first(said: Iterable[float | None], default: float | None) -> float | None:
            return next((value for value in said if value is not None), default)

        return Settings(
            timeout_s=first((rule.timeout_s for rule in rules), self.defaults.timeout_s),
            max_timeout_s=first((rule.max_timeout_s for rule in rules), self.defaults.max_timeout_s),
            idempotent=next((rule.idempotent for rule in rules if rule.idempotent is not None), self.defaults.idempotent),
            stale_s=first((rule.stale_s for rule in rules), self.defaults.stale_s),
            max_bytes=next((rule.max_bytes for rule in rules if rule.max_bytes is not None), self.defaults.max_bytes),
            # All of them, so that a more exact rule cannot take a guard away by accident.
            guards=tuple(guarded for rule in rules for guarded in rule.guards),
        )

    def _matching(self, tool: str) -> list[tuple[str, ToolRule]]:
        """The rules that speak of a tool, the most exact first."""
        matching = [(tool, self._exact[tool])] if tool in self._exact else []
        return matching + [(key, found) for key, found, pattern in self._patterns if key != tool and pattern.fullmatch(tool)]


def _compile(pattern: str) -> re.Pattern[str]:
    # A run of stars means the same as one, and would make the expression slow on names that nearly match.
    pattern = re.sub(r"\*+", "*", pattern)
    return re.compile("".join(".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern), re.DOTALL)


def _quoted(key: str) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]+", key):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
