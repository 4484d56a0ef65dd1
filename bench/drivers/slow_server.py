"""A server in Python that takes its time to start: an interpreter, an import or two, and some waiting; both eras, one tool."""

import json
import sys
import time

START_S = 0.3  # from the first line of this file until it reads

time.sleep(START_S)
TOOLS = [{"name": "echo", "description": "Returns the text", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]
legacy = False
for line in sys.stdin:
    asked = json.loads(line)
    result = None
    match asked["method"]:
        case "initialize":
            legacy = True
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}}
        case "server/discover":
            result = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private"}
            result["_meta"] = {"io.modelcontextprotocol/serverInfo": {"name": "slow", "version": "1"}}
        case "tools/list":
            result = {"tools": TOOLS} if legacy else {"tools": TOOLS, "ttlMs": 0, "cacheScope": "private"}
        case "tools/call":
            result = {"content": [{"type": "text", "text": asked["params"]["arguments"]["text"]}], "isError": False}
        case "ping":
            result = {}
    if result is not None and "id" in asked:
        result = result if legacy else {"resultType": "complete", **result}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
