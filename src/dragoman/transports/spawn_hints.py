"""Why a command could not be started, and what to do about it, in words."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping, Sequence
from typing import Final

from dragoman.errors import SpawnFailed

_INSTALL: Final = {
    "npx": "install Node.js, which brings npx",
    "npm": "install Node.js, which brings npm",
    "node": "install Node.js",
    "uvx": "install uv, which brings uvx",
    "uv": "install uv",
    "python": 'many systems have it as "python3"',
    "pip": 'many systems have it as "pip3"',
    "docker": "install Docker, or podman and name that",
    "deno": "install Deno",
    "bun": "install Bun",
    "bunx": "install Bun, which brings bunx",
}


def explain(exc: Exception, command: Sequence[str], env: Mapping[str, str] | None, cwd: str | os.PathLike[str] | None) -> SpawnFailed:
    """The error to raise for what ``subprocess.Popen`` said. Names the program only: arguments may hold secrets."""
    program = command[0]
    if cwd is not None and not os.path.isdir(cwd):
        return SpawnFailed(
            f"cannot start {program!r}: its working folder {os.fspath(cwd)!r} is not a folder", hint="create it, or correct cwd"
        )
    path = (os.environ if env is None else env).get("PATH", os.defpath)
    found = shutil.which(program, path=path)
    number = exc.errno if isinstance(exc, OSError) else None
    if number == errno.ENOENT and found is None:
        return SpawnFailed(f"cannot start {program!r}: {_where(program)}", hint=_hint(program))
    if number in (errno.ENOENT, errno.ENOEXEC):
        return SpawnFailed(
            f"cannot start {program!r}: the system cannot run this file ({os.strerror(number or 0)})",
            hint="its first line must name an installed interpreter (#!/usr/bin/env python3); or put that first in the command",
        )
    if number in (errno.EACCES, errno.EPERM, errno.ENOTDIR):
        return SpawnFailed(
            f"cannot start {program!r}: {os.strerror(number or 0)}",
            hint=f"chmod +x {program}, or put its interpreter first in the command" if os.path.isfile(program) else _hint(program),
        )
    if number in (errno.EMFILE, errno.ENFILE):
        return SpawnFailed(
            f"cannot start {program!r}: too many open files; a server takes four", hint="close other servers, or raise `ulimit -n`"
        )
    reason = os.strerror(number) if number else str(exc)
    return SpawnFailed(f"cannot start {program!r}: {reason}")


def _where(program: str) -> str:
    return "there is no such file" if os.sep in program else "no such program in PATH"


def _hint(program: str) -> str:
    if " " in program and os.sep not in program.split()[0]:
        return "program and arguments are separate items of the command"
    known = _INSTALL.get(os.path.basename(program))
    return f"is it installed? {known}" if known else "is it installed? check the spelling, or give the full path"
