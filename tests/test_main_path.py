"""The whole path of a call, on real processes and a real store: what is promised about it, seen from both ends."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dragoman import (
    ApprovalDenied,
    ApprovalExpired,
    ConnectFailed,
    ConnectionLost,
    Host,
    InvalidArguments,
    NotAllowed,
    ResultTooLarge,
    SpawnFailed,
    UnknownTool,
)
from dragoman.policy.approvers import YesApprover
from dragoman.policy.questions import Decision, Question
from dragoman.store.verify import verify
from dragoman.transports.environment import INHERITED
from tests.runtime.fakes import ODD
from tests.service.hosting import configured, demo, ended, odd, rows, server, story, until

# Sees, when it is called, what the audit of its client already holds: argv is the database.
WITNESS = """
import sqlite3, sys
sys.path.insert(0, {odd!r})
from _base import answer, is_call, serve, words
def on(message):
    if not is_call(message):
        return False
    con = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
    events = [row[0] for row in con.execute("SELECT event FROM audit WHERE call != '' ORDER BY rowid")]
    con.close()
    answer(message, words(" ".join(events)))
    return True
serve(on)
"""


class Ada:
    """An approver with one answer."""

    def __init__(self, verdict: str = "allow") -> None:
        self.verdict = verdict
        self.questions: list[Question] = []

    async def decide(self, question: Question) -> Decision:
        self.questions.append(question)
        if self.verdict == "sleep":
            await asyncio.Event().wait()
        return Decision(verdict="allow" if self.verdict == "allow" else "deny", by="ada", how="callback")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# --- side by side -------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_servers_that_fail_to_start_stop_none_of_the_others(tmp_path: Path, dragoman_home: Path) -> None:
    """One exits at once, one hangs, one is missing; both eras work beside them."""
    config = configured(
        tmp_path,
        server("harbour", demo("legacy")),
        server("bazaar", demo("modern")),
        server("exits", odd("exits_at_once")),
        server("hangs", odd("hangs")),
        server("missing", [str(tmp_path / "no-such-program")]),
    )
    async with Host.from_config(config, connect_timeout_s=5.0) as host:
        states = {name: slot.state for name, slot in host.slots.items()}
        assert states == {"harbour": "ready", "bazaar": "ready", "exits": "down", "hangs": "down", "missing": "down"}
        errors = {name: slot.error for name, slot in host.slots.items()}
        assert isinstance(errors["exits"], SpawnFailed)
        assert "HARBOUR_KEY is not set" in str(errors["exits"])
        assert isinstance(errors["hangs"], ConnectFailed)
        assert isinstance(errors["missing"], SpawnFailed)
        assert {tool.server for tool in await host.tools()} == {"harbour", "bazaar"}
        both = await asyncio.gather(host.call("harbour.search", {"text": "salt"}), host.call("bazaar.search", {"text": "lamp"}))
        assert [outcome.for_user().split()[0] for outcome in both] == ["Bonaventure:", "lamp,"]
        failed = await host.call("exits.echo", {"text": "x"})
        assert isinstance(failed.error, SpawnFailed)
    assert story(dragoman_home, "exits.echo") == ["asked", "ended: failed"]
    with closing(sqlite3.connect(dragoman_home / "dragoman.db")) as con:
        health = {name: json.loads(body)["check"]["ok"] for name, body in con.execute("SELECT server, body FROM health")}
        catalogs = {name: (era, len(json.loads(tools))) for name, era, tools in con.execute("SELECT server, era, tools FROM catalogs")}
    assert health == {"harbour": True, "bazaar": True, "exits": False, "hangs": False, "missing": False}
    assert catalogs == {"harbour": ("legacy", 15), "bazaar": ("modern", 15)}


async def test_crash_in_a_call_is_named_while_another_server_goes_on(tmp_path: Path, dragoman_home: Path) -> None:
    """It perhaps ran, so *unknown*; it is not repeated, and the next call starts the server again."""
    config = configured(tmp_path, server("dies", odd("dies_in_call"), {"*": "L1"}), server("order", odd("reverse_order", 2)))
    async with Host.from_config(config) as host:
        others = [asyncio.create_task(host.call("order.echo", {"text": "1"}))]
        lost = await host.call("dies.echo", {"text": "x"})
        others.append(asyncio.create_task(host.call("order.echo", {"text": "2"})))
        assert isinstance(lost.error, ConnectionLost)
        assert "status 7" in str(lost.error)
        assert "hull == whole" in str(lost.error)
        assert [(await other).for_user() for other in others] == ["echo: 1", "echo: 2"]
        again = await asyncio.gather(*(host.call("dies.echo", {"text": "fine"}) for _ in range(5)))
        assert [outcome.for_user() for outcome in again] == ["echo: fine"] * 5
        assert host.slots["dies"].starts == 2
    assert [(event, status) for event, status, name in rows(dragoman_home, "event, status, server") if name == "dies"][:2] == [
        ("sending", None),
        ("ended", "unknown"),
    ]
    assert verify(dragoman_home / "dragoman.db").ok


async def test_servers_come_and_go_while_calls_run(tmp_path: Path) -> None:
    """A removed server's call ends by name, its process is gone, the other call is not touched."""
    config = configured(tmp_path, server("order", odd("reverse_order", 2)))
    async with Host.from_config(config) as host:
        other = asyncio.create_task(host.call("order.echo", {"text": "1"}))
        await host.add("guest", command=odd("hangs", "calls"), tools={"*": "L0"})
        ours = asyncio.create_task(host.call("guest.echo", {"text": "x"}))
        await until(lambda: len(host.stack.flights) == 2 and all(flight.sent for flight in host.stack.flights._by_id.values()))
        await host.remove("guest")
        outcome = await ours
        assert isinstance(outcome.error, ConnectionLost)
        assert not other.done()
        assert (await host.call("order.echo", {"text": "2"})).ok
        assert (await other).ok


