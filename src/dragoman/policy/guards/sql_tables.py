"""Which tables a statement reads or writes, and whether it may: names of its own (``WITH``) apart, each by where it is seen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp

#: The systems' own; a person may still name them in ``schemas`` or ``tables``. ``information_schema`` and SQLite's list tables only.
_SYSTEM_SCHEMAS: Final = frozenset(
    {"pg_catalog", "pg_toast", "mysql", "sys", "performance_schema", "system", "msdb", "master", "crdb_internal"}
)
_SYSTEM_TABLE: Final = re.compile(
    r"(pg_|pragma_|sys(objects|columns|users|logins|databases|comments)$|dbms_|v\$|dba_|all_users$|user\$"
    r"|sqlite_(?!master$|schema$)|duckdb_|svv_|stl_|stv_)",
    re.I,
)
_PLAIN_NAME: Final = re.compile(r"[\w $-]{1,128}")


def objection(statement: exp.Expr, dialect: str, schemas: Sequence[str], tables: Sequence[str]) -> str | None:
    """Why the tables of a statement are refused, or ``None``. Names without a schema get the first of ``schemas``."""
    allowed_schemas, allowed_tables = {_fold(name) for name in schemas}, {_fold(name) for name in tables}
    for table in list(statement.find_all(exp.Table)):
        if isinstance(table.this, exp.Func):
            continue  # looked at as what it is
        if not isinstance(table.this, exp.Identifier):
            return "name tables as schema.table, in plain words"
        if not table.args.get("db") and _same(table, dialect) in set(_visible(table, dialect)):
            continue
        if table.args.get("catalog"):
            full = f"{table.catalog}.{table.db}.{table.name}"
            if _fold(full) not in allowed_tables:
                return f"the table {full} is in another database; name tables as schema.table"
            continue
        if not _PLAIN_NAME.fullmatch(table.name) or (table.db and not _PLAIN_NAME.fullmatch(table.db)):
            return f"{table.name!r} is not the plain name of a table"
        if not table.db and schemas:
            table.set("db", exp.to_identifier(schemas[0]))
        full = f"{table.db}.{table.name}" if table.db else table.name
        if _fold(table.db) in allowed_schemas or _fold(full) in allowed_tables:
            continue
        if allowed_schemas or allowed_tables:
            return f"the table {full} is not allowed; allowed: {', '.join((*(f'{name}.*' for name in schemas), *tables))}"
        if _fold(table.db) in _SYSTEM_SCHEMAS or (_fold(table.db) != "information_schema" and _SYSTEM_TABLE.match(table.name)):
            return f"{full} belongs to the database system itself and is not allowed"
    return None


def _fold(name: str) -> str:
    return name.lower()


def _same(node: exp.Expr, dialect: str) -> str:
    """A name so that two that are equal mean the same: where in doubt they differ, and the table counts as a real one."""
    name = node.this if isinstance(node, exp.Table) else node
    assert isinstance(name, exp.Identifier)
    return name.name.lower() if dialect in ("postgres", "redshift", "duckdb") and not name.args.get("quoted") else name.name


def _visible(table: exp.Table, dialect: str) -> Iterator[str]:
    """Names that ``WITH`` gives, as seen from a table: outside its own WITH all of them, inside those before (and itself, if recursive)."""
    below: exp.Expr = table
    node = table.parent
    inside: exp.CTE | None = None
    while node is not None:
        if isinstance(node, exp.CTE):
            inside = node
        elif isinstance(node, exp.With):
            for cte in _ctes(node):
                if cte is inside:
                    if node.args.get("recursive"):
                        yield from _alias(cte, dialect)
                    break
                yield from _alias(cte, dialect)
        elif isinstance(with_ := node.args.get("with_"), exp.With) and with_ is not below:
            for cte in _ctes(with_):
                yield from _alias(cte, dialect)
        below, node = node, node.parent


def _ctes(with_: exp.With) -> list[exp.CTE]:
    return [cte for cte in with_.expressions if isinstance(cte, exp.CTE)]


def _alias(cte: exp.CTE, dialect: str) -> Iterator[str]:
    alias = cte.args.get("alias")
    if isinstance(alias, exp.TableAlias) and isinstance(alias.this, exp.Identifier):
        yield _same(alias.this, dialect)
