"""Which configuration a row of the store, or a log file, belongs to: servers of two files may have one name.

A *scope* is a short hash of a configuration file's real path. The log of a server is ``NAME.log`` for the first configuration that
starts a server of that name, and ``NAME.SCOPE.log`` for every other; a dot is in no server's name, so they never meet.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final

#: The log of servers without a configuration; a server of this name never gets the plain name.
ADHOC: Final = "adhoc"
_OWNERS: Final = ".owners"


def scope_of(file: Path) -> str:
    """The scope of a configuration file, whether it is there or not; the same by whatever link it is reached."""
    return hashlib.sha256(os.fsencode(os.path.realpath(file))).hexdigest()[:12]


def log_file(folder: Path, server: str, scope: str, *, claim: bool) -> Path:
    """Where the stderr of ``server`` of the configuration ``scope`` goes.

    Args:
        folder: Of all logs.
        claim: It is about to be written: take the plain name where nobody has it yet.
    """
    plain, own = folder / f"{server}.log", folder / f"{server}.{scope}.log"
    if server == ADHOC:
        return own
    owner = folder / _OWNERS / server
    try:
        return plain if owner.read_text("ascii") == scope else own
    except FileNotFoundError:
        return plain if not claim or _claimed(owner, scope) else own
    except (OSError, UnicodeDecodeError):
        return own


def _claimed(owner: Path, scope: str) -> bool:
    """Whether the name is ours now; of two processes that ask at once, one gets it."""
    mine = owner.with_name(f"{owner.name}.{os.getpid()}")  # complete before it has its name: nobody reads half of it
    try:
        owner.parent.mkdir(mode=0o700, exist_ok=True)
        mine.write_text(scope, "ascii")
        try:
            os.link(mine, owner)
        except FileExistsError:
            return owner.read_text("ascii") == scope
        finally:
            mine.unlink()
    except OSError:
        return False
    return True