@pytest.mark.parametrize("name", ["legacy", "modern"])
async def test_grown_tool_is_there_at_once(name: str, tmp_path: Path) -> None:
    """``list_changed``, by a notice in one era and by a subscription in the other; its tier is the default."""
    config = configured(tmp_path, server("demo", demo(name), {"grow_tool": "L0", "grown_2": "L0"}))
    async with Host.from_config(config) as host:
        assert (await host.call("demo.grow_tool")).for_user() == "grew grown_1"
        (new,) = [tool for tool in await host.tools() if tool.name.startswith("grown")]
        assert (new.full_name, new.tier) == ("demo.grown_1", "L2")
        assert isinstance((await host.call("demo.grown_1")).error, ApprovalDenied)
        await host.call("demo.grow_tool")
        assert (await host.call("demo.grown_2")).for_user() == "I am grown_2"


# --- names and tiers ----------------------------------------------------------------------------------------------


async def test_every_tricky_name_of_two_servers_is_called_by_its_own_name(tmp_path: Path) -> None:
    """Names for models are distinct, legal and lead back to one tool."""
    config = configured(tmp_path, server("a", odd("tool_names")), server("a_", odd("tool_names")), server("a__b", odd("tool_names")))
    async with Host.from_config(config) as host:
        tools = await host.tools()
        names = [tool.model_name for tool in tools]
        assert len(set(names)) == len(names) >= 3 * 17
        assert all(len(name) <= 64 and name.isascii() and name.replace("_", "").replace("-", "").isalnum() for name in names)
        for tool in tools:
            for written in (tool.model_name, tool.full_name):
                outcome = await host.call(written)
                assert (outcome.call.server, outcome.call.name) == (tool.server, tool.name)
                assert outcome.unwrap().text == tool.name


