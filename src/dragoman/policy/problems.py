"""Says in words what is wrong with a value, for a model that is to repair it: where, what was expected, what came instead.

Values are shortened; what looks like a secret, by its name or its shape, is not repeated.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.errors import Problem
from dragoman.policy.ports import Redact
from dragoman.wire.escape import escape_inline

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

MAX_PROBLEMS: Final = 20
_SECRET_NAME: Final = re.compile(
    r"pass(word|wd|phrase)?$|secret|token$|api_?key|private_?key|access_?key|credential|authorization|cookie", re.I
)
_TYPES: Final = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}
_BOUNDS: Final = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}
_SIZES: Final = {
    "minLength": ("at least", "character"),
    "maxLength": ("at most", "character"),
    "minItems": ("at least", "item"),
    "maxItems": ("at most", "item"),
    "minProperties": ("at least", "member"),
    "maxProperties": ("at most", "member"),
}


def describe(errors: Iterable[ValidationError], schema: Any, redact: Redact | None = None) -> list[Problem]:
    """Problems in words, each once, at most twenty; the last line says how many more there are."""
    found: dict[Problem, None] = {}
    for error in errors:
        for problem in _problems(error, schema, redact):
            found.setdefault(problem)
    problems = list(found)
    if (more := len(problems) - MAX_PROBLEMS) > 0:
        problems[MAX_PROBLEMS:] = [Problem("", f"and {more} more problems")]
    return problems


def unknown_names(given: Iterable[str], names: Iterable[str]) -> list[Problem]:
    """One problem per argument that the schema does not name, with the nearest name or the list of names."""
    known = sorted(names)
    return [_unknown((), name, known) for name in given if name not in set(known)]


def pointer(path: Iterable[str | int]) -> str:
    """A JSON pointer (RFC 6901), safe to print."""
    return "".join("/" + escape_inline(str(part)).replace("~", "~0").replace("/", "~1") for part in path)


def shown(value: Any, path: Iterable[str | int] = (), redact: Redact | None = None) -> str:
    """A value in words, at most 80 characters of it."""
    named = any(isinstance(part, str) and _SECRET_NAME.search(part) for part in path)
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return "a number (hidden)" if named else f"the number {str(value)[:40]}"
        case str():
            if named or (redact is not None and redact(value[:4096]) != value[:4096]):
                return f"a string of {len(value)} characters (hidden)"
            return f"the string {quoted(value)}"
        case list() | tuple():
            return f"an array of {len(value)} item{_s(len(value))}"
        case dict():
            return f"an object with {len(value)} member{_s(len(value))}"
    return f"a {type(value).__name__}"


def quoted(text: str, limit: int = 80) -> str:
    """A text in double quotes, on one line, shortened."""
    cut = text if len(text) <= limit else text[:limit] + "…"
    return '"' + escape_inline(cut.replace("\\", "\\\\").replace('"', '\\"')) + '"'


def types_in_words(types: Iterable[str]) -> str:
    """``an integer or null``."""
    return " or ".join(_TYPES.get(kind, kind) for kind in types)


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _problems(error: ValidationError, schema: Any, redact: Redact | None) -> list[Problem]:
    path, keyword, value = list(error.instance_path), error.kind.name, error.kind.value
    where = pointer(path)

    def got() -> str:
        return f"got {shown(error.instance, path, redact)}"

    if keyword == "required":
        return [_missing(path, str(value), _subschema(schema, error.schema_path[:-1]))]
    if keyword in ("additionalProperties", "unevaluatedProperties") and isinstance(value, list):
        known = _subschema(schema, error.schema_path[:-1])
        named = known.get("properties") if isinstance(known, dict) else None
        return [_unknown(path, str(name), sorted(named) if isinstance(named, dict) else []) for name in value]
    if keyword == "type":
        return [Problem(where, f"expected {types_in_words(value)}, {got()}")]
    if keyword == "enum" and isinstance(value, list):
        return [Problem(where, f"expected one of {_options(value)}, {got()}{_did_you_mean(error.instance, value)}")]
    if keyword == "const":
        return [Problem(where, f"expected {_json(value)}, {got()}")]
    if keyword in _BOUNDS:
        return [Problem(where, f"expected {_BOUNDS[keyword]} {_json(value)}, {got()}")]
    if keyword in _SIZES and isinstance(value, int):
        bound, unit = _SIZES[keyword]
        size = f"{len(error.instance)}" if isinstance(error.instance, str | list | dict) else "another size"
        return [Problem(where, f"expected {bound} {value} {unit}{_s(value)}, got {size}")]
    if keyword == "pattern":
        return [Problem(where, f"expected text that matches {quoted(str(value), 120)}, {got()}")]
    if keyword == "format":
        return [Problem(where, f"expected text in the format {quoted(str(value))}, {got()}")]
    if keyword == "uniqueItems":
        return [Problem(where, "expected items that are all different")]
    if keyword in ("anyOf", "oneOf"):
        return _alternatives(error, where, got(), schema, redact)
    return [Problem(where, f"does not satisfy {keyword!r} of the schema")]


def _alternatives(error: ValidationError, where: str, got: str, schema: Any, redact: Redact | None) -> list[Problem]:
    branches: list[list[ValidationError]] = getattr(error.kind, "context", None) or []
    if not branches or not all(branches):
        return [Problem(where, "fits several of the allowed forms at once; exactly one must fit")]
    here = len(error.instance_path)
    first = [branch[0] for branch in branches]
    if all(len(branch) == 1 and branch[0].kind.name == "type" and len(branch[0].instance_path) == here for branch in branches):
        kinds = [kind for one in first for kind in one.kind.value]
        return [Problem(where, f"expected {types_in_words(dict.fromkeys(kinds))}, {got}")]
    # The branch that came furthest is the one that was meant: not of the wrong type altogether, fewest problems.
    closest = min(branches, key=lambda b: (any(e.kind.name in ("type", "const") and len(e.instance_path) == here for e in b), len(b)))
    inner = [problem for one in closest[:5] for problem in _problems(one, schema, redact)]
    return [Problem(p.path, f"{p.message} (the closest of {len(branches)} allowed forms)") for p in inner]


def _missing(path: list[str | int], name: str, parent: Any) -> Problem:
    named = parent.get("properties") if isinstance(parent, dict) else None
    member = named.get(name) if isinstance(named, dict) else None
    text = "is required but missing"
    if isinstance(member, dict):
        kind = member.get("type")
        expected = types_in_words([kind] if isinstance(kind, str) else kind) if isinstance(kind, str | list) else ""
        description = member.get("description")
        meaning = escape_inline(description[:160]) if isinstance(description, str) else ""
        if detail := ": ".join(part for part in (expected, meaning) if part):
            text += f" ({detail})"
    return Problem(pointer([*path, name]), text)


def _unknown(path: Iterable[str | int], name: str, known: list[str]) -> Problem:
    near = difflib.get_close_matches(name, known, 1, 0.6)
    if near:
        advice = f"; did you mean {quoted(near[0])}?"
    elif known:
        advice = f"; known: {', '.join(escape_inline(one) for one in known[:12])}{' …' if len(known) > 12 else ''}"
    else:
        advice = ""
    return Problem(pointer([*path, name[:80]]), f"no such argument{advice}")


def _options(options: list[Any]) -> str:
    texts = [_json(option) for option in options[:12]]
    return ", ".join(texts) + (f" … ({len(options)} in all)" if len(options) > 12 else "")


def _did_you_mean(value: Any, options: list[Any]) -> str:
    if not isinstance(value, str):
        return ""
    texts = {option.casefold(): option for option in options if isinstance(option, str)}
    near = difflib.get_close_matches(value.casefold()[:200], list(texts), 1, 0.6)
    return f"; did you mean {quoted(texts[near[0]])}?" if near else ""


def _json(value: Any) -> str:
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "a value"
    return escape_inline(text if len(text) <= 80 else text[:80] + "…")


def _subschema(schema: Any, path: Iterable[str | int]) -> Any:
    """What stands at a schema path. Paths go through ``$ref`` as if its target stood there, so references are followed."""
    value = schema
    for part in path:
        if part == "$ref" and isinstance(value, Mapping):
            reference = value.get("$ref")
            value = schema
            for step in reference[1:].split("/")[1:] if isinstance(reference, str) and reference.startswith("#") else [None]:
                value = value.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(value, Mapping) and step is not None else None
        elif isinstance(value, Mapping):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return None
    return value
