"""Results of calls: the typed view of what a server answered, and the raw JSON it was made from.

Decoding is lenient: a broken block or field is set aside in ``problems`` and the rest is kept.  Unknown members stay
reachable through ``raw``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.wire.content import Content, KnownContent, ResourceContents, TextContent, decode_blocks, marker
from dragoman.wire.envelope import decode_any, decode_members
from dragoman.wire.flaw import Flaw
from dragoman.wire.lenient import member_of

T = TypeVar("T")


class _ToolShape(msgspec.Struct, gc=False):
    content: list[KnownContent] = []
    structuredContent: Raw | UnsetType = UNSET
    isError: bool | None = False


class _PromptMessageShape(msgspec.Struct):
    role: str
    content: Raw


_decode_tool: Final = msgspec.json.Decoder(_ToolShape).decode
_decode_list: Final = msgspec.json.Decoder(list[Raw]).decode
_decode_contents: Final = msgspec.json.Decoder(ResourceContents).decode
_decode_message: Final = msgspec.json.Decoder(_PromptMessageShape).decode


class ToolResult:
    """What a tool answered.

    Attributes:
        content: The blocks, in order; unknown or broken ones as :class:`~dragoman.wire.content.UnknownContent`.
        is_error: The tool says that it failed. That is an outcome, not an exception.
        raw_json: The result object exactly as received.
        problems: What was wrong with the shape, empty for a well-formed result.
    """

    __slots__ = ("_raw", "_structured", "content", "is_error", "problems", "raw_json")

    unreadable: ClassVar[Callable[[str, str, ToolResult], Exception]]  # message, path, result; the runtime puts its error here

    def __init__(
        self,
        content: list[Content],
        structured: Raw | UnsetType,
        is_error: bool,
        raw_json: bytes | Raw,
        problems: tuple[Flaw, ...] = (),
    ) -> None:
        self.content = content
        self.is_error = is_error
        self.raw_json = raw_json
        self.problems = problems
        self._structured: Any = structured
        self._raw: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text blocks joined by newlines; blocks that are not text leave a short marker."""
        content = self.content
        if len(content) == 1 and type(content[0]) is TextContent:
            return content[0].text
        return "\n".join(marker(block) for block in content)

    @property
    def structured(self) -> Any:
        """``structuredContent`` as Python values, or ``None`` where there is none.

        Raises:
            InvalidResult: It holds what Python cannot, such as the number 1e400 (a ValueError where no runtime is loaded).
        """
        value = self._structured
        if type(value) is Raw:
            value = self._structured = _value(value, "/structuredContent", self)
        return None if value is UNSET else value

    @property
    def has_structured(self) -> bool:
        """Whether the server sent ``structuredContent`` at all (it may be JSON null)."""
        return self._structured is not UNSET

    @property
    def raw(self) -> dict[str, Any]:
        """The whole result object as Python values, unknown members included.

        Raises:
            InvalidResult: As :attr:`structured`.
        """
        if self._raw is None:
            self._raw = cast("dict[str, Any]", _value(self.raw_json, "", self))
        return self._raw

    def __repr__(self) -> str:
        text = self.text
        shown = text if len(text) <= 60 else text[:57] + "..."
        return f"<ToolResult {'error' if self.is_error else 'ok'}, {len(self.content)} block(s), {shown!r}>"


ToolResult.unreadable = staticmethod(lambda message, path, result: ValueError(message))


def _value(raw: bytes | Raw, path: str, result: ToolResult) -> Any:
    try:
        return decode_any(raw)
    except (msgspec.DecodeError, RecursionError, ValueError) as exc:
        what = path.lstrip("/") or "the result"
        raise ToolResult.unreadable(f"{what} cannot be read: {exc}", path, result) from exc


def decode_tool_result(raw: Raw | bytes) -> ToolResult:
    """Decode a ``tools/call`` result.

    Raises:
        msgspec.DecodeError: The bytes are no JSON object at all, or not valid UTF-8 where that matters.
    """
    try:
        shape = _decode_tool(raw)
    except msgspec.ValidationError:
        return _salvage_tool_result(raw)
    return ToolResult(shape.content, shape.structuredContent, shape.isError is True, raw)  # type: ignore[arg-type]  # no cast: it costs time


