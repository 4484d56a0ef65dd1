"""Puts a ceiling on the rows of a select."""

from __future__ import annotations

from sqlglot import exp


def force(statement: exp.Expr, ceiling: int) -> str | None:
    """Set the limit of a select to the ceiling unless it has a lower one; why that cannot be done, or ``None``."""
    if not isinstance(statement, (exp.Select, exp.SetOperation)):
        return "write the statement without brackets around it"
    present = statement.args.get("limit")
    if isinstance(present, exp.Fetch):
        options = present.args.get("limit_options")
        if isinstance(options, exp.LimitOptions) and (options.args.get("percent") or options.args.get("with_ties")):
            return f"write LIMIT with a number up to {ceiling} instead of FETCH … PERCENT or WITH TIES"
        if not is_plain(present.args.get("count"), ceiling):
            present.set("count", exp.Literal.number(ceiling))
        return None
    if isinstance(present, exp.Limit):
        if present.args.get("expressions") or present.args.get("limit_options"):
            return f"write a plain LIMIT with a number up to {ceiling}"
        if is_plain(present.expression, ceiling):
            return None
    statement.limit(ceiling, copy=False)
    return None


def is_plain(value: object, ceiling: int) -> bool:
    """A whole number in digits, no higher than the ceiling. Anything else may be more: -1 is no limit to SQLite, ALL to others."""
    if not isinstance(value, exp.Literal) or value.is_string:
        return False
    digits: str = value.name
    return digits.isascii() and digits.isdigit() and len(digits) < 16 and int(digits) <= ceiling
