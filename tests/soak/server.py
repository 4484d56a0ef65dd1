"""A server that misbehaves at random, for the soak: standard library only, and it writes down what it really executed.

Run as ``server.py FOLDER NAME FAULTS SEED``: FAULTS is the chance of a fault per call, 0 for a healthy server. Each execution of ``work``
is one line of FOLDER/NAME.done, written with one ``write`` before the answer; the process id is in FOLDER/NAME.pid.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

TOOLS = [
    {"name": name, "inputSchema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}
    for name in ("work", "look")
]


def main(folder: str, name: str, faults: float, seed: int) -> None:
    """Answer until end of file, or until a fault ends it."""
    dice = random.Random(seed ^ os.getpid())
    with open(os.path.join(folder, f"{name}.pid"), "w", encoding="ascii") as file:
        file.write(str(os.getpid()))
    done = os.open(os.path.join(folder, f"{name}.done"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def put(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def emit(message: dict[str, Any]) -> None:
        put(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    for line in sys.stdin:
        message = json.loads(line)
        method, request_id = message.get("method"), message.get("id")
        if request_id is None:
            continue
        if method == "initialize":
            info = {"name": name, "version": "1"}
            emit({"id": request_id, "result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}})
        elif method == "tools/list":
            emit({"id": request_id, "result": {"tools": TOOLS}})
        elif method == "ping":
            emit({"id": request_id, "result": {}})
        elif method != "tools/call":
            emit({"id": request_id, "error": {"code": -32601, "message": "Method not found"}})
        else:
            fault = dice.choice(FAULTS) if dice.random() < faults else ""
            if fault == "die before":
                os._exit(3)
            if message["params"]["name"] == "work":
                os.write(done, (message["params"]["arguments"]["id"] + "\n").encode())
            answer = {"id": request_id, "result": {"content": [{"type": "text", "text": message["params"]["arguments"]["id"]}]}}
            if fault == "die after":
                os._exit(4)
            if fault == "half a line":
                put(json.dumps({"jsonrpc": "2.0", **answer})[:-20])
                os._exit(5)
            if fault == "mute":
                continue
            if fault == "hang":
                time.sleep(3600)
            if fault == "slow":
                time.sleep(dice.uniform(0.1, 0.6))
            if fault == "garbage":
                put("".join(chr(dice.randrange(32, 0x2FF)) for _ in range(200)) + "\n")
                sys.stderr.write("warning: something is odd\n" * 20)
            if fault == "foreign":
                emit({"id": "nobody-asked", "result": {}})
            emit(answer)
            if fault == "twice":
                emit(answer)


FAULTS = ("die before", "die after", "half a line", "mute", "hang", "slow", "slow", "garbage", "garbage", "foreign", "twice")

if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]))
