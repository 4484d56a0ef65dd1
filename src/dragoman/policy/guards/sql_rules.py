"""What a statement may consist of: an allowlist of parts and functions, so that what nobody thought of is refused."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from dragoman.policy.guards.sql_functions import HARMFUL, HARMLESS
from dragoman.policy.guards.sql_limit import is_plain

_WRITES: Final[dict[str, type[exp.Expr]]] = {"insert": exp.Insert, "update": exp.Update, "delete": exp.Delete, "merge": exp.Merge}
#: Parts of statements that read. Conditions are operators, columns, literals and functions; the odd ones of those are looked at below.
_PARTS: Final = (
    exp.Query,
    exp.Condition,
    *(exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset, exp.Fetch, exp.Qualify),
    *(exp.With, exp.CTE, exp.TableAlias, exp.Table, exp.Identifier, exp.Star, exp.Alias, exp.Aliases, exp.Values, exp.Tuple, exp.Lateral),
    *(exp.DataType, exp.DataTypeParam, exp.Var, exp.Interval, exp.IntervalSpan, exp.IntervalOp, exp.TimeUnit, exp.AtTimeZone),
    *(exp.FromTimeZone, exp.Distinct, exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.WindowSpec, exp.HavingMax),
    *(exp.Cube, exp.Rollup, exp.GroupingSets, exp.TableSample, exp.Pivot, exp.PivotAlias, exp.Slice, exp.Lambda, exp.LimitOptions),
    *(exp.JSONPath, exp.JSONPathPart, exp.JSONKeyValue, exp.JSONColumnDef, exp.JSONSchema, exp.JSON, exp.FormatJson, exp.OnCondition),
    *(exp.JSONValue, exp.JSONExtractQuote, exp.OpenJSONColumnDef, exp.National, exp.Introducer, exp.CharacterSet, exp.ColumnDef),
)
_WRITE_PARTS: Final = (*_WRITES.values(), exp.Schema, exp.Returning, exp.OnConflict, exp.When, exp.Whens)
#: Members of a select that are more than reading: SELECT INTO, FOR UPDATE, hints, and settings of the server.
_MORE_THAN_READING: Final = ("into", "locks", "hint", "settings", "format", "options", "operation_modifiers", "for_")

#: Where functions that make text of any length take that length.
_SIZES: Final[dict[type[exp.Expr], str]] = {exp.Pad: "expression", exp.Repeat: "times", exp.Space: "this"}
_LONGEST_TEXT: Final = 10_000


def kind_of(statement: exp.Expr) -> str:
    """``select``, ``insert`` … or what else it is, in lower case; empty for what has no name."""
    if isinstance(statement, exp.Query):
        return "select"
    for kind, node in _WRITES.items():
        if isinstance(statement, node):
            return kind
    if isinstance(statement, exp.Command):
        return str(statement.this).lower()[:40]
    return statement.key if isinstance(statement, (exp.DDL, exp.Drop, exp.Alter, exp.Set, exp.Pragma, exp.Describe, exp.Values)) else ""


def objection(statement: exp.Expr, dialect: str, functions: frozenset[str]) -> str | None:
    """Why a statement is refused, or ``None``."""
    writes = kind_of(statement) != "select"
    if isinstance(statement, (exp.Update, exp.Delete)) and not statement.args.get("where"):
        return f"{kind_of(statement).upper()} needs a WHERE that says which rows"
    for node in statement.walk():
        if isinstance(node, tuple(_WRITES.values())) and node is not statement:
            return f"{node.key.upper()} inside another statement is not allowed"
        if not isinstance(node, _PARTS) and not (writes and isinstance(node, _WRITE_PARTS)):
            return f"{_words(node)} is not allowed in a statement here"
        if (problem := _odd(node, dialect, functions)) is not None:
            return problem
    return None


def _odd(node: exp.Expr, dialect: str, functions: frozenset[str]) -> str | None:
    if isinstance(node, exp.Query) and (found := next((key for key in _MORE_THAN_READING if node.args.get(key)), None)):
        return f"{'FOR UPDATE and other locks' if found == 'locks' else found.strip('_').upper()} is not allowed in a SELECT here"
    if isinstance(node, (exp.Operator, exp.SessionParameter, exp.PropertyEQ)):
        return f"{_words(node)} is not allowed in a statement here"
    if isinstance(node, exp.Parameter) and not (isinstance(node.this, exp.Literal) and node.this.name.isdigit()):
        return "variables such as @name are not allowed"
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
        qualified = node.sql(dialect=dialect).partition("(")[0].lower().replace('"', "")
        return None if qualified in functions else f"the function {qualified} is not allowed: only built-in functions, without a schema"
    if isinstance(node, exp.Func) and not isinstance(node, (exp.And, exp.Or, exp.Cast, exp.Case)):
        return _function(node, functions)
    return None


def _function(node: exp.Func, functions: frozenset[str]) -> str | None:
    if (key := _SIZES.get(type(node))) is not None and not is_plain(node.args.get(key), _LONGEST_TEXT):
        return f"{node.sql_name().lower()} needs a length in digits, at most {_LONGEST_TEXT}"
    if isinstance(node, (exp.Anonymous, exp.AnonymousAggFunc, exp.DynamicIdentifier)):
        name = node.name.lower() if isinstance(node.this, (str, exp.Identifier)) else ""
        known = isinstance(node.this, str) and name in HARMLESS
    else:
        name = node.sql_name().lower()
        known = type(node).__name__ not in HARMFUL
    if known or (name and name in functions):
        return None
    return f"the function {name or 'here'} is not allowed; only well-known functions without effects are"


def _words(node: exp.Expr) -> str:
    return node.key.replace("_", " ").upper()[:40]
