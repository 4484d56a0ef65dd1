"""Icons of what servers list: shown only from where they do no harm, and the item stays in any case."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman.wire.listing import decode_page

GOOD = [{"src": "https://x/i.png", "sizes": ["48x48"], "theme": "dark", "mimeType": "image/png"}, {"src": "data:image/png;base64,AA=="}]
LISTED: dict[str, dict[str, Any]] = {
    "tools": {"name": "a", "inputSchema": {}},
    "resources": {"uri": "a:b", "name": "a"},
    "resourceTemplates": {"uriTemplate": "a:{b}", "name": "a"},
    "prompts": {"name": "a"},
}


def page(member: str, **more: Any) -> Any:
    return decode_page(msgspec.json.encode({member: [{**LISTED[member], **more}, LISTED[member]]}), member)


@pytest.mark.parametrize("member", LISTED)
def test_good_icons_are_kept_as_they_came(member: str) -> None:
    """MCP 2025-11-25 basic/index#icons."""
    found = page(member, icons=GOOD)
    assert (found.items[0].icons, found.items[1].icons, found.problems) == (GOOD, None, [])


@pytest.mark.parametrize("member", LISTED)
@pytest.mark.parametrize(
    "bad",
    [
        {"src": "javascript:alert(1)"},
        {"src": "JavaScript:alert(1)"},
        {"src": "http://x/i.png"},
        {"src": "file:///etc/passwd"},
        {"src": "ws://x"},
        {"src": "/i.png"},
        {"src": 5},
        {},
        "https://x",
    ],
)
def test_bad_icon_is_dropped_and_said_and_nothing_else_is(member: str, bad: Any) -> None:
    """MCP 2025-11-25 basic/index#icons: only https and data."""
    found = page(member, icons=[GOOD[0], bad, GOOD[1]])
    assert found.items[0].icons == GOOD
    assert len(found.items) == 2
    (flaw,) = found.problems
    assert flaw.path == f"/{member}/0/icons/1"
    assert "dropped" in flaw.message


def test_item_whose_icons_are_all_bad_has_none() -> None:
    assert page("tools", icons=[{"src": "ftp://x"}]).items[0].icons is None


@pytest.mark.parametrize("member", ["tools", "resources", "resourceTemplates"])
def test_annotations_are_kept(member: str) -> None:
    """MCP server/resources#annotations: hints, for whoever shows it."""
    hints = {"audience": ["user"], "priority": 0.5, "lastModified": "2026-01-01T00:00:00Z", "readOnlyHint": True}
    assert page(member, annotations=hints).items[0].annotations == hints
