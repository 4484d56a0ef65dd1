"""MCP over stdio in one page. Usage: python minimal_client.py CMD…

Both sides write lines of JSON. A request has an id, its answer has the same id; a message without an id is a notification.
Older servers start with a handshake; those of 2026-07-28 keep no state and want to know the client with every request.
"""
# mypy: ignore-errors

import json
import subprocess
import sys

ME = {"name": "minimal-client", "version": "1"}
META = {"protocolVersion": "2026-07-28", "clientInfo": ME, "clientCapabilities": {}}


class Client:
    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", bufsize=1)
        self.last_id, self.extra = 0, {}
        try:  # the handshake: offer a version, look at the answer, say that we are ready
            self.server = self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": ME})
            self.send({"method": "notifications/initialized"})
        except RuntimeError:  # a stateless server refuses the handshake with error -32022
            self.extra = {"_meta": {f"io.modelcontextprotocol/{key}": value for key, value in META.items()}}
            self.server = self.request("server/discover", {})

    def send(self, message):
        self.child.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def request(self, method, params):
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params | self.extra})
        for line in self.child.stdout:
            message = json.loads(line)
            if "method" in message and "id" in message:  # the server asks us: an answer is due, if only "no"
                self.send({"id": message["id"], "error": {"code": -32601, "message": "I can only call"}})
            elif "method" in message:
                print("notification:", message["method"], message.get("params", {}))
            elif "error" in message:
                raise RuntimeError(message["error"]["message"])
            elif message["id"] == self.last_id:
                return message["result"]
        sys.exit("the server went away")


client = Client(sys.argv[1:])
print("server:", client.server.get("serverInfo") or client.server["_meta"]["io.modelcontextprotocol/serverInfo"])
print("capabilities:", ", ".join(client.server["capabilities"]))
page = client.request("tools/list", {})
tools = page["tools"]
while page.get("nextCursor"):  # a long list comes in pages
    page = client.request("tools/list", {"cursor": page["nextCursor"]})
    tools += page["tools"]
print("tools:", ", ".join(tool["name"] for tool in tools))
for tool in [tool for tool in tools if tool.get("annotations", {}).get("readOnlyHint")][:1]:  # the first that says it only reads
    arguments = dict.fromkeys(tool["inputSchema"].get("required", []), "a")
    print("call:", tool["name"], client.request("tools/call", {"name": tool["name"], "arguments": arguments})["content"])
client.child.stdin.close()  # the end of its input tells the server to stop
client.child.wait(timeout=5)