def _salvage_tool_result(raw: Raw | bytes) -> ToolResult:
    members = decode_members(raw)
    problems: list[Flaw] = []
    content: list[Content] = []
    items = members.get("content")
    if items is not None and bytes(items) != b"null":
        try:
            content, problems = decode_blocks(_decode_list(items), "/content")
        except msgspec.ValidationError:
            # One block where a list belongs: several servers do this.
            content, problems = decode_blocks([items], "/content")
            problems.insert(0, Flaw("/content", "expected an array of content blocks"))
    flag = member_of(members, "isError", problems)
    if flag is not None and not isinstance(flag, bool):
        problems.append(Flaw("/isError", f"expected true or false, got {flag!r}"))
    return ToolResult(content, members.get("structuredContent", UNSET), bool(flag), raw, tuple(problems))


class ReadResult(msgspec.Struct, frozen=True):
    """The contents of a resource.

    Attributes:
        contents: One entry per part: ``uri``, ``mime_type``, and ``text`` or base64 in ``blob``; all of it untrusted.
        problems: Parts that were set aside, and why.
        raw_json: The result object exactly as received.
    """

    contents: tuple[ResourceContents, ...]
    problems: tuple[Flaw, ...]
    raw_json: bytes | Raw

    @property
    def text(self) -> str:
        """All parts as text; binary ones leave a short marker."""
        return "\n".join(part.text if part.text is not None else f"[resource {part.uri}]" for part in self.contents)


class PromptMessage(msgspec.Struct, frozen=True):
    """One message of a prompt: ``role`` (``user`` or ``assistant``) and one block of content; untrusted."""

    role: str
    content: Content


class PromptResult(msgspec.Struct, frozen=True):
    """A filled-in prompt.

    Attributes:
        messages: In order.
        problems: Messages and blocks that were set aside, and why.
        raw_json: The result object exactly as received.
    """

    description: str | None
    messages: tuple[PromptMessage, ...]
    problems: tuple[Flaw, ...]
    raw_json: bytes | Raw

    @property
    def text(self) -> str:
        """The messages as ``role: text`` lines."""
        return "\n".join(f"{message.role}: {marker(message.content)}" for message in self.messages)


def decode_each(items: Raw | None, one: Callable[[Raw], T], where: str) -> tuple[list[T], list[Flaw]]:
    """Decode a JSON array item by item; a broken item is set aside as a problem. ``None`` or null is an empty list."""
    good: list[T] = []
    problems: list[Flaw] = []
    if items is None or bytes(items[:4] if isinstance(items, bytes) else items) == b"null":
        return good, problems
    try:
        parts = _decode_list(items)
    except msgspec.ValidationError:
        return good, [Flaw(where, "expected an array")]
    for index, part in enumerate(parts):
        try:
            good.append(one(part))
        except (msgspec.DecodeError, RecursionError) as exc:
            problems.append(Flaw(f"{where}/{index}", str(exc)))
    return good, problems


def decode_read_result(raw: Raw | bytes) -> ReadResult:
    """Decode a ``resources/read`` result leniently."""
    members = decode_members(raw)
    contents, problems = decode_each(members.get("contents"), _decode_contents, "/contents")
    return ReadResult(tuple(contents), tuple(problems), raw)


def decode_prompt_result(raw: Raw | bytes) -> PromptResult:
    """Decode a ``prompts/get`` result leniently."""
    members = decode_members(raw)
    shapes, problems = decode_each(members.get("messages"), _decode_message, "/messages")
    messages: list[PromptMessage] = []
    for index, shape in enumerate(shapes):
        blocks, wrong = decode_blocks([shape.content], f"/messages/{index}/content")
        problems += wrong
        messages.append(PromptMessage(shape.role, blocks[0]))
    description = member_of(members, "description", problems)
    return PromptResult(description if isinstance(description, str) else None, tuple(messages), tuple(problems), raw)
