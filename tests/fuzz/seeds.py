"""Where fuzzing begins: the recorded conversations, a configuration of each kind, and the words of each language."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TRANSCRIPTS: Final = Path(__file__).parent.parent / "transcripts"

TOML: Final = b"""[client]
name = "us"
[servers.files]
command = ["npx", "-y", "server", "/tmp"]
env = { LOG = "warn", "K E" = "${env:K}" }
limits = { result_bytes = 1000, tools = 5 }
default_tier = "L2"
[servers.files.tools]
"read_*" = "L0"
move = { tier = "L2", say = "Move {source}" }
[servers."web"]
url = "https://host/mcp"
headers = { Authorization = "Bearer ${secret:x}" }
timeout_s = 3.5
revision = "2025-11-25"
enabled = false
[policy]
approval_timeout_s = 300
"""
JSON: Final = (
    b'{"mcpServers": {"a": {"command": "npx", "args": ["-y", "x"], "env": {"K": "v"}}, "b": {"type": "http", "url": "https://h/mcp"}}}'
)

WORDS: Final[dict[str, tuple[bytes, ...]]] = {
    "lines": (b"\n", b"\r\n", b"\r", b"{}", b" "),
    "sse": (b"data:", b"data: ", b"event:", b"id:", b"retry:", b"\n\n", b"\r\n\r\n", b"\r\r", b"\xef\xbb\xbf", b": "),
    "websocket": (
        b"\x81\x02{}",
        b"\x01\x01{",
        b"\x80\x01}",
        b"\x89\x00",
        b"\x8a\x01x",
        b"\x88\x02\x03\xe8",
        b"\x81\x7e\x00\x80",
        b"\x81\x7f",
    ),
    "inbound": (
        *(
            b'"jsonrpc":"2.0"',
            b'"id":1',
            b'"id":2',
            b'"id":null',
            b'"method":"',
            b'"params":{',
            b'"result":{}',
            b'"error":{"code":-32601,"message":""}',
        ),
        *(
            b"!t",
            b"!o",
            b"!e",
            b"!e4",
            b"\n",
            b"[",
            b"]",
            b"NaN",
            b"\\ud800",
            b"1e999",
            b"notifications/progress",
            b"notifications/cancelled",
        ),
        *(b"io.modelcontextprotocol/subscriptionId", b"progressToken", b"requestId", b"server/discover", b"initialize", b"ping"),
    ),
    "config": (
        *(b"[servers.", b"]", b"command", b"url", b"tools", b"limits", b"env", b"headers", b"inherit", b"default_tier", b'"L0"', b"policy"),
        *(b'"""', b"'''", b"${env:", b"${secret:", b"inf", b"nan", b"1979-05-27", b"{", b"}", b"= [", b"#", b"mcpServers", b"\\u0000"),
    ),
}


def seeds(target: str) -> Iterator[bytes]:
    """Inputs that mean something."""
    if target == "config":
        yield from (b"\x01" + TOML, b"\x03" + TOML, b"\x00" + JSON, b"\x02" + JSON)
        return
    for path in sorted(TRANSCRIPTS.glob("*.jsonl")):
        entries = [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
        messages = [
            json.dumps(entry["message"], separators=(",", ":")).encode()
            for entry in entries
            if "message" in entry and entry["from"] == "server"
        ]
        if target == "sse":
            yield b"\x05\x04" + b"".join(b"id: %d\ndata: " % number + message + b"\n\n" for number, message in enumerate(messages))
        elif target == "websocket":
            heads = (b"\x81" + (bytes((len(one),)) if len(one) < 126 else b"\x7e" + len(one).to_bytes(2, "big")) for one in messages)
            yield b"\x05\x04" + b"".join(head + one for head, one in zip(heads, messages, strict=True) if len(one) < 65536)
        elif target == "lines":
            yield b"\x05\x04" + b"\n".join(messages)
        else:
            http = "http" in path.name
            for how in (2, 2 | 64):
                yield bytes((how | http, 0)) + b"\n".join(messages)
