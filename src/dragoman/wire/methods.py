"""The method table: which capability each method needs, and what it means to a client.

Source: the five schemas, 2024-11-05 to 2026-07-28.
"""

from __future__ import annotations

from typing import Final

# Requests of a client, with the server capability that must have been declared ("" = always allowed).  A dotted
# capability names a member that must be truthy, e.g. resources.subscribe; a colon names a setting of it, which must be true.
CLIENT_REQUESTS: Final[dict[str, str]] = {
    "initialize": "",
    "ping": "",
    "server/discover": "",
    "tools/list": "tools",
    "tools/call": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "resources/read": "resources",
    "resources/subscribe": "resources.subscribe",
    "resources/unsubscribe": "resources.subscribe",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "completion/complete": "completions",
    "logging/setLevel": "logging",
    "subscriptions/listen": "",
    "tasks/get": "tasks",
    "tasks/result": "tasks",
    "tasks/list": "tasks.list",
    "tasks/cancel": "tasks.cancel",
    "tasks/update": "tasks",
    "skills/list": "extensions.io.modelcontextprotocol/skills",
    "skills/get": "extensions.io.modelcontextprotocol/skills",
    "resources/directory/read": "extensions.io.modelcontextprotocol/skills:directoryRead",
}

# The extension of tasks, which is all that is left of them in the stateless era: methods, and the name it is declared under.
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
MODERN_TASKS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})

# Requests of a server (legacy; modern ones arrive inside input_required), with the client capability they need.
SERVER_REQUESTS: Final[dict[str, str]] = {
    "ping": "",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
}

# What modern servers no longer have, with what to use instead.
REMOVED_IN_MODERN: Final[dict[str, str]] = {
    "initialize": "server/discover",
    "ping": "server/discover",
    "logging/setLevel": "the log level of each request",
    "resources/subscribe": "subscriptions/listen",
    "resources/unsubscribe": "subscriptions/listen",
    "tasks/result": "tasks/get",
    "tasks/list": "tasks/get for each",
}

# Notices of a client that the stateless era no longer has, with why.
NOTICES_REMOVED_IN_MODERN: Final[dict[str, str]] = {
    "notifications/initialized": "there is no handshake",
    "notifications/roots/list_changed": "the server asks for roots inside of each request that needs them",
    "notifications/progress": "a client answers no requests there",
    "notifications/tasks/status": "a client answers no requests there",
}

# Requests whose modern result may be input_required.
MULTI_ROUND: Final = frozenset({"tools/call", "prompts/get", "resources/read"})

CANCELLED: Final = "notifications/cancelled"
INITIALIZED: Final = "notifications/initialized"
PROGRESS: Final = "notifications/progress"
MESSAGE: Final = "notifications/message"
TOOLS_CHANGED: Final = "notifications/tools/list_changed"
RESOURCES_CHANGED: Final = "notifications/resources/list_changed"
PROMPTS_CHANGED: Final = "notifications/prompts/list_changed"
RESOURCE_UPDATED: Final = "notifications/resources/updated"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"
TASK_STATUS: Final = "notifications/tasks/status"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"

# Keys of _meta that the protocol owns (2026-07-28).
META_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
META_CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
META_SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
META_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
META_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

RESERVED_META: Final = frozenset({META_VERSION, META_CLIENT_INFO, META_CLIENT_CAPABILITIES})
