"""Compiled JSON schemas: made at a tool's first call, kept for the next, and set aside where they cannot be used safely.

Nothing is ever fetched for a ``$ref``, neither from the network nor from a file.  Regular expressions run on a linear engine;
a pattern which that engine does not know (look-around, back-references) is left unchecked.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dragoman.policy.schema_shape import Shape, TooComplex, shape_of

if TYPE_CHECKING:
    from jsonschema_rs import RegexOptions, ValidationError, Validator

MAX_KEPT: Final = 2_000
MAX_DEPTH: Final = 100
#: About a tenth of a second of the validator, in the worst of cases.
MAX_WORK: Final = 2e7
#: An error costs two thousand times a step.
MAX_WORK_FOR_ALL: Final = 5e4
#: The validator's stack holds about 25,000 of its frames in 8 MB; threads of some systems have much less.
MAX_STACK: Final = 1_500
_REGEX_BYTES: Final = 2**18

Schema = dict[str, Any] | bool


class Checker:
    """One compiled schema.

    Attributes:
        names: The members it names at the top; ``extras`` says that others are allowed explicitly, or that it names none.
        notes: What of it is not checked, for the record.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.notes: tuple[str, ...] = ()
        self._shape: Shape = shape_of(schema)
        self._validator, dropped = _compile(schema)
        if dropped:
            self.notes = (f"{dropped} pattern(s) of the schema are not checked: they need look-around or are too large",)
        self.names, self.extras = _top_level(schema)
        # Nearly every schema and value: no need to look at the value first.
        reach = self._shape.reach
        self.is_plain = reach is not None and reach * self._shape.chain <= MAX_STACK and self._shape.work(1000, reach) <= MAX_WORK / 100

    def can_check(self, nodes: int, depth: int) -> bool:
        """Whether checking a value of this size ends in good time and within the stack."""
        levels = depth if self._shape.reach is None else min(depth, self._shape.reach)
        return depth <= MAX_DEPTH and levels * self._shape.chain <= MAX_STACK and self._shape.work(nodes, depth) <= MAX_WORK

    def is_valid(self, value: Any) -> bool:
        return self._validator.is_valid(value)

    def errors(self, value: Any) -> list[ValidationError]:
        """All of them; only one where there could be very many, since the library makes them all at once."""
        if self._shape.work(*measure(value)) > MAX_WORK_FOR_ALL:
            first = self.first_error(value)
            return [] if first is None else [first]
        return list(self._validator.iter_errors(value))

    def first_error(self, value: Any) -> ValidationError | None:
        """One of them, without looking for the others; ``None`` if there is none."""
        import jsonschema_rs

        try:
            self._validator.validate(value)
        except jsonschema_rs.ValidationError as exc:
            return exc
        return None


class SetAside(NamedTuple):
    """A schema that is not used, and why; ``foreign`` if it refers to one that lies elsewhere, which is never fetched."""

    schema: Schema
    reason: str
    foreign: bool = False


class Schemas:
    """The compiled schemas of many tools; the least recently used give way beyond ``max_kept``."""

    def __init__(self, max_kept: int = MAX_KEPT) -> None:
        self._kept: OrderedDict[tuple[str, str, str], Checker | SetAside] = OrderedDict()
        self._max = max_kept

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, server: str, tool: str, side: str, schema: Schema) -> Checker | SetAside:
        """The compiled schema; ``side`` is ``in`` or ``out``. A schema that differs from the kept one replaces it."""
        key = (server, tool, side)
        kept = self._kept.get(key)
        if kept is not None and (kept.schema is schema or kept.schema == schema):
            self._kept.move_to_end(key)
            return kept
        made = make(schema)
        self._kept[key] = made
        self._kept.move_to_end(key)
        if len(self._kept) > self._max:
            self._kept.popitem(last=False)
        return made


def make(schema: Schema) -> Checker | SetAside:
    """Compile a schema, or say why not."""
    try:
        return Checker(schema)
    except TooComplex as exc:
        return SetAside(schema, str(exc))
    except (ValueError, RecursionError) as exc:  # ValidationError and the library's recursion limit are ValueErrors
        reason = str(exc).split("\n", 1)[0][:200] or type(exc).__name__
        return SetAside(schema, reason, foreign="not present in a registry" in reason)


class Size(NamedTuple):
    """Nodes and levels of a JSON value."""

    nodes: int
    depth: int


def measure(value: Any) -> Size:
    """Count a value's nodes and levels, without recursion."""
    nodes, depth, level = 0, 0, [value]
    while level:
        depth += 1
        nodes += len(level)
        following: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                following.extend(item.values())
            elif isinstance(item, list | tuple):
                following.extend(item)
        level = following
    return Size(nodes, depth)


def _compile(schema: Schema) -> tuple[Validator, int]:
    import jsonschema_rs

    linear = jsonschema_rs.RegexOptions(size_limit=_REGEX_BYTES)
    try:
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=linear), 0
    except jsonschema_rs.ValidationError:
        reduced, dropped = _without_hard_patterns(schema, linear)
        if not dropped:
            raise
        return jsonschema_rs.validator_for(reduced, offline=True, pattern_options=linear), dropped


def _without_hard_patterns(schema: Any, linear: RegexOptions) -> tuple[Any, int]:
    """A copy without the patterns that the linear engine refuses, and how many those were. Depth is limited by the validator."""
    import jsonschema_rs

    dropped = 0

    def is_hard(pattern: str) -> bool:
        try:
            jsonschema_rs.Draft202012Validator({"pattern": pattern}, offline=True, pattern_options=linear)
        except ValueError:
            return True
        return False

    def copy(value: Any) -> Any:
        nonlocal dropped
        if isinstance(value, list):
            return [copy(item) for item in value]
        if not isinstance(value, dict):
            return value
        made = {key: copy(item) for key, item in value.items()}
        if isinstance(pattern := value.get("pattern"), str) and is_hard(pattern):
            del made["pattern"]
            dropped += 1
        return made

    return copy(schema), dropped


def _top_level(schema: Any) -> tuple[frozenset[str], bool]:
    """The members a schema names for an object, through references and combinators, and whether it allows others."""
    names: set[str] = set()
    extras = False
    for node in _applying(schema):
        if isinstance(named := node.get("properties"), dict):
            names |= named.keys()
        # False is an error of the schema's own; any other value is an explicit permission.
        if any(node.get(key, False) is not False for key in ("additionalProperties", "unevaluatedProperties")):
            extras = True
        if node.get("patternProperties"):
            extras = True
    return frozenset(names), extras or not names


def _applying(schema: Any) -> Iterator[dict[str, Any]]:
    todo, seen = [schema], set[int]()
    while todo and len(seen) < 1000:
        node = todo.pop()
        if not isinstance(node, dict) or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        for key in ("allOf", "anyOf", "oneOf"):
            todo.extend(node.get(key) or [])
        todo.extend(node[key] for key in ("if", "then", "else", "not") if key in node)
        if isinstance(dependent := node.get("dependentSchemas"), dict):
            todo.extend(dependent.values())
        if isinstance(reference := node.get("$ref"), str) and reference.startswith("#"):
            todo.append(_follow(schema, reference))


def _follow(root: Any, reference: str) -> Any:
    value = root
    for part in reference[1:].split("/")[1:]:
        value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return value
