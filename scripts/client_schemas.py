"""
Write tests/schemas/REVISION.json: the JSON Schemas of what a client sends in each revision, cut out of the protocol's own schemas.

`python scripts/client_schemas.py FOLDER` reads FOLDER/REVISION.json or FOLDER/REVISION/schema.json; the latter is how the `schema`
folder of the specification's public repository is laid out. Only definitions that a request, a notification, or a result of a client
leads to are kept, without their descriptions.
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent.parent / "tests" / "schemas"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
WORDS = frozenset({"$comment", "default", "description", "examples", "title"})
SOURCE = (
    "What a client sends in revision {0} of the Model Context Protocol, as machine-readable facts. Cut by scripts/client_schemas.py out of "
    "schema/{0}/schema.json of the specification's public repository, which is licensed under the MIT License, in "
    "transition to Apache-2.0. Copyright (c) Model Context Protocol, a Series of LF Projects, LLC., and contributors."
)

Json = dict[str, Any]


def bare(schema: Any) -> Any:
    """A schema without its words. Members of `properties` are names, whatever they are called."""
    if isinstance(schema, list):
        return [bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in ("properties", "patternProperties"):
            kept[key] = {name: bare(item) for name, item in value.items()}
        elif key in ("enum", "const", "required"):
            kept[key] = value
        elif key not in WORDS:
            kept[key] = bare(value)
    return kept


def references(schema: Any) -> set[str]:
    """Names of the definitions that a schema refers to."""
    if isinstance(schema, list):
        return set().union(*(references(item) for item in schema))
    if isinstance(schema, dict):
        here = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
        return here.union(*(references(item) for item in schema.values()))
    return set()


def members(definitions: Json, union: str) -> list[str]:
    """Names of the definitions in a union; a union of one may be that one itself."""
    found = definitions.get(union)
    if found is None:
        return []
    names = [item["$ref"].rpartition("/")[2] for item in found.get("anyOf", [found]) if "$ref" in item]
    return names or [union]


def by_method(definitions: Json, union: str) -> dict[str, str]:
    """The names by the method that each is for."""
    return {definitions[name]["properties"]["method"]["const"]: name for name in members(definitions, union)}


def results(definitions: Json) -> dict[str, list[str]]:
    """What may answer each request of a server: its own result, or where there are tasks, that it became one."""
    found = {}
    for method, name in by_method(definitions, "ServerRequest").items():
        own = name.removesuffix("Request") + "Result"
        found[method] = [own if own in definitions else "Result"]
        parts = references(definitions[name])
        parts = parts.union(*(references(definitions[part]) for part in parts))
        if any("task" in definitions[part].get("properties", ()) for part in parts):
            found[method].append("CreateTaskResult")
    return found


def cut(revision: str, whole: Json) -> Json:
    """The part of a schema that is about what a client sends."""
    key = "$defs" if "$defs" in whole else "definitions"
    definitions = bare(whole[key])
    requests, notifications = by_method(definitions, "ClientRequest"), by_method(definitions, "ClientNotification")
    answers = results(definitions)
    error = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in definitions else "JSONRPCError"
    wanted = {*requests.values(), *notifications.values(), *chain.from_iterable(answers.values()), error, "RequestId"}
    kept: set[str] = set()
    while wanted:
        name = wanted.pop()
        kept.add(name)
        wanted |= references(definitions[name]) - kept
    return {
        "$comment": SOURCE.format(revision),
        "$schema": whole["$schema"],
        "requests": dict(sorted(requests.items())),
        "notifications": dict(sorted(notifications.items())),
        "results": dict(sorted(answers.items())),
        "error": error,
        key: {name: definitions[name] for name in sorted(kept)},
    }


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: client_schemas.py FOLDER (with REVISION.json or REVISION/schema.json)")
    folder = Path(sys.argv[1])
    for revision in REVISIONS:
        source = next(path for path in (folder / f"{revision}.json", folder / revision / "schema.json") if path.exists())
        made = cut(revision, json.loads(source.read_text(encoding="utf-8")))
        lines = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in made.items()]
        (OUT / f"{revision}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
