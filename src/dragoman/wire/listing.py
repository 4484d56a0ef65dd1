"""What servers list: tools, resources, templates, prompts, and who they say they are.

Each item is decoded alone, so that a broken one is set aside and reported while the rest works.

Source: MCP server/tools, server/resources, server/prompts (all revisions).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Raw

from dragoman.wire import apps
from dragoman.wire.envelope import decode_members
from dragoman.wire.flaw import Flaw
from dragoman.wire.icons import without_bad_icons
from dragoman.wire.lenient import member_of
from dragoman.wire.results import decode_each
from dragoman.wire.templates import Value, expand


class Implementation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A name and version as a peer gave them: for display, never for decisions."""

    name: str
    version: str = ""
    title: str | None = None


class Tool(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool as its server describes it: every string in it is untrusted.

    Attributes:
        input_schema: JSON Schema of the arguments, as received.
        output_schema: JSON Schema of ``structuredContent``, or ``None``.
        annotations: Claims of the server (``readOnlyHint`` and the like).
        icons: Those whose ``src`` is https or data, each as received; never fetched.
        execution: How it may be run (``taskSupport``), up to 2025-11-25.
    """

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | bool = {}
    output_schema: dict[str, Any] | bool | None = None
    annotations: dict[str, Any] | None = None
    icons: list[Any] | None = None
    execution: dict[str, Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")

    @property
    def display_name(self) -> str:
        """What to call it before a person: its title, else that of its annotations, else its name. Never for decisions."""
        claimed = self.annotations.get("title") if self.annotations else None
        return self.title or (claimed if isinstance(claimed, str) else "") or self.name

    @property
    def view_uri(self) -> str | None:
        """The ``ui://`` address of the page that shows its results, or ``None``: see :mod:`dragoman.wire.apps`."""
        return apps.view_uri(self.meta)

    @property
    def for_models(self) -> bool:
        """Whether a model may be offered it; some are only for the scripts of a view."""
        return apps.for_models(self.meta)


class Resource(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A resource that can be read by its ``uri``; ``size`` is in bytes, where the server says. All of it is untrusted."""

    uri: str
    name: str = ""
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: dict[str, Any] | None = None
    icons: list[Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class ResourceTemplate(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A family of resources: ``uri_template`` is RFC 6570."""

    uri_template: str
    name: str = ""
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    annotations: dict[str, Any] | None = None
    icons: list[Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")

    def expand(self, values: Mapping[str, Value]) -> str:
        """The URI with these values filled in; those that are not given leave nothing.

        Raises:
            ValueError: The template is none, or a value does not fit its place.
        """
        return expand(self.uri_template, values)


class PromptArgument(msgspec.Struct, frozen=True, omit_defaults=True):
    """An argument of a prompt; values are always strings."""

    name: str
    title: str | None = None
    description: str | None = None
    required: bool | None = None


class Prompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt the server can fill in."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[PromptArgument] | None = None
    icons: list[Any] | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class Page(msgspec.Struct):
    """One page of a listing: its items, what was set aside, and the cursor of the next page."""

    items: list[Any]
    problems: list[Flaw]
    next_cursor: str | None
    ttl_ms: int | None
    cache_scope: str | None = None


class Completion(msgspec.Struct, frozen=True):
    """Completion values for an argument."""

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False


_ITEM: Final = {
    "tools": msgspec.json.Decoder(Tool).decode,
    "resources": msgspec.json.Decoder(Resource).decode,
    "resourceTemplates": msgspec.json.Decoder(ResourceTemplate).decode,
    "prompts": msgspec.json.Decoder(Prompt).decode,
}


class _ToolPage(msgspec.Struct):
    tools: list[Tool]
    nextCursor: str | None = None
    ttlMs: int | None = None
    cacheScope: str | None = None


def _of_skills() -> Callable[[bytes | Raw], Any]:
    from dragoman.wire.skills import Skill  # few servers have any

    return msgspec.json.Decoder(Skill).decode


_decode_tool_page: Final = msgspec.json.Decoder(_ToolPage).decode


def decode_page(raw: Raw | bytes, member: str) -> Page:
    """Decode one page of a listing.

    Args:
        raw: The result object.
        member: ``tools``, ``resources``, ``resourceTemplates``, ``prompts`` or ``skills``.

    Raises:
        msgspec.DecodeError: It is no JSON object.
    """
    if member == "tools":  # the usual listing, and the long one: a single pass when all is well
        try:
            page = _decode_tool_page(raw)
        except msgspec.ValidationError:
            pass
        else:
            flaws: list[Flaw] = []
            without_bad_icons(page.tools, "/tools", flaws)
            return Page(page.tools, flaws, page.nextCursor, page.ttlMs, page.cacheScope)
    members = decode_members(raw)
    items, problems = decode_each(members.get(member), _ITEM.get(member) or _of_skills(), f"/{member}")
    if member != "skills":  # which have none
        without_bad_icons(items, f"/{member}", problems)
    if member not in members:
        problems.append(Flaw(f"/{member}", "missing"))
    cursor, ttl, scope = (member_of(members, name, problems) for name in ("nextCursor", "ttlMs", "cacheScope"))
    return Page(
        items,
        problems,
        cursor if isinstance(cursor, str) else None,
        ttl if isinstance(ttl, int) and not isinstance(ttl, bool) else None,
        scope if isinstance(scope, str) else None,
    )
