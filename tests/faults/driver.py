"""Drives one fault fixture with the installed package, and prints what happened as JSON lines.

Usage: ``driver.py FIXTURE --mode auto|legacy [--url URL]``. A fixture is a small faulty server whose docstring has a line
``DO: connect; tools; call; …``; each step is reported as ``{"step", "ev": "start"}`` and ``{"step", "ev": "end", "ok", "value"
| "error"}``, the last one being ``close``; then ``{"ev": "mem", "mb"}`` and ``{"ev": "exit"}``. Public API only.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import os
import re
import resource
import sys
from typing import Any

import dragoman

PASSED_ON = ("FAKE_LOG", "FAKE_TTL")


def say(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def why(exc: BaseException) -> str:
    text = exc.for_user() if isinstance(exc, dragoman.DragomanError) else str(exc)
    return f"{type(exc).__name__}: {text[:2000]}"


def steps_of(fixture: str) -> list[str]:
    """The steps of the fixture's DO line, without the first one, which is always ``connect``."""
    with open(fixture, encoding="utf-8") as file:
        docstring = ast.get_docstring(ast.parse(file.read())) or ""
    found = re.search(r"^DO:?\s+(.+)$", docstring, re.MULTILINE)
    return [step.strip() for step in found.group(1).split(";")][1:] if found else []


async def run_step(client: dragoman.Client, step: str) -> Any:
    if step.startswith("sleep:"):
        await asyncio.sleep(float(step.removeprefix("sleep:")))
        return None
    if step == "tools":
        return sorted(tool.name for tool in await client.list_tools())
    if step == "tools*":
        return [tool.name for tool in await client.list_tools()]
    if step == "resources":
        return sorted(resource.uri for resource in await client.list_resources())
    name, _, deadline = step.partition("@")
    tool = name.partition(":")[2] or "echo"
    result = await client.call_tool(tool, {"text": "hi"}, timeout_s=float(deadline) if deadline else None)
    return "".join(getattr(block, "text", "") or "" for block in result.content)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("fixture")
    parser.add_argument("--mode", default="auto", choices=("auto", "legacy"))
    parser.add_argument("--url")
    options = parser.parse_args()
    env = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    revision = "2025-11-25" if options.mode == "legacy" else None
    target: Any = options.url or [sys.executable, os.path.abspath(options.fixture)]
    client = dragoman.Client(target, env=env, revision=revision)
    step = "connect"
    try:
        say(step=step, ev="start")
        async with client:
            say(step=step, ev="end", ok=True, value=client.server.revision)
            for step in steps_of(options.fixture):
                say(step=step, ev="start")
                try:
                    say(step=step, ev="end", ok=True, value=await run_step(client, step))
                except Exception as exc:
                    say(step=step, ev="end", ok=False, error=why(exc))
            step = "close"
            say(step=step, ev="start")
        say(step=step, ev="end", ok=True)
    except BaseException as exc:
        say(step=step, ev="end", ok=False, fatal=True, error=why(exc))
    say(ev="mem", mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


asyncio.run(main())
say(ev="exit")