async def test_tiers_decide_what_runs_what_is_asked_and_what_is_not_there(tmp_path: Path, dragoman_home: Path) -> None:
    """Exact beats pattern beats default; what nobody named is L2; L3 is off until switched on; ``off`` is unknown."""
    tiers = {"se*": "L1", "search": "L0", "add_note": "L3", "slow": "off"}
    config = configured(tmp_path, server("harbour", demo("legacy"), tiers))
    ada = Ada("deny")
    async with Host.from_config(config, approver=ada) as host:
        assert (await host.call("harbour.search", {"text": "salt"})).call.tier == "L0"
        assert isinstance((await host.call("harbour.echo", {"text": "x"})).error, ApprovalDenied)
        irreversible = await host.call("harbour.add_note", {"text": "x"})
        assert isinstance(irreversible.error, NotAllowed)
        assert "L3" in str(irreversible.error)
        assert isinstance((await host.call("harbour.slow", {"seconds": 0})).error, UnknownTool)
        tools = {tool.name: tool.tier for tool in await host.tools()}
        assert (tools["search"], tools["echo"], tools["add_note"], "slow" in tools) == ("L0", "L2", "L3", False)
        assert [question.tool for question in ada.questions] == ["echo"]
        near = await host.call("harbour.serch", {"text": "x"})
        assert near.hint is not None
        assert "harbour.search" in near.hint
    assert story(dragoman_home, "echo")[-1] == "ended: denied"
    assert story(dragoman_home, "add_note")[-1] == "ended: refused"


# --- the audit ----------------------------------------------------------------------------------------------------


async def test_sending_of_a_risky_call_is_on_disk_before_the_server_hears_of_it(tmp_path: Path, dragoman_home: Path) -> None:
    """The server itself looks into the audit, from another process, as soon as the call arrives."""
    script = tmp_path / "witness.py"
    script.write_text(WITNESS.format(odd=str(ODD)))
    command = [sys.executable, str(script), str(dragoman_home / "dragoman.db")]
    config = configured(tmp_path, server("witness", command, {"*": "L2"}))
    async with Host.from_config(config, approver=YesApprover("ada")) as host:
        outcome = await host.call("witness.echo", {"text": "x"})
        assert outcome.for_user() == "asked sending"
    assert story(dragoman_home, "echo") == ["asked", "sending", "ended: ok"]
    approval = ended(dragoman_home, "echo")["approval"]
    assert (approval["by"], approval["how"], approval["verdict"]) == ("ada", "--yes", "allow")


async def test_store_that_cannot_be_written_stops_risky_calls_and_no_reads(tmp_path: Path, dragoman_home: Path) -> None:
    """Fails closed for L2: nothing is sent. L0 goes on."""
    config = configured(tmp_path, server("harbour", demo("legacy"), {"search": "L0", "add_note": "L2"}))
    async with Host.from_config(config, approver=YesApprover("ada")) as host:
        os.rename(dragoman_home / "dragoman.db", dragoman_home / "elsewhere.db")
        risky = await host.call("harbour.add_note", {"text": "planted"})
        assert isinstance(risky.error, NotAllowed)
        assert "the audit cannot be written" in str(risky.error)
        assert (await host.call("harbour.search", {"text": "salt"})).ok
        notes = await host.read("harbour", "harbour://notes")
        assert "planted" not in notes.for_user()


async def test_store_that_fails_costs_no_start(tmp_path: Path, dragoman_home: Path) -> None:
    """Eras, health and catalogs are conveniences: a server can be started all the same."""
    config = configured(tmp_path, server("harbour", demo("legacy")))
    async with Host.from_config(config, lazy=True) as host:
        with closing(sqlite3.connect(dragoman_home / "dragoman.db")) as con:
            for table in ("eras", "health", "catalogs"):
                con.execute(f"DROP TABLE {table}")
            con.commit()
        assert (await host.call("harbour.search", {"text": "salt"})).ok


