"""Lists good tools among broken ones (no name, name of the wrong type, no schema, schema of the wrong type, not an object), with
null for everything optional, and nextCursor null. `subs` has boolean sub-schemas, `draft7` another dialect.

A good client offers echo, nulls, subs and draft7, and reports the others.
"""

from __future__ import annotations

from _base import ECHO, polite_legacy, serve

OBJECT = {"type": "object"}
NULLS = dict.fromkeys(("title", "description", "outputSchema", "annotations", "icons", "_meta", "execution"))
TOOLS = [
    ECHO,
    {"description": "has no name", "inputSchema": OBJECT},
    {"name": 17, "inputSchema": OBJECT},
    {"name": "no_schema"},
    {"name": "bad_schema", "inputSchema": "object"},
    "not a tool",
    None,
    {"name": "nulls", "inputSchema": OBJECT, **NULLS},
    {"name": "subs", "inputSchema": {"type": "object", "properties": {"any": True, "none": False}}},
    {"name": "draft7", "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}},
]

serve(polite=lambda m: {"result": {"tools": TOOLS, "nextCursor": None}} if m.get("method") == "tools/list" else polite_legacy(m))
