"""Serves an ASGI application on a free port of loopback and prints its URL as the first line on stdout."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn


def serve(app: Any, path: str = "/mcp") -> None:
    """Until SIGTERM."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)).run(sockets=[listener])
