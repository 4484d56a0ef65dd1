"""Which variables a server's process gets: a short list of harmless ones, what the configuration names, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

#: Variables every child gets; none of them holds a credential by its meaning.
INHERITED: Final = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TZ", "TMPDIR"),
    *("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
)
#: Passed in both cases; their values may hold a password before the host.
PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
_LOCALE: Final = "LC_"


def child_environment(spec_env: Mapping[str, str], inherit: Sequence[str], base_env: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server's process; ``sorted`` of it are the names to show.

    Args:
        spec_env: What the configuration sets, resolved; it wins.
        inherit: Further names to pass on; a final ``*`` matches any ending.
        base_env: Our own environment.
    """
    passed = {
        name: value
        for name, value in base_env.items()
        # A value that starts like this is a shell function in disguise (bash, 2014), no setting.
        if (is_inherited(name) or any(matches(name, entry) for entry in inherit)) and not value.startswith("()")
    }
    return {**passed, **spec_env}


def is_inherited(name: str) -> bool:
    """Whether every child gets this variable."""
    return name in INHERITED or name in PROXIES or name.startswith(_LOCALE)


def matches(name: str, entry: str) -> bool:
    """Whether an entry of ``inherit`` means this variable."""
    return name.startswith(entry[:-1]) if entry.endswith("*") else name == entry
