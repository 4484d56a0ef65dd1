"""Every way a call, a connection or a configuration can end badly, as one tree.

The first branch answers *did anything leave this machine?*, because audit, retry and budget need just that::

    DragomanError
    ├── Refused                 nothing was sent
    │   ├── UnknownTool  InvalidArguments  ApprovalDenied  ApprovalExpired  ApprovalPending
    │   └── BudgetExhausted  BreakerOpen  ServerBusy  ToolChanged  NotAllowed
    ├── CallFailed              sent, or perhaps sent
    │   ├── ServerError  ConnectionLost  InvalidResult  ResultTooLarge  MalformedResponse
    │   └── CallTimeout
    ├── TransportError
    │   └── ConnectFailed  SpawnFailed  AuthRequired  EgressDenied
    ├── ProtocolError
    │   └── LocalProtocolError  RemoteProtocolError  VersionMismatch
    └── ConfigError

Classes store fields and build their sentence from them; a message names the thing, the value, the limit and the next step.
Fields hold what a server said as it said it; ``str()`` is escaped and cut. ``cli_exit`` is the one word of the command line here.
"""

from __future__ import annotations

from .base import DragomanError, MaybeRan, Problem
from .failed import CallFailed, CallTimeout, ConnectionLost, InvalidResult, MalformedResponse, ResultTooLarge, ServerError
from .refused import (
    ApprovalDenied,
    ApprovalExpired,
    ApprovalPending,
    BreakerOpen,
    BudgetExhausted,
    InvalidArguments,
    NotAllowed,
    Refused,
    ServerBusy,
    ToolChanged,
    UnknownTool,
)
from .unreached import (
    AuthRequired,
    ConfigError,
    ConnectFailed,
    EgressDenied,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    SpawnFailed,
    TransportError,
    VersionMismatch,
)

__all__ = [
    "ApprovalDenied",
    "ApprovalExpired",
    "ApprovalPending",
    "AuthRequired",
    "BreakerOpen",
    "BudgetExhausted",
    "CallFailed",
    "CallTimeout",
    "ConfigError",
    "ConnectFailed",
    "ConnectionLost",
    "DragomanError",
    "EgressDenied",
    "InvalidArguments",
    "InvalidResult",
    "LocalProtocolError",
    "MalformedResponse",
    "MaybeRan",
    "NotAllowed",
    "Problem",
    "ProtocolError",
    "Refused",
    "RemoteProtocolError",
    "ResultTooLarge",
    "ServerBusy",
    "ServerError",
    "SpawnFailed",
    "ToolChanged",
    "TransportError",
    "UnknownTool",
    "VersionMismatch",
]
