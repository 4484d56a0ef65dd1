"""Checks the ``guards`` of a tool: which kinds there are, and the options of each. What they do is in ``policy/guards``."""

from __future__ import annotations

import importlib.util
import math
from typing import Final

from .model import GuardConfig
from .table import Table

_TEXTS: Final = frozenset({"kinds", "schemas", "tables", "functions", "roots", "schemes", "hosts", "domains", "commands", "options"})
_TEXT: Final = frozenset({"dialect", "base", "pattern"})
_FLAGS: Final = frozenset({"resolve", "private", "dns"})
_NUMBERS: Final = frozenset({"min", "max"})

#: The options of each kind; those in the second tuple must be there.
_KINDS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "sql": (("dialect", "limit", "kinds", "schemas", "tables", "functions"), ("dialect",)),
    "path": (("roots", "base", "resolve"), ("roots",)),
    "url": (("schemes", "hosts", "ports", "private", "dns"), ()),
    "email": (("domains",), ("domains",)),
    "shell": (("commands", "options"), ()),
    "regex": (("pattern",), ("pattern",)),
    "range": (("min", "max"), ()),
}
#: Those that the tests attack; another dialect has other ways round, which nobody looked at.
DIALECTS: Final = ("postgres", "mysql", "sqlite", "tsql")
_SQL_KINDS: Final = ("select", "insert", "update", "delete", "merge")


def guards(table: Table) -> tuple[GuardConfig, ...]:
    """The guards of one tool; each kind is a table, or an array of them.

    Raises:
        ConfigError: An unknown kind or option, a wrong value, or a kind whose extra is not installed.
    """
    table.only(tuple(_KINDS))
    found = []
    for kind, value in table.values.items():
        if isinstance(value, list):
            for index, one in enumerate(value):
                if not isinstance(one, dict):
                    raise table.expected("a table", kind, index, got=one)
                found.append(_guard(kind, Table(one, (*table.path, kind, index), table.source)))
        else:
            found.append(_guard(kind, table.table(kind, 'a table, as in { argument = "path", … }')))
    return tuple(found)


def as_written(guards: tuple[GuardConfig, ...]) -> dict[str, list[dict[str, object]]]:
    """The guards of one tool as values for TOML."""
    tables: dict[str, list[dict[str, object]]] = {}
    for guard in guards:
        options = {key: list(value) if isinstance(value, tuple) else value for key, value in guard.options.items()}
        tables.setdefault(guard.kind, []).append({"argument": list(guard.arguments), **options})
    return tables


def _guard(kind: str, table: Table) -> GuardConfig:
    known, needed = _KINDS[kind]
    table.only(("argument", *known))
    for key in ("argument", *needed):
        if key not in table:
            raise table.error(f"the guard {kind} needs {key!r}")
    arguments = _arguments(table)
    options = {key: _option(table, key) for key in known if key in table}
    for key in needed:
        if not options[key]:
            raise table.error("cannot be empty", key)
    if kind == "sql":
        _check_sql(table)
    elif kind == "path":
        for index, root in enumerate(table.texts("roots", "a list of folders") or ()):
            if not root.strip("/ "):
                raise table.error("guards nothing: everything lies below it", "roots", index)
    elif kind == "range":
        if not options:
            raise table.error("the guard range needs 'min' or 'max'")
        least, most = table.values.get("min"), table.values.get("max")
        if isinstance(least, (int, float)) and isinstance(most, (int, float)) and least > most:
            raise table.error(f"min ({least:g}) is above max ({most:g}), so no number would fit", "min")
    return GuardConfig(kind=kind, arguments=arguments, options=options)


def _arguments(table: Table) -> tuple[str, ...]:
    written = table.values["argument"]
    names = (table.text("argument"),) if isinstance(written, str) else table.texts("argument", "an argument's name, or a list of names")
    checked = tuple(name for name in names or () if name)
    if not checked or checked != names:
        raise table.error("expected an argument's name or a JSON pointer, got an empty text", "argument")
    return checked


def _option(table: Table, key: str) -> object:
    if key in _TEXTS:
        return table.texts(key, "a list of texts")
    if key in _TEXT:
        return table.text(key)
    if key in _FLAGS:
        return table.flag(key, False)
    if key == "limit":
        return table.integer(key, 0, least=1)
    value = table.values[key]
    if key in _NUMBERS:
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not math.isfinite(value):
            raise table.expected("a number", key, got=value)
        return value
    if not isinstance(value, list) or not all(type(one) is int and 0 < one < 65536 for one in value):
        raise table.error("expected a list of ports, as in [443]", key)
    return tuple(value)


def _check_sql(table: Table) -> None:
    if (dialect := table.text("dialect")) not in DIALECTS:
        raise table.error(f"expected one of {', '.join(DIALECTS)}, got {dialect!r}", "dialect")
    for index, kind in enumerate(table.texts("kinds", "a list of kinds") or _SQL_KINDS):
        if kind not in _SQL_KINDS:
            raise table.error(f"expected one of {', '.join(_SQL_KINDS)}, got {kind!r}", "kinds", index)
    if importlib.util.find_spec("sqlglot") is None:
        raise table.error("the guard sql needs the extra 'sql', which is not installed", hint="pip install 'dragoman[sql]'")
