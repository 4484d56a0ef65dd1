"""What a person should know at once, as a value: raised by layers and supervisors, told by whoever is handed the sink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

AlertKind = Literal["server down", "server up", "breaker open", "breaker closed", "audit stopped"]


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alert.

    Attributes:
        kind: What happened, one of a closed list of words.
        server: The configured name; empty where it concerns none.
        text: One sentence with the values and the next step, fit for a person: server text in it is escaped.
        at: Seconds since the epoch.
    """

    kind: AlertKind
    server: str = ""
    text: str
    at: float


#: Takes an alert: on the event loop, at once, without raising.
AlertSink = Callable[[Alert], None]
