"""Which variables a server's process gets: a short list of harmless ones, what the caller names, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

#: Variables every child gets; none of them holds a credential by its meaning.
INHERITED: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
        # Passed in both cases; their values may hold a password before the host.
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    }
)


def child_environment(
    own: Mapping[str, str] | None = None, inherit: Sequence[str] = (), base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The whole environment of a server's process; its keys, sorted, are the names to show.

    Args:
        own: What the caller or the configuration sets; it wins.
        inherit: Further names to pass on; a final ``*`` matches any ending.
        base: Our own environment, ``os.environ`` by default.
    """
    passed = {
        name: value
        for name, value in (os.environ if base is None else base).items()
        # A value that starts like this is a shell function in disguise (bash, 2014), no setting.
        if (is_inherited(name) or any(matches(name, entry) for entry in inherit)) and not value.startswith("()")
    }
    return {**passed, **(own or {})}


def is_inherited(name: str) -> bool:
    """Whether every child gets this variable."""
    return name in INHERITED or name.startswith("LC_")


def matches(name: str, entry: str) -> bool:
    """Whether an entry of ``inherit`` means this variable."""
    return name.startswith(entry[:-1]) if entry.endswith("*") else name == entry
