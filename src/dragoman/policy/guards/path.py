"""The guard ``path``: a file or folder below one of some roots, once links and ``..`` are resolved on this machine.

It resolves what is there now. Whoever can write below a root can put a link there between this check and the server's opening of
the file; and a hard link looks like any other file. Sending the resolved path makes that window small and does not close it: only
a sandbox around the server does.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import stat
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from dragoman.errors import Problem
from dragoman.policy.chain import Call
from dragoman.policy.guards.text import flaw, quoted

# Each is a way by which some server reads a text differently from the system call that we make with it.
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*:[/\\]|[A-Za-z]:|file:", re.I)
_ENCODED: Final = re.compile(r"%(?:25)*(?:2e|2f|5c|00|7e|c0|c1|e0)|%u[0-9a-f]{4}|\\u00|&#|0x2[ef]", re.I)
_EXPANDED: Final = re.compile(r"\$[A-Za-z_{(]|`|%[A-Za-z_][A-Za-z0-9_()]*%")
_LOOKS_LIKE_SLASH: Final = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9\uff0f\uff3c\ufe68")


class PathGuard:
    """Lets paths through that lead below a root, and sends them resolved.

    Args:
        roots: Absolute folders; links in them are resolved at each check.
        base: Absolute folder that relative paths start from, the server's own; ``None``: relative paths are refused.
        resolve: Send the resolved path, so that the server opens what was checked; otherwise the text as it was written.
    """

    name, whole = "path", False

    def __init__(self, roots: Sequence[str], base: str | None = None, *, resolve: bool = True) -> None:
        self._roots, self._base, self._resolve = tuple(roots), base, resolve

    async def check(self, value: Any, call: Call) -> Any:
        if (wrong := flaw(value, 4096, what="a path")) is not None:
            return wrong
        if (odd := _odd(value)) is not None:
            return Problem("", f"{odd}, got {quoted(value)}; write a plain path below {self._where()}")
        if not os.path.isabs(value) and self._base is None:
            return Problem("", f"expected an absolute path below {self._where()}, got {quoted(value)}")
        path = os.path.join(self._base or "/", value)
        # Links may lie on a disk that does not answer; the loop must not wait for it.
        resolved = await asyncio.to_thread(self._inside, path)
        if resolved is None:
            return Problem("", f"{quoted(value)} does not lead to a file or folder below {self._where()}")
        return resolved if self._resolve else value

    def _inside(self, path: str) -> str | None:
        """The resolved path if it, and the path as the text alone says it, lie below a root."""
        try:
            resolved = os.path.realpath(path)
            _refuse_odd_files(resolved)
            roots = [(os.path.normpath(root), os.path.realpath(root)) for root in self._roots]
        except (OSError, ValueError):
            return None
        # As text too: some servers fold ".." before they follow links.
        written = os.path.normpath(path)
        if not any(_below(written, root) for pair in roots for root in pair):
            return None
        return resolved if any(_below(resolved, root) for _, root in roots) else None

    def _where(self) -> str:
        return " or ".join(self._roots)

    def describe(self) -> str:
        return f"below {self._where()}"


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(root if root.endswith("/") else root + "/")


def _odd(value: str) -> str | None:
    """Why a text may not mean to a server what it means to the system; ``None`` if it does."""
    if value != value.strip():
        return "a path has no spaces around it"
    if value.startswith(("~", "-")):
        return f"a path cannot begin with {value[0]}"
    if value.startswith("//"):
        return "a path cannot begin with two slashes"
    if "\\" in value or not _LOOKS_LIKE_SLASH.isdisjoint(value):
        return "the only separator of a path is /"
    if _SCHEME.match(value):
        return "expected a path and not a URL or drive"
    if _ENCODED.search(value):
        return "a path is not encoded"
    if _EXPANDED.search(value):
        return "variables and commands are not expanded in a path"
    for part in value.split("/"):
        plain = unicodedata.normalize("NFKC", part)
        if part not in ("", ".", "..") and (not plain.strip(". ") or re.match(r"\.\.[\s;:%?#]", plain)):
            return "dots alone name no file"
        if plain.startswith("~"):
            return "a part of a path cannot begin with ~"
        if "/" in plain or "\\" in plain:  # forms such as U+2105 fold to text with a slash
            return "the only separator of a path is /"
    return None


def _refuse_odd_files(resolved: str) -> None:
    """Raise ``OSError`` for what is neither a file nor a folder nor absent: pipes block, devices act, a link left over is a loop."""
    try:
        mode = os.lstat(resolved).st_mode
    except OSError as exc:
        if exc.errno in (errno.ENOENT, errno.ENOTDIR):
            return
        raise
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "neither a file nor a folder")
