"""Odd servers that flood, stall, die or refuse to."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.demo.raw_peer import call_line, greeted, odd


def wait_until(claim: Callable[[], bool]) -> bool:
    """Poll for at most ten seconds."""
    limit = time.monotonic() + 10
    while not (held := claim()) and time.monotonic() < limit:
        time.sleep(0.01)
    return held


def alive(pid: int) -> bool:
    """Is this process there, and not just waiting to be reaped?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_stray_progress() -> None:
    with greeted("stray_progress") as peer:
        meta = {"name": "echo", "arguments": {}, "_meta": {"progressToken": "mine"}}
        assert peer.result("tools/call", meta)["content"][0]["text"] == "done"
        tokens = [(note.get("params") or {}).get("progressToken", "absent") for note in peer.heard]
        assert tokens == ["nobody's", {"a": 1}, None, True, "absent", "absent", "mine", "mine", "mine"]
        assert peer.receive()["params"]["progress"] == 10


def test_flood() -> None:
    with greeted("flood") as peer:
        assert peer.words("echo", text="hi") == "echo: hi"
        assert len(peer.heard) == 20_000


def test_floods_until_closed() -> None:
    with greeted("floods_until_closed") as peer:
        assert peer.words("echo", text="hi") == "echo: hi"
        assert all(b"and on" in peer.line() for _ in range(5000))
        peer.close_stdin()
        assert b"and on" in peer.line()
        peer.terminate()
        assert peer.status() == -signal.SIGTERM


def test_stderr_flood() -> None:
    with odd("stderr_flood", "200000") as peer:
        peer.request("ping")
        assert len(peer.stderr()) >= 200_000


def test_listchanged_storm() -> None:
    with greeted("listchanged_storm") as peer:
        assert peer.words("echo", text="hi") == "echo: hi"
        assert len(peer.heard) == 1000
        peer.result("tools/list")
        assert peer.words("listed") == "1"


def test_grandchild_outlives_its_launcher() -> None:
    with greeted("grandchild") as peer:
        launcher, real = (int(word) for word in peer.words("pids").split())
        assert launcher == peer.pid
        os.kill(real, signal.SIGTERM)
        peer.close_stdin()
        peer.terminate()
        peer.status()
        assert alive(real)
        os.kill(real, signal.SIGKILL)
        assert wait_until(lambda: not alive(real))


def test_stubborn() -> None:
    with greeted("stubborn") as peer:
        assert peer.words("pids") == str(peer.pid)
        peer.close_stdin()
        peer.terminate()
        assert peer.silent()
        assert peer.running
        os.kill(peer.pid, signal.SIGKILL)


def test_dies_in_call() -> None:
    with greeted("dies_in_call") as peer:
        assert peer.words("echo", text="fine") == "echo: fine"
        assert (call_line(peer), peer.status()) == (b"", 7)
        assert "assertion failed" in peer.stderr()


def test_closes_stdout_and_lives_on() -> None:
    with greeted("closes_stdout") as peer:
        assert call_line(peer) == b""
        assert peer.running
        os.kill(peer.pid, signal.SIGKILL)
    with greeted("closes_stdout", "stdin") as peer:
        assert peer.words("echo", text="hi") == "echo: hi"
        assert wait_until(lambda: not Path(f"/proc/{peer.pid}/fd/0").exists())
        assert peer.running
        os.kill(peer.pid, signal.SIGKILL)


def test_hangs_in_call() -> None:
    with greeted("hangs_in_call") as peer:
        peer.post("tools/call", {"name": "echo", "arguments": {}})
        assert peer.silent()


def test_hangs() -> None:
    with odd("hangs") as peer:
        peer.post("initialize")
        peer.post("ping")
        assert peer.silent()
    with greeted("hangs", "calls") as peer:
        call = peer.post("tools/call", {"name": "echo", "arguments": {}})
        peer.send({"method": "notifications/cancelled", "params": {"requestId": call}})
        assert peer.result("ping") == {}
        assert peer.silent()
        assert peer.heard == []


def test_env_dump(tmp_path: Path) -> None:
    with greeted("env_dump", "one", "two") as peer:
        facts = json.loads(peer.words("echo"))
        assert facts["argv"][1:] == ["one", "two"]
        assert facts["cwd"] == os.getcwd()
        assert facts["env"]["PATH"] == os.environ["PATH"]
        assert (facts["pid"], facts["pgid"]) == (peer.pid, os.getpgid(0))
        assert {0, 1, 2} <= set(facts["fds"])


def test_slow_reader_takes_a_large_argument_in_the_end() -> None:
    with greeted("slow_reader", "65536", "0.01") as peer:
        assert peer.words("echo", text="x" * 1_000_000) == "1000000"


def test_late_answer() -> None:
    with greeted("late_answer") as peer:
        assert peer.words("echo", text="fine") == "echo: fine"
        call = peer.post("tools/call", {"name": "echo", "arguments": {}})
        peer.result("ping")
        assert peer.heard == []
        peer.send({"method": "notifications/cancelled", "params": {"requestId": call}})
        assert peer.answer_to(call)["result"]["content"][0]["text"] == "too late"