async def test_every_ending_has_its_word(tmp_path: Path, dragoman_home: Path) -> None:
    """ok, tool error, refused, denied, expired, failed, cancelled; *unknown* is in the test of the crash."""
    config = configured(
        tmp_path, "[policy]\napproval_timeout_s = 0.05\n", server("harbour", demo("legacy"), {"delete_notes": "L2", "*": "L0"})
    )
    ada = Ada("sleep")
    async with Host.from_config(config, approver=ada) as host:
        assert (await host.call("harbour.search", {"text": "salt"})).ok
        assert not (await host.call("harbour.book_berth", {"ship": "Petrel", "berth": "north", "nights": 31}, from_model=False)).ok
        assert isinstance((await host.call("harbour.echo", {"txt": "x"})).error, InvalidArguments)
        assert isinstance((await host.call("harbour.delete_notes", {"ids": ["n1"]})).error, ApprovalExpired)
        ada.verdict = "deny"
        assert isinstance((await host.call("harbour.delete_notes", {"ids": ["n1"]})).error, ApprovalDenied)
        cancelled = asyncio.create_task(host.call("harbour.slow", {"seconds": 60}))
        await until(lambda: any(flight.sent for flight in host.stack.flights._by_id.values()))
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    words = [(tool, status) for event, status, tool in rows(dragoman_home, "event, status, tool") if event == "ended"]
    assert words == [
        ("search", "ok"),
        ("book_berth", "refused"),
        ("echo", "refused"),
        ("delete_notes", "expired"),
        ("delete_notes", "denied"),
        ("slow", "cancelled"),
    ]
    assert verify(dragoman_home / "dragoman.db").ok


# --- what is kept from whom ---------------------------------------------------------------------------------------


