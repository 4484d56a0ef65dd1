"""Shows a configuration with its secrets masked: for ``config show``, for logs and for approvals."""

from __future__ import annotations

import msgspec

from .model import Config, ServerConfig
from .secrets import mask_address, mask_server


def describe(config: Config) -> dict[str, object]:
    """A configuration as plain values for JSON; variables by name, literal secrets as ``[redacted]``."""
    return {
        "path": str(config.path) if config.path else None,
        "project": config.project,
        "client": msgspec.to_builtins(config.client),
        "policy": msgspec.to_builtins(config.policy),
        "alerts": {"webhook": mask_address(config.alerts.webhook)} if config.alerts.webhook is not None else {},
        "audit": msgspec.to_builtins(config.audit),
        "servers": {name: describe_server(server) for name, server in config.servers.items()},
        "warnings": list(config.warnings),
    }


def describe_server(server: ServerConfig) -> dict[str, object]:
    """One server as plain values, the settings that are not set left out."""
    shown = msgspec.structs.asdict(mask_server(server))
    del shown["source"], shown["key"], shown["name"]
    tools = {name: msgspec.to_builtins(tool) for name, tool in server.tools.items()}
    shown["tools"] = {
        name: {key: value for key, value in tool.items() if value not in (None, [], ()) and (key, value) != ("enabled", False)}
        for name, tool in tools.items()
    }
    present = {key: list(value) if isinstance(value, tuple) else value for key, value in shown.items() if value not in (None, {}, ())}
    if server.trust == "normal":
        del present["trust"]
    if server.breaker is None:
        present["breaker"] = False
    return {key: msgspec.to_builtins(value) for key, value in present.items()}
