"""The guard ``shell``: commands that begin like an allowed one and hold nothing a shell would interpret; without a list, none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.guards.text import flaw, quoted

#: What is the same to every shell, quoted or not. Spaces separate words; there is no way to write one inside a word.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_./:,@%+=-]+")


class ShellGuard:
    """Lets plain commands through.

    Args:
        commands: Beginnings, in whole words: ``git status`` allows ``git status src`` and not ``git push``.
        options: Options that may follow; any other word that begins with ``-`` is refused, as many run or write something.
    """

    name, whole = "shell", True

    def __init__(self, commands: Sequence[str] = (), options: Sequence[str] = ()) -> None:
        self._commands = [tuple(command.split()) for command in commands]
        self._options = frozenset(options)

    async def check(self, value: Any, call: Call) -> Any:
        if not self._commands:
            return Problem("", "commands are not allowed here; use a tool made for the purpose")
        given = list(value) if isinstance(value, (list, tuple)) else [value]
        words: list[str] = []
        for one in given:
            if (wrong := flaw(one, 4096, what="a command")) is not None:
                return wrong
            words.extend([one] if isinstance(value, (list, tuple)) else one.split(" "))
        words = [word for word in words if word]
        if odd := next((word for word in words if not _PLAIN.fullmatch(word)), None):
            return Problem("", f"the word {quoted(odd)} holds what a shell would interpret; use plain words separated by spaces")
        beginning = next((allowed for allowed in self._commands if tuple(words[: len(allowed)]) == allowed), None)
        if beginning is None:
            return Problem("", f"this command is not allowed; allowed beginnings: {self.describe()}")
        if odd := next((word for word in words[len(beginning) :] if word[0] in "-+" and word not in self._options), None):
            return Problem("", f"the option {quoted(odd)} is not allowed; allowed: {', '.join(sorted(self._options)) or 'none'}")
        return value

    def describe(self) -> str:
        return ", ".join(" ".join(words) for words in self._commands) or "refuses every command"
