"""Hosts made from a configuration: what is refused at once, what is held back, and what never gets into a record."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from pathlib import Path

import pytest

from dragoman import ConfigError, Host, NotAllowed, SpawnFailed
from dragoman.config.load import load
from dragoman.policy.approvers import CallbackApprover
from dragoman.policy.questions import Question
from dragoman.service import trust
from dragoman.service.assemble import only
from dragoman.service.context import Context
from dragoman.service.notes import Agreement
from dragoman.service.plumbing import Plumbing
from dragoman.service.targets import client_for, target_of
from dragoman.service.tracing import Tracing
from tests.runtime.fakes import DEMO, ODD
from tests.service.hosting import configured, demo, ended, odd, rows, server, story

TOKEN = "tok-8f2c1d9e7b6a"
HEADER = "hdr-55aa0c3e9d21"
ARGUMENT = "arg-c0ffee123456"

# Says everything it was given: on stderr, in errors, in its last words.
BLABBER = """
import os, sys
sys.path.insert(0, {odd!r})
from _base import argument, fail, is_call, serve
said = os.environ["API_TOKEN"] + " " + sys.argv[-1]
print("starting with", said, file=sys.stderr, flush=True)
if "die" in sys.argv:
    sys.exit(said)
def on(message):
    if not is_call(message):
        return False
    if argument(message) == "die":
        print("dying with", said, file=sys.stderr, flush=True)
        os._exit(7)
    fail(message, -32000, "refused " + said)
    return True
serve(on)
"""


# --- what is refused at once --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[servers.a\n", 1, "not valid TOML"),
        ("[servers.a]\ncomand = ['x']\n", 2, "comand"),
        ("[servers.a]\ncommand = 'x'\n", 2, "list of words"),
        ("[servers.a]\ncommand = ['x']\ndefault_tier = 'L9'\n", 3, "L9"),
    ],
)
def test_broken_file_is_refused_before_anything_is_opened(text: str, line: int, words: str, tmp_path: Path, dragoman_home: Path) -> None:
    """With its file and line; no store is made."""
    with pytest.raises(ConfigError, match=words) as caught:
        Host.from_config(configured(tmp_path, text))
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "named.toml"), line)
    assert not (dragoman_home / "dragoman.db").exists()


def test_missing_file_and_unknown_option_are_refused_at_once(tmp_path: Path) -> None:
    """An option that no client knows would otherwise show when the first server starts, in the background."""
    with pytest.raises(ConfigError, match="no such file"):
        Host.from_config(tmp_path / "none.toml")
    with pytest.raises(TypeError, match="on_elicitate"):
        Host.from_config(configured(tmp_path, ""), on_elicitate=print)


async def test_state_folder_that_cannot_be_used_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is a file; the database is a folder. Nothing is started either way."""
    config = configured(tmp_path, server("a", demo("legacy")))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "file"))
    with pytest.raises(ConfigError, match="cannot create the folder") as caught:
        Host.from_config(config)
    assert caught.value.hint is not None
    assert "DRAGOMAN_HOME" in caught.value.hint
    (tmp_path / "home" / "dragoman.db").mkdir(parents=True)
    monkeypatch.setenv("DRAGOMAN_HOME", str(tmp_path / "home"))
    host = Host.from_config(config)
    with pytest.raises(ConfigError, match=r"dragoman\.db") as caught:
        await host.open()
    assert host.slots == {}
    assert caught.value.hint is not None
    assert "DRAGOMAN_HOME" in caught.value.hint


def test_only_knows_the_names_of_the_file(tmp_path: Path) -> None:
    """And offers the nearest."""
    config = load(configured(tmp_path, server("files", ["x"]), server("shop", ["y"])), env={}, cwd=tmp_path)
    assert list(only(config, ["shop"]).servers) == ["shop"]
    with pytest.raises(ConfigError, match="no server fles") as caught:
        only(config, ["fles"])
    assert caught.value.hint == "did you mean files?"


