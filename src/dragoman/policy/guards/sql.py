"""The guard ``sql``: one statement that only reads (or of the kinds named), over allowed tables, with a ceiling on its rows.

What is sent is written anew from what was understood, so a text that another reader would take differently does not survive. Needs the
extra ``sql``. It does not know how long a statement runs: give the database user a time limit, and no more rights than it needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.problems import shown

if TYPE_CHECKING:
    from sqlglot import exp

KINDS: Final = ("select", "insert", "update", "delete", "merge")
_LONGEST: Final = 20_000
_DEEPEST: Final = 40
_TOKENS: Final = 4_000


class SqlGuard:
    """Lets statements through, rewritten.

    Args:
        dialect: The database's, as sqlglot names it: ``postgres``, ``mysql``, ``sqlite``, ``tsql`` …
        limit: Most rows of a select; ``None``: no ceiling.
        kinds: Of :data:`KINDS`. Whatever else a statement does, a write stands alone, never inside another statement.
        schemas, tables: What may be read and written; both empty: all but the system's own. A table without a schema is taken
            to be in the first of ``schemas``, and is sent so.
        functions: More functions that may be called; those without effects are known.
    """

    name, whole = "sql", False

    def __init__(
        self,
        dialect: str,
        limit: int | None = None,
        kinds: Sequence[str] = ("select",),
        schemas: Sequence[str] = (),
        tables: Sequence[str] = (),
        functions: Sequence[str] = (),
    ) -> None:
        self._dialect, self._limit, self._kinds = dialect, limit, tuple(kinds)
        self._schemas, self._tables = tuple(schemas), tuple(tables)
        self._functions = frozenset(name.lower() for name in functions)

    async def check(self, value: Any, call: Call) -> Any:
        if not isinstance(value, str):
            return Problem("", f"expected an SQL statement as text, got {shown(value)}")
        if len(value) > _LONGEST:
            return Problem("", f"a statement may have at most {_LONGEST} characters, this one has {len(value)}")
        if any((ord(char) < 32 and char not in "\t\n\r") or char in "\x7f\ufeff" for char in value):
            return Problem("", "a statement cannot hold control characters")
        return await asyncio.to_thread(self._checked, value)

    def _checked(self, text: str) -> str | Problem:
        from dragoman.policy.guards.sql_reading import Unreadable, read, write

        try:
            statement = read(text, self._dialect, deepest=_DEEPEST, most_tokens=_TOKENS)
        except Unreadable as exc:
            return Problem("", str(exc))
        try:
            return self._inspected(statement) or write(statement, self._dialect)
        except Unreadable as exc:
            return Problem("", str(exc))
        except RecursionError:
            return Problem("", "the statement is nested too deep; write it simpler")

    def _inspected(self, statement: exp.Expr) -> Problem | None:
        """Look at a statement, and change it where the rules say so."""
        from dragoman.policy.guards import sql_limit, sql_rules, sql_tables

        allowed = ", ".join(kind.upper() for kind in self._kinds)
        kind = sql_rules.kind_of(statement)
        if kind not in self._kinds:
            return Problem("", f"only {allowed} is allowed here, and this statement is {kind.upper() or 'of another kind'}")
        objection = (
            sql_rules.objection(statement, self._dialect, self._functions)
            or sql_tables.objection(statement, self._dialect, self._schemas, self._tables)
            or (sql_limit.force(statement, self._limit) if kind == "select" and self._limit is not None else None)
        )
        return Problem("", objection) if objection is not None else None

    def describe(self) -> str:
        words = [f"{self._dialect}, {', '.join(kind.upper() for kind in self._kinds)} only"]
        if self._schemas or self._tables:
            words.append(f"in {', '.join((*self._schemas, *self._tables))}")
        if self._limit is not None:
            words.append(f"LIMIT {self._limit}")
        return ", ".join(words)


__all__ = ["KINDS", "SqlGuard"]
