"""How much work a JSON schema can make, found by looking at it once; it decides nothing about values.

A schema comes from a stranger, and a small one can be built to take for ever (references that double at every step) or to
overrun the stack (long chains of references under deep values).  Such schemas are told from honest ones by counting.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

MAX_SCHEMAS: Final = 20_000
MAX_PATTERNS: Final = 500
#: References and combinators in a row at one place of a value. Honest schemas have fewer than ten.
MAX_CHAIN: Final = 60

_IN_PLACE_ONE: Final = ("not", "if", "then", "else")
_IN_PLACE_MANY: Final = ("allOf", "anyOf", "oneOf")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_DOWN_ONE: Final = (
    "additionalProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "items",
    "additionalItems",
    "contains",
    "propertyNames",
)
_DOWN_NAMED: Final = ("properties", "patternProperties")


class TooComplex(ValueError):
    """The schema is beyond a limit; the text says which."""


class Shape(NamedTuple):
    """What bounds the work of checking one value.

    Attributes:
        width: Subschemas that can apply at one place of the value.
        fan: How many of them look at the same child; 1 in nearly all schemas.
        reach: How many levels of the value the schema can look at; ``None``: any number, it is recursive.
        chain: Longest row of references and combinators at one place.
    """

    width: int
    fan: int
    reach: int | None
    chain: int

    def work(self, nodes: int, depth: int) -> float:
        """An upper bound of steps for a value of so many nodes and levels."""
        levels = depth if self.reach is None else min(depth, self.reach)
        # A float, since the exact number may have thousands of digits; capped before it overflows.
        return float(nodes) * self.width * (1.0 if self.fan <= 1 else min(1e30, float(self.fan) ** min(levels, 60)))


def shape_of(schema: Any) -> Shape:
    """Look at a whole schema.

    Raises:
        TooComplex: It is larger, or built worse, than any schema made for its purpose.
    """
    return _Survey(schema).shape()


class _Survey:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._anchors: dict[str, Any] = {}
        self._nodes: list[dict[str, Any]] = []
        self._collect()
        self._place: dict[int, tuple[int, int, int]] = {}
        self._reach: dict[int, int] = {}
        self._recursive = False

    def _collect(self) -> None:
        """All objects that may be schemas, without recursion: depth is the stranger's choice."""
        todo, patterns, seen = [self._root], 0, 0
        while todo:
            value = todo.pop()
            seen += 1
            if seen > 10 * MAX_SCHEMAS:
                raise TooComplex(f"it has more than {10 * MAX_SCHEMAS} parts")
            if isinstance(value, dict):
                self._nodes.append(value)
                for key in ("$anchor", "$dynamicAnchor", "$id", "id"):
                    if isinstance(name := value.get(key), str):
                        self._anchors.setdefault(name if key in ("$id", "id") else f"#{name}", value)
                named = value.get("patternProperties")
                patterns += isinstance(value.get("pattern"), str) + (len(named) if isinstance(named, dict) else 0)
                todo.extend(value.values())
            elif isinstance(value, list):
                todo.extend(value)
        if len(self._nodes) > MAX_SCHEMAS:
            raise TooComplex(f"it has more than {MAX_SCHEMAS} subschemas")
        if patterns > MAX_PATTERNS:
            raise TooComplex(f"it has more than {MAX_PATTERNS} patterns")

    def shape(self) -> Shape:
        width = fan = chain = 1
        for node in self._nodes:
            one, two, three = self._at_place(node, set(), 0)
            width, fan, chain = max(width, one), max(fan, two), max(chain, three)
        reach = self._depth(self._root, set(), 0)
        return Shape(width, fan, None if self._recursive else reach, chain)

    def _at_place(self, node: Any, on_way: set[int], depth: int) -> tuple[int, int, int]:
        """Width, fan and chain of one subschema, with everything that applies at the same place."""
        if not isinstance(node, dict):
            return 1, 0, 1
        if (known := self._place.get(id(node))) is not None:
            return known
        if id(node) in on_way:
            return 1, 0, 1  # a circle without descent: the validator notices and stops
        if depth > MAX_CHAIN:
            raise TooComplex(f"it chains more than {MAX_CHAIN} references and combinators")
        on_way.add(id(node))
        width, fan, chain = 1, int(any(True for _ in self._down(node))), 1
        for child in self._in_place(node):
            one, two, three = self._at_place(child, on_way, depth + 1)
            width, fan, chain = min(width + one, 10**9), min(fan + two, 10**9), max(chain, three + 1)
        on_way.discard(id(node))
        self._place[id(node)] = width, fan, chain
        return width, fan, chain

    def _depth(self, node: Any, on_way: set[int], depth: int) -> int:
        if not isinstance(node, dict):
            return 0
        if (known := self._reach.get(id(node))) is not None:
            return known
        if id(node) in on_way or depth > 200:
            self._recursive = True  # or so deep that it comes to the same
            return 0
        on_way.add(id(node))
        reach = max((self._depth(child, on_way, depth + 1) for child in self._in_place(node)), default=0)
        for child in self._down(node):
            reach = max(reach, 1 + self._depth(child, on_way, depth + 1))
        on_way.discard(id(node))
        self._reach[id(node)] = reach
        return reach

    def _in_place(self, node: dict[str, Any]) -> Iterator[Any]:
        for key in _REFERENCES:
            if isinstance(target := node.get(key), str):
                yield self._target(target)
        for key in _IN_PLACE_ONE:
            if key in node:
                yield node[key]
        for key in _IN_PLACE_MANY:
            if isinstance(many := node.get(key), list):
                yield from many
        for key in ("dependentSchemas", "dependencies"):
            if isinstance(named := node.get(key), dict):
                yield from named.values()

    def _down(self, node: dict[str, Any]) -> Iterator[Any]:
        for key in _DOWN_ONE:
            if isinstance(one := node.get(key), dict):
                yield one
        for key in ("prefixItems", "items"):
            if isinstance(many := node.get(key), list):
                yield from many
        for key in _DOWN_NAMED:
            if isinstance(named := node.get(key), dict):
                yield from named.values()

    def _target(self, reference: str) -> Any:
        if reference in ("#", ""):
            return self._root
        if reference in self._anchors:
            return self._anchors[reference]
        base, _, fragment = reference.partition("#")
        value = self._anchors.get(base, self._root) if base else self._root
        for part in unquote(fragment).split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict):
                value = value.get(part)
            elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                value = value[int(part)]
            else:
                return None
        return value
