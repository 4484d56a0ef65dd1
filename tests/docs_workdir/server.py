"""The server that the documentation's examples talk to: MCP with a handshake, two tools, standard library only."""

import json
import pathlib
import sys
from typing import Any

TOOLS = [
    {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]},
    },
    {
        "name": "read_text_file",
        "description": "Read a text file of the working folder.",
        "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a request, or None where the method is not known."""
    match method:
        case "initialize":
            info = {"name": "example", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
        case "ping":
            return {}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if params["name"] == "add":
            text = str(params["arguments"]["a"] + params["arguments"]["b"])
        case "tools/call":
            text = pathlib.Path(params["arguments"]["path"]).read_text()
        case _:
            return None
    return {"content": [{"type": "text", "text": text}]}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        outcome = {"error": {"code": -32601, "message": "method not found"}} if result is None else {"result": result}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)
