"""
Which features are shown against which foreign server, over which channel and in which era: docs/interop.md, made from the tests themselves.

A test says with `@pytest.mark.shows(…)` what it shows, and `over([…])` which servers it runs against; `python -m tests.interop.table`
counts them and writes the page, `tests/test_interop_table.py` holds page and tests to each other. A cell without a test has a reason here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final, NamedTuple

from tests.interop import test_everything_tasks, test_sdk_changes, test_sdk_servers, test_sdk_tasks
from tests.interop.test_sdk_servers import LEGACY, MODERN

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "interop.md"
MODULES: Final = (test_sdk_servers, test_sdk_changes, test_sdk_tasks, test_everything_tasks)
FEATURES: Final = (
    *("tools", "resources", "prompts", "completion", "progress", "cancellation", "logging", "elicitation", "sampling", "roots"),
    *("changes of lists", "updates of resources", "tasks"),
)
WRITTEN_WITH: Final = {
    **{"high_level_2": "`mcp` 2.3", "low_level_2": "`mcp` 2.3", "tasks_2": "`mcp` 2.3"},
    **{"fastmcp_1": "`mcp` 1.30", "tasks_1": "`mcp` 1.30"},
    "fastmcp_4": "`fastmcp` 4.2",
    "ts_sdk_2": "TypeScript SDK 2.4",
    "ts_sdk_1": "TypeScript SDK 1.32",
}
CHANNEL: Final = {"stdio": "stdio", "http": "HTTP", "http-json": "HTTP", "sse": "HTTP+SSE"}


class Row(NamedTuple):
    """What a server is written with, the channel, and the revision that is spoken."""

    sdk: str
    channel: str
    revision: str


ROWS: Final = (
    *(Row("`mcp` 2.3", channel, revision) for channel in ("stdio", "HTTP") for revision in (MODERN, LEGACY)),
    Row("`mcp` 2.3", "HTTP+SSE", LEGACY),
    *(Row("`mcp` 1.30", channel, LEGACY) for channel in ("stdio", "HTTP", "HTTP+SSE")),
    *(Row("`fastmcp` 4.2", channel, revision) for channel in ("stdio", "HTTP") for revision in (MODERN, LEGACY)),
    Row("`fastmcp` 4.2", "HTTP+SSE", LEGACY),
    *(Row("TypeScript SDK 2.4", channel, revision) for channel in ("stdio", "HTTP") for revision in (MODERN, LEGACY)),
    *(Row("TypeScript SDK 1.32", channel, LEGACY) for channel in ("stdio", "HTTP", "HTTP+SSE")),
)


class Gap(NamedTuple):
    """Cells without a test, and why: what it is written with, the feature, and what the cells have in common (empty: all of them)."""

    sdk: str
    feature: str
    reason: str
    revision: str = ""
    channel: str = ""

    def holds(self, row: Row, feature: str) -> bool:
        """Whether this is about a cell."""
        return (row.sdk, feature) == (self.sdk, self.feature) and self.revision in ("", row.revision) and self.channel in ("", row.channel)


GAPS: Final = (
    *(
        Gap(
            "`mcp` 2.3",
            "updates of resources",
            "its high-level server has none, and its low-level one is tried over stdio",
            LEGACY,
            channel,
        )
        for channel in ("HTTP", "HTTP+SSE")
    ),
    Gap("`mcp` 2.3", "tasks", "it has no tasks of 2025-11-25", LEGACY),
    Gap("`mcp` 1.30", "updates of resources", "it declares resources.subscribe as false, whatever is served"),
    Gap("`fastmcp` 4.2", "changes of lists", "it has no way to tell them in this era", MODERN),
    Gap("`fastmcp` 4.2", "updates of resources", "it serves no subscriptions to resources"),
    Gap("`fastmcp` 4.2", "tasks", "it has a seam for extensions and no tasks of its own"),
    Gap("TypeScript SDK 2.4", "tasks", "it knows the messages of 2025-11-25 and serves none of them; of the extension it has nothing"),
)


def shown() -> Counter[tuple[Row, str]]:
    """How many tests show each feature in each row."""
    found: Counter[tuple[Row, str]] = Counter()
    for module in MODULES:
        found.update(_of(module))
    return found


def _of(module: ModuleType) -> Iterator[tuple[Row, str]]:
    for name, test in vars(module).items():
        marks = getattr(test, "pytestmark", ()) if name.startswith("test_") else ()
        features = {feature for mark in marks if mark.name == "shows" for feature in mark.args}
        peers = [mark.kwargs["peer"] for mark in marks if mark.name == "shows" and "peer" in mark.kwargs]
        peers += [peer[:3] for mark in marks if mark.name == "parametrize" and mark.args[0] == "peer" for peer in mark.args[1]]
        # Answers as JSON and as events are one row, and a test that runs against both counts once there.
        for row in {Row(WRITTEN_WITH[server], CHANNEL[how], revision) for server, revision, how in peers}:
            for feature in features:
                yield row, feature


def reason_of(row: Row, feature: str) -> str | None:
    """Why a cell has no test, or ``None``."""
    return next((gap.reason for gap in GAPS if gap.holds(row, feature)), None)


HEAD: Final = """# Tried with servers of others

Written by `python -m tests.interop.table` from the tests themselves; `make interop` installs the servers, `make test` runs the tests.

A row is what a server is written with, how it is reached, and which revision is spoken; a cell holds how many tests show the feature there.
A dash is what that kit does not offer, or what is not tried; the reasons are below the table.
2026-07-28 hears of changes by `subscriptions/listen`; before, a server tells them unasked, and updates of resources to whoever subscribed.
Tasks of 2026-07-28 are an extension: no kit here has it, so the server of the tests fills the seam for extensions of `mcp` 2.3.
Those of the TypeScript SDK 1.32 are shown by the reference server `server-everything`.
"""


def page() -> str:
    """The whole page."""
    counts = shown()
    reasons: list[str] = []
    lines = ["| server | channel | revision | " + " | ".join(FEATURES) + " |", "|---|---|---|" + "---|" * len(FEATURES)]
    for row in ROWS:
        cells = []
        for feature in FEATURES:
            count, reason = counts[row, feature], reason_of(row, feature) or ""
            if not count:
                said = f"{row.sdk}, {feature}: {reason}"
                if said not in reasons:
                    reasons.append(said)
                cells.append(f"– ({reasons.index(said) + 1})")
            else:
                cells.append(str(count))
        lines.append(f"| {row.sdk} | {row.channel} | {row.revision} | " + " | ".join(cells) + " |")
    numbered = [f"{number}. {said}." for number, said in enumerate(reasons, 1)]
    return "\n".join([HEAD, *lines, "", *numbered]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
