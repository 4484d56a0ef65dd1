"""Forms that servers want filled in: which schemas are taken, what a value must look like, and the defaults.

Only flat objects of primitives, as the protocol has them: what nests could hide what is being asked for.

Source: MCP 2025-11-25 and 2026-07-28 client/elicitation#requested-schema.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from dragoman.protocol.events import short
from dragoman.wire.flaw import Flaw

MAX_FIELDS: Final = 100
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_NESTED: Final = frozenset({"properties", "$ref", "allOf", "not", "if", "additionalProperties", "patternProperties", "prefixItems"})
_PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean"})


def flaws_of_schema(schema: Any) -> list[Flaw]:
    """Why a ``requestedSchema`` is not taken; empty if it is. ``None`` is a form without fields."""
    if schema is None:
        return []
    if not isinstance(schema, dict):
        return [Flaw("", "the schema of a form must be an object")]
    if schema.get("type", "object") != "object":
        return [Flaw("/type", f"a form is an object, not {short(schema['type'])}")]
    fields = schema.get("properties")
    if fields is None:
        return []
    if not isinstance(fields, dict):
        return [Flaw("/properties", "expected an object")]
    if len(fields) > MAX_FIELDS:
        return [Flaw("/properties", f"{len(fields)} fields, limit {MAX_FIELDS}")]
    return [Flaw(f"/properties/{name}", why) for name, field in fields.items() if (why := _why_not(field)) is not None]


def _why_not(field: Any) -> str | None:
    if not isinstance(field, dict):
        return "a field must be described by an object"
    if nested := sorted(_NESTED & field.keys()):
        return f"a field must be a plain value, and this one has {nested[0]}"
    kind = field.get("type")
    if kind == "array":
        return None if _choices(field.get("items")) is not None else "a list must be one of given strings"
    if kind is None and _choices(field) is not None:
        return None
    if not isinstance(kind, str) or kind not in _PRIMITIVES:
        return f"a field must be a string, number, boolean or a choice, not {short(kind)}"
    return None


def _choices(spec: Any) -> list[Any] | None:
    """What may be chosen: ``enum``, or the ``const`` of each of ``oneOf`` or ``anyOf``; ``None`` where nothing is given."""
    if not isinstance(spec, Mapping):
        return None
    if isinstance(spec.get("enum"), list):
        return list(spec["enum"])
    for key in ("oneOf", "anyOf"):
        options = spec.get(key)
        if isinstance(options, list) and all(isinstance(option, dict) and "const" in option for option in options):
            return [option["const"] for option in options]
    return None


def with_defaults(schema: Any, content: dict[str, Any]) -> dict[str, Any]:
    """The content, with what was left out filled from the schema's defaults."""
    given = {name: field["default"] for name, field in _fields(schema).items() if "default" in field}
    return {**{name: value for name, value in given.items() if _misfit(_fields(schema)[name], value) is None}, **content}


def flaws_of_content(schema: Any, content: Mapping[str, Any]) -> list[Flaw]:
    """What of an answer does not fit its form; ``pattern`` is left to the server."""
    fields = _fields(schema)
    required = schema.get("required") if isinstance(schema, dict) else None
    flaws = [Flaw(f"/{name}", "is required") for name in required or () if isinstance(name, str) and name not in content]
    for name, value in content.items():
        if name in fields:
            why = _misfit(fields[name], value)
            if why is not None:
                flaws.append(Flaw(f"/{name}", why))
        elif not isinstance(value, str | int | float | bool) and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            flaws.append(Flaw(f"/{name}", "only strings, numbers, booleans and lists of strings can be sent"))
    return flaws


def _fields(schema: Any) -> dict[str, dict[str, Any]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {name: field for name, field in (properties or {}).items() if isinstance(field, dict)} if isinstance(properties, dict) else {}


def _misfit(field: dict[str, Any], value: Any) -> str | None:
    kind, choices = field.get("type"), _choices(field)
    if kind == "array":
        return _misfit_list(field, value)
    if choices is not None and not any(value == choice and type(value) is type(choice) for choice in choices):
        return f"must be one of {short(choices)}"
    if kind == "string":
        return _misfit_text(field, value) if isinstance(value, str) else "must be a string"
    if kind == "boolean":
        return None if isinstance(value, bool) else "must be true or false"
    if kind in ("number", "integer"):
        return _misfit_number(field, kind, value)
    return None


def _misfit_list(field: dict[str, Any], value: Any) -> str | None:
    if not isinstance(value, list):
        return "must be a list"
    choices = _choices(field.get("items")) or []
    if any(item not in choices for item in value):
        return f"may only hold {short(choices)}"
    return _outside(len(value), field.get("minItems"), field.get("maxItems"), "items")


def _misfit_number(field: dict[str, Any], kind: str, value: Any) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return "must be a number"
    if kind == "integer" and value != int(value):
        return "must be a whole number"
    return _outside(value, field.get("minimum"), field.get("maximum"), "")


def _misfit_text(field: dict[str, Any], value: str) -> str | None:
    outside = _outside(len(value), field.get("minLength"), field.get("maxLength"), "characters")
    if outside is not None:
        return outside
    wanted = field.get("format")
    return f"is no {wanted}" if isinstance(wanted, str) and wanted in _FORMATS and not _FORMATS[wanted](value) else None


def _outside(size: float, low: Any, high: Any, unit: str) -> str | None:
    if isinstance(low, int | float) and size < low:
        return f"must be at least {low} {unit}".rstrip()
    if isinstance(high, int | float) and size > high:
        return f"must be at most {high} {unit}".rstrip()
    return None


def _is_uri(value: str) -> bool:
    try:
        return bool(urlsplit(value).scheme) and not any(char.isspace() for char in value)
    except ValueError:
        return False


def _is_date(value: str) -> bool:
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return len(value) == 10


def _is_moment(value: str) -> bool:
    try:
        return datetime.datetime.fromisoformat(value).tzinfo is not None and value[10:11] in ("T", "t", " ")
    except ValueError:
        return False


_FORMATS: Final = {"email": lambda v: _EMAIL.fullmatch(v) is not None, "uri": _is_uri, "date": _is_date, "date-time": _is_moment}