async def test_child_gets_the_documented_variables_and_what_the_configuration_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of the documentation, and nothing else of ours; the folder is that of the file."""
    names = [name for name in (*INHERITED, "LC_TIME") if name != "HTTPS_PROXY"]
    env = dict.fromkeys(names, "1") | {"PATH": os.environ["PATH"], "GIVEN": "g", "HIDDEN": "h", "PYTHONPATH": "p"}
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pw@leak.invalid")
    env["DRAGOMAN_HOME"] = os.environ["DRAGOMAN_HOME"]
    config = configured(tmp_path, server("dump", odd("env_dump"), env={"OWN": "${env:HIDDEN}!"}, inherit=["GIV*"]))
    async with Host.from_config(config, env=env) as host:
        facts = json.loads((await host.call("dump.echo", {"text": ""})).unwrap().text)
    expected = {**{name: env[name] for name in names}, "OWN": "h!", "GIVEN": "g"}
    added = {"LC_CTYPE", "DRAGOMAN_SERVER"}  # by the interpreter, and the mark of what a server starts
    assert {name: value for name, value in facts["env"].items() if name not in added} == expected
    assert facts["cwd"] == str(tmp_path)
    assert facts["fds"] == [0, 1, 2]


async def test_variables_are_resolved_when_the_server_starts(tmp_path: Path) -> None:
    """A variable that is missing stops that server, with file, line and key; not the host, not the others."""
    env = {"PATH": os.environ["PATH"], "DRAGOMAN_HOME": os.environ["DRAGOMAN_HOME"]}
    config = configured(tmp_path, server("a", demo("legacy"), env={"TOKEN": "${env:LATER}"}), server("b", demo("modern")))
    async with Host.from_config(config, env=env, lazy=True) as host:
        missing = await host.call("a.search", {"text": "salt"})
        assert "named.toml:3" in str(missing.error)
        assert "LATER is not set" in str(missing.error)
        assert (await host.call("b.search", {"text": "lamp"})).ok
        env["LATER"] = "now"
        host.slots["a"].error = None
        assert (await host.call("a.search", {"text": "salt"})).ok


async def test_no_schema_of_a_server_is_fetched_over_the_whole_path(tmp_path: Path) -> None:
    """``$ref`` to a port and to a file: neither is touched, and every call ends."""
    canary = tmp_path / "canary.json"
    canary.write_text('{"type": "integer"}')
    os.utime(canary, ns=(0, 0))
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        config = configured(tmp_path, server("canary", odd("ref_canary", listener.getsockname()[1], canary)))
        async with Host.from_config(config) as host:
            for tool in await host.tools():
                for _ in range(2):
                    await host.call(tool.full_name, {"text": "not a number"} if tool.name != "by_output" else {})
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert os.stat(canary).st_atime_ns == 0


# --- sizes and times ----------------------------------------------------------------------------------------------


async def test_too_large_results_are_refused_in_words_and_the_connection_goes_on(tmp_path: Path, dragoman_home: Path) -> None:
    """Thrown away while it is read, below the frame limit and above it."""
    limits = {"result_bytes": 100_000, "frame_bytes": 1_000_000}
    config = configured(tmp_path, server("big", odd("big_line"), limits=limits), server("own", odd("big_line")))
    config.write_text(config.read_text() + "size = { result_bytes = 400_000 }\n")
    async with Host.from_config(config) as host:
        over = await host.call("big.size", {"bytes": 150_000})
        assert isinstance(over.error, ResultTooLarge)
        assert str(over.error) == 'result is 150.1 kB, limit 100 kB (server "big", tool "size"); raise servers.big.limits.result_bytes'
        more = await host.call("big.size", {"bytes": 3_000_000})
        assert isinstance(more.error, ResultTooLarge)
        assert str(more.error).startswith("result is 3 MB, limit 100 kB")
        assert (await host.call("big.echo", {"text": "fine"})).ok
        assert host.slots["big"].starts == 1
        assert (await host.call("own.size", {"bytes": 300_000})).ok
        own = await host.call("own.size", {"bytes": 500_000})
        assert str(own.error).endswith('limit 400 kB (server "own", tool "size"); raise servers.own.tools.size.result_bytes')
    failed, ok = (["asked", "sending", f"ended: {how}"] for how in ("failed", "ok"))
    assert story(dragoman_home, "size") == [*failed, *failed, *ok, *failed]


# --- ends ---------------------------------------------------------------------------------------------------------


async def test_closing_ends_stubborn_servers_and_their_children(tmp_path: Path) -> None:
    """Those that ignore the end of input and SIGTERM, and a server behind a launcher."""
    config = configured(tmp_path, server("stubborn", odd("stubborn")), server("launched", odd("grandchild")))
    async with Host.from_config(config, stop_s=0.6) as host:
        pids = []
        for name in ("stubborn", "launched"):
            pids += [int(word) for word in (await host.call(f"{name}.pids")).for_user().split()]
        assert len(pids) == 3
        assert all(alive(pid) for pid in pids)
        async with asyncio.timeout(20):
            await asyncio.gather(host.close(), host.close())
    await until(lambda: not any(alive(pid) for pid in pids))


async def test_cancelled_opening_leaves_no_process(tmp_path: Path) -> None:
    """One is up, one still hangs in its handshake."""
    config = configured(tmp_path, server("harbour", demo("legacy")), server("hangs", odd("hangs")))
    host = Host.from_config(config, stop_s=1.0)
    opening = asyncio.ensure_future(host.open())
    await until(lambda: bool(host.slots) and host.slots["harbour"].state == "ready")
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert {slot.state for slot in host.slots.values()} == {"stopped"}


async def test_descriptors_are_given_back_by_servers_that_come_and_go(tmp_path: Path) -> None:
    """Pipes, log files: a host that runs for weeks restarts its servers often."""
    config = configured(tmp_path, server("dies", odd("dies_in_call"), {"*": "L1"}))

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    async def crash(host: Host) -> None:
        await host.call("dies.echo", {"text": "x"})
        await host.call("dies.echo", {"text": "fine"})

    at_first = descriptors()
    async with Host.from_config(config) as host:
        await crash(host)
        before = descriptors()
        for _ in range(2):  # a fourth crash within a minute, and it would be down
            await crash(host)
        assert descriptors() == before
    assert descriptors() == at_first
