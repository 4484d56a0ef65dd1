"""Turns words as a person types them into the arguments of a tool; the tool's schema decides what a word means.

``k=v`` (typed by the schema), ``k:=JSON``, ``k=@FILE`` (``@@`` for a literal ``@``), and a JSON object as the base of all.
A value that cannot be read as its type stays text: the check of arguments says better what was expected.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dragoman.errors import ConfigError
from dragoman.policy.names import some

ReadFile = Callable[[str], str]
Stdin = Callable[[], str]

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BOOLEAN: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_ALL: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
_MAX_DEPTH: Final = 20
_LONGEST_NUMBER: Final = 400


def parse(words: Sequence[str], schema: Any, read_file: ReadFile, stdin: Stdin, base: str | None = None) -> dict[str, Any]:
    """The arguments.

    Args:
        words: What was typed.
        schema: The tool's ``inputSchema``; anything that is no object means that all values are text.
        read_file: The text of a file by its path.
        stdin: All of standard input as text.
        base: A JSON object, ``@FILE``, or ``-`` for stdin; words add to it and win.

    Raises:
        ConfigError: A word is none of these forms, a name comes twice, JSON is broken, or a file cannot be read.
    """
    found: dict[str, Any] = {} if base is None else _base(base, read_file, stdin)
    seen: set[str] = set()
    for word in words:
        name, sign, text = word.partition("=")
        is_json = name.endswith(":")
        name = name.removesuffix(":") if is_json else name
        if not sign or not name:
            raise ConfigError(f"{word!r} is no argument", hint=_forms(schema))
        if name in seen:
            raise ConfigError(f"the argument {name} is given twice", hint=f"a list is written as JSON: {name}:='[1, 2]'")
        seen.add(name)
        if text.startswith("@@"):
            text = text[1:]
        elif text.startswith("@"):
            text = stdin() if text == "@-" else read_file(text[1:])
        found[name] = _json(name, text) if is_json else typed(name, text, property_types(schema, name))
    return found


def typed(name: str, text: str, types: frozenset[str]) -> Any:
    """``text`` as one of ``types``; text where it may be text, or cannot be read as anything else.

    Raises:
        ConfigError: It begins as JSON where only an array or object fits, and is none.
    """
    if "string" in types or not types:
        return text
    word = text.strip()
    if "null" in types and word == "null":
        return None
    if "boolean" in types and word.lower() in _BOOLEAN:
        return _BOOLEAN[word.lower()]
    if types & {"integer", "number"} and len(word) <= _LONGEST_NUMBER:
        if _INTEGER.fullmatch(word):
            return int(word)
        if "number" in types and _NUMBER.fullmatch(word) and math.isfinite(number := float(word)):
            return number
    if ("array" in types and word.startswith("[")) or ("object" in types and word.startswith("{")):
        return _json(name, word)
    return text


def property_types(schema: Any, name: str) -> frozenset[str]:
    """The JSON types that a schema lets an argument have; empty where it does not say."""
    if not isinstance(schema, Mapping):
        return frozenset()
    for holder in _at_place(schema, schema, 0):
        properties = holder.get("properties")
        if isinstance(properties, Mapping) and name in properties:
            return _types(properties[name], schema, 0) or frozenset()
    return _types(schema.get("additionalProperties"), schema, 0) or frozenset()


def _at_place(node: Any, root: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """A schema and all that apply at the same place of the value."""
    if not isinstance(node, Mapping) or depth > _MAX_DEPTH:
        return []
    found = [node]
    if isinstance(reference := node.get("$ref"), str):
        found += _at_place(_target(reference, root), root, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        if isinstance(many := node.get(key), list):
            for one in many[:100]:
                found += _at_place(one, root, depth + 1)
    return found[:1000]


def _types(node: Any, root: Mapping[str, Any], depth: int) -> frozenset[str] | None:
    """``None``: it does not say."""
    if not isinstance(node, Mapping) or depth > _MAX_DEPTH:
        return None
    said: list[frozenset[str]] = []
    if isinstance(kind := node.get("type"), str):
        said.append(frozenset({kind}))
    elif isinstance(kind, list):
        said.append(frozenset(item for item in kind if isinstance(item, str)))
    if isinstance(values := node.get("enum"), list):
        said.append(frozenset(_kind(value) for value in values))
    if "const" in node:
        said.append(frozenset({_kind(node["const"])}))
    if isinstance(reference := node.get("$ref"), str) and (there := _types(_target(reference, root), root, depth + 1)) is not None:
        said.append(there)
    for key in ("anyOf", "oneOf"):
        if isinstance(many := node.get(key), list):
            branches = [_types(one, root, depth + 1) for one in many[:100]]
            said.append(frozenset().union(*(_ALL if branch is None else branch for branch in branches)))
    if isinstance(every := node.get("allOf"), list):
        said += [there for one in every[:100] if (there := _types(one, root, depth + 1)) is not None]
    if not said:
        return None
    both = said[0]
    for more in said[1:]:
        both = frozenset(kind for kind in both if kind in more or (kind == "integer" and "number" in more)) | frozenset(
            kind for kind in more if kind == "integer" and "number" in both
        )
    return both


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


def _target(reference: str, root: Mapping[str, Any]) -> Any:
    """What a reference within the schema means; references elsewhere are never followed."""
    if not reference.startswith("#"):
        return None
    value: Any = root
    for part in reference[1:].split("/")[1:]:
        part = part.replace("~1", "/").replace("~0", "~")
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _base(text: str, read_file: ReadFile, stdin: Stdin) -> dict[str, Any]:
    if text == "-" or text == "@-":
        text = stdin()
    elif text.startswith("@"):
        text = read_file(text[1:])
    value = _json("--args", text)
    if not isinstance(value, dict):
        raise ConfigError("--args is no JSON object", hint='--args \'{"name": "value"}\', --args @FILE, or --args - for standard input')
    return value


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as exc:
        what = "nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        hint = f"plain text is written {name}=TEXT" if name != "--args" else "quote it for the shell: --args '{\"a\": 1}'"
        raise ConfigError(f"the value of {name} is not valid JSON: {what}", hint=hint) from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"JSON has no {word}")


def _forms(schema: Any) -> str:
    forms = "write arguments as name=value, name:=JSON or name=@FILE"
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    names = some([str(name) for name in properties]) if isinstance(properties, Mapping) else ""
    return f"{forms}; names: {names}" if names else forms
