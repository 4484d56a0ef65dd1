"""The main job on the servers that ship with the package: what ``dragoman demo`` shows, as a host ready to use.

The configuration is an ordinary one, written as text, so that it can be shown to people too.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

from dragoman.config.load import parse
from dragoman.config.paths import logs_folder
from dragoman.policy.ports import Approver
from dragoman.service.assemble import Host
from dragoman.service.context import Context

#: On whose behalf its calls are made, so that its records are told from the user's.
PRINCIPAL: Final = "demo"


def demo_config() -> str:
    """The demo's ``dragoman.toml``: two servers, and a tier for some of their tools; the rest is L2 by default."""
    python = json.dumps(sys.executable)
    return f"""\
[servers.harbour]                      # speaks the handshake of 2025-11-25
command = [{python}, "-m", "dragoman.demo.legacy"]

[servers.harbour.tools]
search = "L0"                          # reads: run at once
read_bottle = "L0"
book_berth = "L1"                      # easy to take back: runs, and is in the log
sink_ship = "L1"
delete_notes = {{ tier = "L2", say = "Delete these notes from the logbook for good: {{ids}}" }}

[servers.bazaar]                       # stateless, 2026-07-28
command = [{python}, "-m", "dragoman.demo.modern"]

[servers.bazaar.tools]
search = "L0"
price = "L0"
"""


class DemoContext(Context):
    """The demo's configuration in the user's state folder; nothing there that lists servers takes the demo's for the user's."""

    remembers_servers = False

    def log_path(self, server: str, *, file: Path | None = None, claim: bool = False) -> Path:
        return logs_folder(self.home) / f"{PRINCIPAL}.{server}.log"  # a dot: no server of the user's can be called that


def demo_context(context: Context) -> Context:
    """A context like ``context``, with the demo's configuration instead of the user's; the state folder is the same."""
    own = DemoContext(env=context.env, cwd=context.cwd)
    own.config = parse(demo_config(), own.home / "demo.toml")
    own.redactor = context.redactor
    return own


def demo_host(context: Context, approver: Approver, **options: Any) -> Host:
    """A host over the bundled servers; its audit goes to the state folder of ``context``."""
    return Host.from_config(context=context, approver=approver, **options)
