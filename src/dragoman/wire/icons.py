"""Icons of what servers list: only such as can be shown without harm are kept. Nothing is fetched here.

Source: MCP 2025-11-25 and 2026-07-28 basic/index#icons.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from dragoman.wire.flaw import Flaw

T = TypeVar("T", bound=msgspec.Struct)

_SAFE: Final = ("https:", "data:")


def flaws_of_icons(icons: list[Any]) -> list[tuple[int, str]]:
    """By position: why an icon is dropped."""
    flaws = []
    for index, icon in enumerate(icons):
        src = icon.get("src") if isinstance(icon, dict) else None
        if not isinstance(src, str):
            flaws.append((index, "an icon without a src; dropped"))
        elif not src.lower().startswith(_SAFE):
            flaws.append((index, f"the src of an icon must be https or data, not {src[:40]!r}; dropped"))
    return flaws


def without_bad_icons(items: list[T], where: str, problems: list[Flaw]) -> None:
    """Take them out of each item that has icons, in place, and say so.

    Args:
        items: Tools, resources and the like.
        where: JSON pointer of the listing.
        problems: Gets the flaws.
    """
    for index, item in enumerate(items):
        icons: list[Any] | None = item.icons  # type: ignore[attr-defined]  # every listed item has them
        if icons is None:
            continue
        flaws = flaws_of_icons(icons)
        if flaws:
            bad = {position for position, _ in flaws}
            kept = [icon for position, icon in enumerate(icons) if position not in bad]
            items[index] = msgspec.structs.replace(item, icons=kept or None)
            problems += [Flaw(f"{where}/{index}/icons/{position}", why) for position, why in flaws]
