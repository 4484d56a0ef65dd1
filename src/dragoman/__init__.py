"""Dragoman: use MCP servers that strangers wrote, from any agent, in any revision of the protocol, governed.

``Client`` speaks to one server; ``Host`` to many, with policy, approval and audit. ``dragoman.blocking`` has the same two
without ``async``. Importing this package loads nothing but the standard library and msgspec, and most of it only when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman._version import __version__

if TYPE_CHECKING:
    from dragoman import blocking
    from dragoman.errors import (
        ApprovalDenied,
        ApprovalExpired,
        ApprovalPending,
        AuthRequired,
        BreakerOpen,
        BudgetExhausted,
        CallFailed,
        CallTimeout,
        ConfigError,
        ConnectFailed,
        ConnectionLost,
        DragomanError,
        EgressDenied,
        InvalidArguments,
        InvalidResult,
        LocalProtocolError,
        MalformedResponse,
        NotAllowed,
        Problem,
        ProtocolError,
        Refused,
        RemoteProtocolError,
        ResultTooLarge,
        ServerBusy,
        ServerError,
        SpawnFailed,
        ToolChanged,
        TransportError,
        UnknownTool,
        VersionMismatch,
    )
    from dragoman.policy.approvers import CallbackApprover
    from dragoman.policy.chain import Call, Outcome
    from dragoman.policy.questions import Decision, Question
    from dragoman.runtime.asking import Elicitation, ElicitationAnswer
    from dragoman.runtime.caching import ResultCache
    from dragoman.runtime.client import Client, ServerInfo
    from dragoman.runtime.progress import Progress
    from dragoman.runtime.skills import LoadedSkill
    from dragoman.runtime.subscriptions import Change, Changes
    from dragoman.runtime.tasks import TaskHandle
    from dragoman.service.assemble import Host
    from dragoman.service.voices import LogMessage
    from dragoman.wire.alerts import Alert
    from dragoman.wire.listing import Prompt, Resource, ResourceTemplate, Tool
    from dragoman.wire.results import PromptResult, ReadResult, ToolResult
    from dragoman.wire.skills import Skill

_HOME = {
    "Alert": "dragoman.wire.alerts",
    "Client": "dragoman.runtime.client",
    "Progress": "dragoman.runtime.progress",
    "Change": "dragoman.runtime.subscriptions",
    "Changes": "dragoman.runtime.subscriptions",
    "Skill": "dragoman.wire.skills",
    "LoadedSkill": "dragoman.runtime.skills",
    "ResultCache": "dragoman.runtime.caching",
    "TaskHandle": "dragoman.runtime.tasks",
    "ServerInfo": "dragoman.runtime.client",
    "Host": "dragoman.service.assemble",
    "LogMessage": "dragoman.service.voices",
    "Call": "dragoman.policy.chain",
    "Outcome": "dragoman.policy.chain",
    "CallbackApprover": "dragoman.policy.approvers",
    "Decision": "dragoman.policy.questions",
    "Question": "dragoman.policy.questions",
    "Elicitation": "dragoman.runtime.asking",
    "ElicitationAnswer": "dragoman.runtime.asking",
    "Tool": "dragoman.wire.listing",
    "Resource": "dragoman.wire.listing",
    "ResourceTemplate": "dragoman.wire.listing",
    "Prompt": "dragoman.wire.listing",
    "View": "dragoman.wire.apps",
    "ToolResult": "dragoman.wire.results",
    "ReadResult": "dragoman.wire.results",
    "PromptResult": "dragoman.wire.results",
}

__all__ = [
    "Alert",
    "ApprovalDenied",
    "ApprovalExpired",
    "ApprovalPending",
    "AuthRequired",
    "BreakerOpen",
    "BudgetExhausted",
    "Call",
    "CallFailed",
    "CallTimeout",
    "CallbackApprover",
    "Change",
    "Changes",
    "Client",
    "ConfigError",
    "ConnectFailed",
    "ConnectionLost",
    "Decision",
    "DragomanError",
    "EgressDenied",
    "Elicitation",
    "ElicitationAnswer",
    "Host",
    "InvalidArguments",
    "InvalidResult",
    "LoadedSkill",
    "LocalProtocolError",
    "LogMessage",
    "MalformedResponse",
    "NotAllowed",
    "Outcome",
    "Problem",
    "Progress",
    "Prompt",
    "PromptResult",
    "ProtocolError",
    "Question",
    "ReadResult",
    "Refused",
    "RemoteProtocolError",
    "Resource",
    "ResourceTemplate",
    "ResultCache",
    "ResultTooLarge",
    "ServerBusy",
    "ServerError",
    "ServerInfo",
    "Skill",
    "SpawnFailed",
    "TaskHandle",
    "Tool",
    "ToolChanged",
    "ToolResult",
    "TransportError",
    "UnknownTool",
    "VersionMismatch",
    "View",
    "__version__",
    "blocking",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that importing the package stays cheap."""
    from importlib import import_module

    if name == "blocking":
        return import_module("dragoman.blocking")
    if name not in __all__:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    value = getattr(import_module(_HOME.get(name, "dragoman.errors")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