# --- project files ------------------------------------------------------------------------------------------------


async def approve(folder: Path) -> None:
    """As a person does with ``dragoman enable``."""
    context = Context(cwd=folder)
    plumbing = Plumbing(context.store_path)
    await plumbing.open()
    for one in context.config.servers.values():
        agreed = Agreement(at=time.time(), by="ada", how="terminal", terminal=True, parent="")
        await trust.approve(one, folder / "dragoman.toml", plumbing.store, agreed)
    await plumbing.close()


async def test_server_of_a_project_file_is_held_back_until_its_exact_command_was_approved(tmp_path: Path, dragoman_home: Path) -> None:
    """A file that lies in the working folder came with it: a clone must not run programs. A change holds it back again."""
    mark = tmp_path / "started"
    script = tmp_path / "server.py"
    real = str(ODD / "dual.py")
    lines = ["import runpy, sys", f"sys.path.insert(0, {str(ODD)!r})", f"open({str(mark)!r}, 'a').write('x')"]
    script.write_text("\n".join([*lines, f"runpy.run_path({real!r}, run_name='__main__')", ""]))
    configured(tmp_path, server("mine", [sys.executable, str(script)]), name="dragoman.toml")
    async with Host.from_config(cwd=tmp_path) as host:
        assert host.slots["mine"].state == "not approved"
        outcome = await host.call("mine.echo", {"text": "x"})
        assert isinstance(outcome.error, NotAllowed)
        assert "nobody approved it" in str(outcome.error)
        assert outcome.hint is not None
        assert "dragoman enable mine" in outcome.hint
        assert await host.tools() == []
    assert not mark.exists()
    assert story(dragoman_home, "mine.echo") == ["asked", "ended: refused"]
    await approve(tmp_path)
    async with Host.from_config(cwd=tmp_path) as host:
        assert (await host.call("mine.echo", {"text": "x"})).ok
    assert mark.read_text() == "x"
    configured(tmp_path, server("mine", [sys.executable, str(script), "--more"]), name="dragoman.toml")
    async with Host.from_config(cwd=tmp_path) as host:
        assert "changed since it was approved" in str((await host.call("mine.echo", {"text": "x"})).error)
    assert mark.read_text() == "x"


async def test_named_file_needs_no_approval_wherever_it_lies(tmp_path: Path) -> None:
    """Whoever names it has chosen it."""
    path = configured(tmp_path, server("harbour", demo("legacy")), name="dragoman.toml")
    async with Host.from_config(path, cwd=tmp_path) as host:
        assert host.slots["harbour"].state == "ready"


async def test_switched_off_server_is_not_started(tmp_path: Path) -> None:
    """``enabled = false``; the refusal says how to switch it on."""
    config = configured(tmp_path, server("harbour", demo("legacy"), enabled=False))
    async with Host.from_config(config) as host:
        outcome = await host.call("harbour.search", {"text": "x"})
        assert (host.slots["harbour"].starts, outcome.hint is not None and "dragoman enable harbour" in outcome.hint) == (0, True)


async def test_nobody_is_asked_about_a_call_to_a_server_that_is_down(tmp_path: Path) -> None:
    """What a person approves must have a chance to happen."""
    asked: list[str] = []

    def ask(question: Question) -> bool:
        asked.append(question.tool)
        return False

    script = tmp_path / "server.py"
    script.write_text((DEMO / "legacy.py").read_text().replace("from _tools", f"sys.path.insert(0, {str(DEMO)!r})\n    from _tools", 1))
    config = configured(tmp_path, server("harbour", [sys.executable, str(script)], {"sink_ship": "L1", "add_note": "L2", "search": "L0"}))
    async with Host.from_config(config, approver=CallbackApprover(ask)) as host:
        script.write_text("raise SystemExit('gone')")
        await host.call("harbour.sink_ship")
        assert isinstance((await host.call("harbour.search", {"text": "x"})).error, SpawnFailed)
        assert isinstance((await host.call("harbour.add_note", {"text": "x"})).error, SpawnFailed)
        assert asked == []


