"""The guard ``regex``: the whole text matches a pattern, by an engine whose time is linear in the text."""

from __future__ import annotations

from typing import Any, Final

from dragoman.errors import ConfigError, Problem
from dragoman.policy.chain import Call
from dragoman.policy.problems import quoted, shown

_COMPILED_BYTES: Final = 1_000_000
_LONGEST: Final = 100_000


class RegexGuard:
    """Lets texts through that match from end to end.

    Raises:
        ConfigError: The pattern is none, or has what cannot be matched in linear time (look-around, back references).
    """

    name, whole = "regex", False

    def __init__(self, pattern: str) -> None:
        import jsonschema_rs

        self._pattern = pattern
        linear = jsonschema_rs.RegexOptions(size_limit=_COMPILED_BYTES)
        try:
            # Alone first: "a)|(b" is no pattern, and would become one between our brackets.
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=linear)
            whole = {"type": "string", "pattern": rf"^(?:{pattern})$"}
            self._validator = jsonschema_rs.Draft202012Validator(whole, offline=True, pattern_options=linear)
        except ValueError as exc:
            raise ConfigError(
                f"the pattern {quoted(pattern)} cannot be used by the guard regex",
                hint="no look-around and no back references: it has to match in linear time",
            ) from exc

    async def check(self, value: Any, call: Call) -> Any:
        if not isinstance(value, str):
            return Problem("", f"expected text that matches {quoted(self._pattern, 120)}, got {shown(value)}")
        if len(value) > _LONGEST:
            return Problem("", f"text may have at most {_LONGEST} characters, this one has {len(value)}")
        if not self._validator.is_valid(value):
            return Problem("", f"expected text that matches {quoted(self._pattern, 120)} as a whole, got {shown(value)}")
        return value

    def describe(self) -> str:
        return f"the whole text matches {self._pattern}"
