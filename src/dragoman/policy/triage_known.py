"""Well-known servers: what their tools are known to do, by package and by the versions that this is meant for.

It was written down from what their names and documentation say, not from a reading of the source of each version.

Only the command or the URL that a person typed tells which server it is. What a server calls itself is a claim and is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from dragoman.wire.tier import Tier


class ServerIdentity(NamedTuple):
    """How a server is started or reached, as a person typed it. One of the two is set, or neither where nothing is known."""

    command: tuple[str, ...] = ()
    url: str | None = None


class Known(NamedTuple):
    """A well-known server. ``versions``: how those begin that the table is meant for; others may do something else under the names."""

    title: str
    versions: tuple[str, ...]
    tools: Mapping[str, Tier]


def _tools(**tiers: str) -> dict[str, Tier]:
    by_word: dict[str, Tier] = {"L0": "L0", "L1": "L1", "L2": "L2", "L3": "L3"}
    return {name: by_word[tier] for tier, names in tiers.items() for name in names.split()}


_FILESYSTEM: Final = Known(
    "the reference filesystem server",
    ("2025.", "2026.", "0.6."),
    _tools(
        L0=(
            "read_file read_text_file read_media_file read_multiple_files list_directory list_directory_with_sizes directory_tree "
            "search_files get_file_info list_allowed_directories"
        ),
        L1="create_directory",
        L2="write_file edit_file move_file",
    ),
)
_MEMORY: Final = Known(
    "the reference memory server",
    ("2025.", "2026.", "0.6."),
    _tools(
        L0="read_graph search_nodes open_nodes",
        L1="create_entities create_relations add_observations",
        L2="delete_entities delete_observations delete_relations",
    ),
)
_EVERYTHING: Final = Known(
    "the reference test server",
    ("2025.", "2026."),
    _tools(
        L0=(
            "echo add get-sum printEnv get-env longRunningOperation trigger-long-running-operation sampleLLM "
            "trigger-sampling-request getTinyImage get-tiny-image annotatedMessage get-annotated-message getResourceReference "
            "get-resource-reference getResourceLinks get-resource-links structuredContent get-structured-content startElicitation "
            "trigger-elicitation-request listRoots get-roots-list zip gzip-file-as-resource"
        ),
        L1="toggle-simulated-logging toggle-subscriber-updates",
    ),
)
_THINKING: Final = Known("the reference thinking server", ("2025.", "2026.", "0.6."), _tools(L0="sequentialthinking"))
_GIT: Final = Known(
    "the reference git server",
    ("2025.", "2026.", "0.6."),
    _tools(
        L0="git_status git_diff_unstaged git_diff_staged git_diff git_log git_show git_branch",
        L1="git_add git_create_branch git_commit",
        L2="git_reset git_checkout git_init",
    ),
)
_SQLITE: Final = Known(
    "the reference SQLite server",
    ("2025.", "2026.", "0.6."),
    _tools(L0="read_query list_tables describe_table", L1="append_insight", L2="create_table", L3="write_query"),
)
_TIME: Final = Known("the reference time server", ("2025.", "2026.", "0.6."), _tools(L0="get_current_time convert_time"))
_FETCH: Final = Known("the reference fetch server", ("2025.", "2026.", "0.6."), _tools(L0="fetch"))
_POSTGRES: Final = Known("the reference PostgreSQL server", ("0.6.",), _tools(L0="query"))
_GITHUB: Final = Known(
    "GitHub's server",
    (),
    _tools(
        L0=(
            "get_me get_file_contents list_issues list_commits get_commit list_branches list_tags search_code search_repositories "
            "search_issues search_pull_requests search_users list_pull_requests pull_request_read issue_read list_releases "
            "get_latest_release"
        ),
        L1="create_branch",
        L2=(
            "create_issue update_issue issue_write add_issue_comment create_pull_request update_pull_request merge_pull_request "
            "push_files create_or_update_file delete_file create_repository fork_repository"
        ),
    ),
)

#: npm packages, PyPI packages, hosts of URLs.
KNOWN: Final[dict[str, Known]] = {
    "@modelcontextprotocol/server-filesystem": _FILESYSTEM,
    "@modelcontextprotocol/server-memory": _MEMORY,
    "@modelcontextprotocol/server-everything": _EVERYTHING,
    "@modelcontextprotocol/server-sequential-thinking": _THINKING,
    "@modelcontextprotocol/server-postgres": _POSTGRES,
    "mcp-server-git": _GIT,
    "mcp-server-sqlite": _SQLITE,
    "mcp-server-time": _TIME,
    "mcp-server-fetch": _FETCH,
    "api.githubcopilot.com": _GITHUB,
}

_RUNNERS: Final = ("npx", "bunx", "uvx", "pnpx")
_HARMLESS: Final = ("-y", "--yes", "-q", "--quiet")
_PACKAGE: Final = re.compile(r"(?P<name>@?[^@=\s]+)(?:(?:==|@)(?P<version>\S+))?")


def known_server(identity: ServerIdentity) -> tuple[Known, str | None] | None:
    """The well-known server that is started or reached, and the version that the command names (``None``: whichever comes)."""
    if identity.url is not None:
        parts = urlsplit(identity.url)
        found = KNOWN.get(parts.hostname or "") if parts.scheme == "https" and "." in (parts.hostname or "") else None
        return (found, None) if found is not None else None
    if len(identity.command) < 2 or identity.command[0] not in _RUNNERS:
        return None
    # Any other option may say that the package is to come from elsewhere.
    package = next((word for word in identity.command[1:] if word not in _HARMLESS), "")
    parsed = _PACKAGE.fullmatch(package)
    found = KNOWN.get(parsed["name"]) if parsed is not None and "." not in parsed["name"] else None
    return (found, parsed["version"]) if found is not None and parsed is not None else None