# --- servers of the program's own ---------------------------------------------------------------------------------


async def test_added_server_is_treated_like_a_configured_one(tmp_path: Path, dragoman_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables from our environment, the folder, tiers, limits, stderr in its log file, secrets known."""
    monkeypatch.setenv("FROM_OUTSIDE", TOKEN)
    async with Host.from_config(configured(tmp_path, ""), cwd=tmp_path) as host:
        await host.add("dump", command=odd("env_dump"), env={"API_TOKEN": "${env:FROM_OUTSIDE}"}, tools={"echo": "L0"}, timeout_s=20)
        facts = json.loads((await host.call("dump.echo", {"text": TOKEN})).unwrap().text)
        assert (facts["env"]["API_TOKEN"], facts["cwd"], "FROM_OUTSIDE" in facts["env"]) == (TOKEN, str(tmp_path), False)
        await host.add("loud", command=odd("stderr_flood"), result_bytes=20, default_tier="L0", stop_s=1.0)
        assert (dragoman_home / "logs" / "loud.log").stat().st_size > 0
        assert "limit 20 bytes" in str((await host.call("loud.echo", {"text": "x" * 50})).error)
    assert TOKEN not in str(rows(dragoman_home))


@pytest.mark.parametrize(
    ("name", "spec", "words"),
    [
        ("harbour", {"command": ["x"]}, "there is a server harbour already"),
        ("a.b", {"command": ["x"]}, "cannot be a server's name"),
        ("b", {}, "exactly one of command and url"),
        ("b", {"command": []}, "exactly one of command and url"),
        ("b", {"command": ["x"], "url": "http://x"}, "exactly one of command and url"),
        ("b", {"url": "ftp://x"}, "expected a URL"),
        ("b", {"command": ["x"], "tools": {"t": "L7"}}, "L7"),
        ("b", {"command": ["x"], "default_tier": "read"}, "read"),
    ],
)
async def test_server_that_cannot_be_added_is_refused_and_not_there(name: str, spec: dict[str, object], words: str, tmp_path: Path) -> None:
    """As a file would be."""
    async with Host.from_config(configured(tmp_path, server("harbour", demo("legacy"))), lazy=True) as host:
        with pytest.raises(ConfigError, match=words):
            await host.add(name, **spec)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="no_such"):
            await host.add("c", command=["x"], no_such=1)
        assert list(host.slots) == ["harbour"]


async def test_added_server_that_does_not_start_raises_and_leaves_nothing_running(tmp_path: Path) -> None:
    """It stays, to be tried again or removed."""
    async with Host.from_config(configured(tmp_path, "")) as host:
        with pytest.raises(SpawnFailed, match="HARBOUR_KEY"):
            await host.add("b", command=odd("exits_at_once"))
        assert host.slots["b"].state == "down"
        await host.remove("b")


# --- secrets ------------------------------------------------------------------------------------------------------


async def test_secrets_of_the_configuration_are_in_no_record_no_trace_and_no_error(
    tmp_path: Path, dragoman_home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Planted in a variable, a header and an argument of servers that tell everything and fail in every way."""
    caplog.set_level(logging.DEBUG)
    script = tmp_path / "blabber.py"
    script.write_text(BLABBER.format(odd=str(ODD)))
    monkeypatch.setenv("FROM_OUTSIDE", TOKEN)
    blabber = [sys.executable, str(script)]
    secrets = {"env": {"API_TOKEN": "${env:FROM_OUTSIDE}"}}
    config = configured(
        tmp_path,
        server("talks", [*blabber, "--api-key", ARGUMENT], **secrets),
        server("dies", [*blabber, "die", "--api-key", ARGUMENT], **secrets),
        f'[servers.remote]\nurl = "http://127.0.0.1:9/"\nheaders = {{ Authorization = "Bearer {HEADER}" }}\n',
    )
    context = Context(config)
    texts: list[str] = []
    tracing = Tracing(context, file=str(tmp_path / "trace"))
    async with Host.from_config(context=context, tap_for=tracing.tap) as host:
        calls = [
            ("talks.echo", "x"),
            ("talks.echo", "die"),
            ("talks.echo", f"{TOKEN} {ARGUMENT} {HEADER}"),
            ("dies.echo", "x"),
            ("remote.echo", "x"),
        ]
        for name, text in calls:
            outcome = await host.call(name, {"text": text})
            assert outcome.error is not None
            texts += [outcome.for_user(), outcome.for_model(), str(outcome.hint), repr(outcome.error), str(vars(outcome.error))]
        texts += [str(slot.error) for slot in host.slots.values()]
    tracing.close()
    texts += [caplog.text, (tmp_path / "trace").read_text()]
    files = [path for path in dragoman_home.rglob("*") if path.is_file() and path.parent.name != "logs"]
    assert {path.name for path in files} >= {"dragoman.db"}
    everything = "\n".join(texts).encode() + b"".join(path.read_bytes() for path in files)
    for secret in (TOKEN, HEADER, ARGUMENT):
        assert secret.encode() not in everything
    assert b"refused [redacted] [redacted]" in everything
    assert ended(dragoman_home, "echo")["error"]


async def test_wire_log_of_a_program_is_redacted(tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The standard logger ``dragoman.wire`` at DEBUG, with nobody else looking."""
    monkeypatch.setenv("FROM_OUTSIDE", TOKEN)
    caplog.set_level(logging.DEBUG, "dragoman.wire")
    config = configured(tmp_path, server("dump", odd("env_dump"), env={"API_TOKEN": "${env:FROM_OUTSIDE}"}))
    async with Host.from_config(config) as host:
        await host.call("dump.echo", {"text": TOKEN})
    assert "tools/call" in caplog.text
    assert TOKEN not in caplog.text


# --- one server without a configuration ---------------------------------------------------------------------------


async def test_host_over_one_target_has_no_tiers_and_keeps_everything_else(tmp_path: Path, dragoman_home: Path) -> None:
    """The person at the keyboard decides; arguments are checked, results limited, calls written down."""
    context = Context(cwd=tmp_path)
    target = target_of(demo("legacy"), context)
    host = Host.for_target(lambda **more: client_for(target, context, **more), name="python3 legacy.py", context=context, result_bytes=300)
    async with host:
        done = await host.call("add_note", {"text": "x"})
        assert (done.ok, done.call.tier) == (True, None)
        assert not (await host.call("add_note", {"txt": "x"})).ok
        assert "limit 300 bytes" in str((await host.call("echo", {"text": "x" * 400})).error)
        assert (await host.read("", "harbour://notes")).ok
    assert story(dragoman_home, "add_note") == ["asked", "sending", "ended: ok", "asked", "ended: refused"]


async def test_broken_configuration_does_not_matter_to_a_target(tmp_path: Path) -> None:
    """Nothing of it is used."""
    (tmp_path / "dragoman.toml").write_text("[")
    context = Context(cwd=tmp_path)
    target = target_of(demo("legacy"), context)
    async with Host.for_target(lambda **more: client_for(target, context, **more), name="x", context=context) as host:
        assert (await host.call("search", {"text": "salt"})).ok
    assert os.path.exists(context.store_path)


def test_a_missing_file_says_who_named_it(tmp_path: Path) -> None:
    """Our choice: a library has no --config."""
    with pytest.raises(ConfigError, match=r"no such file \(named by Host.from_config\)") as caught:
        Host.from_config(tmp_path / "none.toml")
    assert "--config" not in (caught.value.hint or "")
