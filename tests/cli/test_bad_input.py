"""What goes wrong, and how it is told: one clear message with a hint on stderr, the right exit code, no traceback, nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .calling import configured, endings, nobody_left_in, on, records
from .program import LEGACY, PATIENCE_S, Finished, run

ON_LEGACY = ("--on", " ".join(LEGACY))


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path) -> Iterator[None]:
    """Holds for every case here."""
    yield
    assert nobody_left_in(tmp_path)


def trouble(done: Finished, code: int, *words: str, hint: bool = True) -> None:
    """One message: the exit code, the words, a hint, no traceback, nothing on stdout."""
    assert done.code == code, done.err
    assert done.out == ""
    assert done.err.count("error: ") == 1
    assert ("\nhint: " in done.err) is hint, done.err
    assert "Traceback" not in done.err
    for word in words:
        assert word in done.err


@pytest.mark.parametrize(
    ("target", "timeout", "words"),
    [
        ("no-such-command-here", "5", ["cannot start 'no-such-command-here'", "no such program in PATH"]),
        (on("exits_at_once"), "5", ["exited with status 3", "fatal: HARBOUR_KEY is not set"]),
        (on("hangs"), "1", ["did not answer the handshake within 1 s"]),
        (on("garbage"), "1", ["did not answer the handshake within 1 s"]),
        ("http://127.0.0.1:9/mcp", "5", ["127.0.0.1:9"]),
    ],
    ids=["missing", "exits", "hangs", "garbage", "refused"],
)
@pytest.mark.slow
def test_a_server_that_does_not_start_is_exit_4_everywhere(
    target: str, timeout: str, words: list[str], tmp_path: Path, dragoman_home: Path
) -> None:
    """DESIGN exit codes: no connection is 4; that it was tried is written down all the same."""
    trouble(run("probe", "--timeout", timeout, "--", *target.split(), cwd=tmp_path), 4, *words)
    trouble(run("call", "--timeout", timeout, "--on", target, "echo", "text=a", cwd=tmp_path), 4, *words)
    assert endings(dragoman_home) == [("echo", "failed")]
    probed = records(dragoman_home)[0]
    assert (probed.event, probed.status, probed.server) == ("probed", "failed", target)
    assert all(word in probed.detail["message"] for word in words[:1])


def test_a_configured_server_that_hangs_keeps_to_the_timeout(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: ``--timeout`` bounds connecting too."""
    config = str(configured(tmp_path, on("hangs").split()))
    done = run("call", "--config", config, "--timeout", "1", "h.echo", "text=a", cwd=tmp_path)
    trouble(done, 4, "h did not answer the handshake within 1 s")
    assert endings(dragoman_home) == [("h.echo", "failed")]


def test_a_banner_does_no_harm(tmp_path: Path) -> None:
    """Our contract: output that is not JSON is skipped and counted."""
    done = run("call", "--on", on("banner"), "echo", "text=a", cwd=tmp_path)
    assert (done.code, done.out) == (0, "echo: a\n")
    lines = done.err.splitlines()
    assert lines
    assert all(line.startswith("warning: ") for line in lines)
    assert len(set(lines)) == len(lines)
    probed = run("probe", "--json", "--", *on("banner").split(), cwd=tmp_path, DRAGOMAN_HOME=str(tmp_path / "other"))
    assert probed.json["violations"]["noise"] > 0


def test_a_server_that_dies_in_a_call_is_exit_1_and_perhaps_it_ran(tmp_path: Path, dragoman_home: Path) -> None:
    """DESIGN exit codes; an ad hoc call that is lost is never sent again."""
    done = run("call", "--on", on("dies_in_call"), "echo", "text=bad", cwd=tmp_path)
    trouble(done, 1, "exited with status 7", "assertion failed: hull == whole", "it may have run")
    as_json = run("call", "--on", on("dies_in_call"), "echo", "text=bad", "--json", cwd=tmp_path)
    assert as_json.code == 1
    assert as_json.json["error"] | {"message": "", "server": "", "hint": ""} == {
        "kind": "ConnectionLost",
        "message": "",
        "hint": "",
        "server": "",
        "maybe_ran": "perhaps",
    }
    assert endings(dragoman_home) == [("echo", "unknown"), ("echo", "unknown")]


def test_a_call_that_gets_no_answer_is_exit_5(tmp_path: Path, dragoman_home: Path) -> None:
    """DESIGN exit codes."""
    done = run("call", "--on", on("hangs", "calls"), "--timeout", "1", "echo", "text=a", cwd=tmp_path)
    trouble(done, 5, "within 1 s", "--timeout S waits longer; it may have run")
    assert endings(dragoman_home) == [("echo", "unknown")]


def test_an_unknown_tool_offers_the_nearest_names(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract; nothing is sent."""
    trouble(run("call", *ON_LEGACY, "ehco", "text=a", cwd=tmp_path), 3, "there is no tool 'ehco'", "hint: did you mean echo")
    config = str(configured(tmp_path, LEGACY))
    trouble(run("call", "--config", config, "h.serch", "text=a", cwd=tmp_path), 3, "hint: did you mean h.search")
    trouble(run("call", "--config", config, "hh.search", "text=a", cwd=tmp_path), 3, "hint: did you mean h.search?")
    assert endings(dragoman_home) == [("ehco", "refused"), ("h.serch", "refused"), ("hh.search", "refused")]


def test_arguments_of_the_wrong_type_are_refused_with_path_and_expectation(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: exit 3, nothing is sent; a person's words are not coerced."""
    done = run("call", *ON_LEGACY, "count", "to=many", cwd=tmp_path)
    trouble(done, 3, '/to: expected an integer, got the string "many"')
    trouble(run("call", *ON_LEGACY, "echo", "txet=a", cwd=tmp_path), 3, '/txet: no such argument; did you mean "text"?')
    trouble(run("call", *ON_LEGACY, "echo", "text:=5", cwd=tmp_path), 3, "/text: expected a string")
    assert endings(dragoman_home) == [("count", "refused"), ("echo", "refused"), ("echo", "refused")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["text"], "'text' is no argument"),
        (["text:=[1"], "the value of text is not valid JSON"),
        (["text=@missing.txt"], "cannot read the file missing.txt"),
        (["text=a", "text=b"], "the argument text is given twice"),
        (["--args", "[1]"], "--args is no JSON object"),
        (["text=a", "--", "--text=b"], "words after -- are not understood here: --text=b"),
    ],
)
def test_arguments_that_cannot_be_parsed_are_exit_2(words: list[str], message: str, tmp_path: Path) -> None:
    """DESIGN exit codes."""
    trouble(run("call", *ON_LEGACY, "echo", *words, cwd=tmp_path), 2, message)


def test_a_result_over_the_limit_is_exit_1(tmp_path: Path, dragoman_home: Path) -> None:
    """Our contract: the message names the size, the limit and what to raise."""
    done = run("call", "--on", on("big_line", "1500000"), "echo", "text=a", cwd=tmp_path)
    trouble(done, 1, "result is 1.5 MB, limit 1 MB", "ask for less")
    config = configured(tmp_path, on("big_line", "3000").split(), {"echo": "L0"})
    config.write_text(config.read_text() + "[servers.h.limits]\nresult_bytes = 2000\n")
    done = run("call", "--config", str(config), "h.echo", "text=a", cwd=tmp_path)
    trouble(done, 1, 'limit 2 kB (server "h", tool "echo"); raise servers.h.limits.result_bytes')
    assert endings(dragoman_home) == [("echo", "failed"), ("echo", "failed")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[servers.x\n", ["named.toml:1:", "not valid TOML"]),
        ('[servers.x]\ncomand = ["a"]\n', ["named.toml:2:", "servers.x.comand", "command"]),
        ('[servers.x]\ncommand = "a b"\n', ["named.toml:2:", "servers.x.command"]),
        ('[server.x]\ncommand = ["a"]\n', ["named.toml:1:", "server"]),
        ('[servers.x]\ncommand = ["a", "${env:NOT_SET_AT_ALL}"]\n', ["named.toml:2:", "NOT_SET_AT_ALL"]),
        ('[servers.x]\ncommand = ["a"]\n[servers.x.tools]\n"*" = "L9"\n', ["named.toml:4:", "L9"]),
    ],
    ids=["syntax", "typo", "type", "table", "variable", "tier"],
)
def test_a_bad_configuration_is_exit_2_with_file_line_and_key(text: str, words: list[str], tmp_path: Path, dragoman_home: Path) -> None:
    """DESIGN: file, line, key, what was expected; the call is written down all the same."""
    (tmp_path / "named.toml").write_text(text)
    trouble(run("call", "--config", "named.toml", "x.echo", "text=a", cwd=tmp_path), 2, *words)
    assert endings(dragoman_home) == [("x.echo", "failed")]


def test_what_a_bad_configuration_ended_is_written_down_by_its_name(tmp_path: Path, dragoman_home: Path) -> None:
    """Reads and prompts are calls too; the record says why, and for whom. A store that cannot be written hides nothing."""
    (tmp_path / "named.toml").write_text("[servers.x\n")
    for words in (["read", "x", "file:///a"], ["prompt", "x", "greet"], ["call", "x.echo", "--turn", "t1", "--principal", "ada"]):
        trouble(run(*words, "--config", "named.toml", cwd=tmp_path), 2, "not valid TOML")
    assert endings(dragoman_home) == [("file:///a", "failed"), ("greet", "failed"), ("x.echo", "failed")]
    last = records(dragoman_home)[-1]
    assert (last.turn, last.principal, last.detail["error"]) == ("t1", "ada", "ConfigError")
    assert "named.toml:1" in last.detail["message"]
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "dragoman.db").write_bytes(b"no database" * 100)
    trouble(run("call", "--config", "named.toml", "x.echo", cwd=tmp_path, DRAGOMAN_HOME=str(broken)), 2, "not valid TOML")


def test_a_program_that_is_no_server_is_told_from_one(tmp_path: Path) -> None:
    """Our choice: `cat` answers everything with its own question, and our refusal of that comes back as an answer."""
    trouble(run("probe", "--", "cat", cwd=tmp_path), 4, "it sends back what is sent to it; this is not an MCP server", hint=True)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["cal"], "there is no command 'cal'", "did you mean call?"),
        (["--config", "none.toml", "call", "x.y"], "no such file (named by --config)", "create it"),
        (["call"], "missing argument 'TOOL'", "dragoman call --help"),
        (["call", "x", "--josn"], "there is no option --josn", "did you mean --json?"),
        (["probe", "npx", "-y", "thing"], "there is no option -y", "dragoman probe -- CMD ..."),
        (["call", "x.y", "--cwd", "/"], "--cwd is for servers without a configuration", "--on"),
        (["call", "--on", "x", "y", "--timeout", "0"], "a timeout of 0 s makes no sense", "positive"),
        (["probe", "--revision", "2020-01-01", "--", "x"], "2020-01-01 is no revision", "2026-07-28"),
        (["tools", "x", "--trace-file", "/no/such/folder/f"], "--trace-file /no/such/folder/f cannot be written", ""),
    ],
)
def test_bad_words_are_exit_2_with_the_way_out(words: list[str], message: str, hint: str, tmp_path: Path) -> None:
    """DESIGN exit codes: unknown subcommands and bad flags are 2."""
    done = run(*words, cwd=tmp_path)
    trouble(done, 2, message, hint, hint=bool(hint))


def test_with_json_trouble_is_one_object_on_stdout(tmp_path: Path) -> None:
    """DESIGN: ``{"error": {"kind", "message", "hint", "server", "maybe_ran"}}``; for bad words too, wherever ``--json`` stands."""
    done = run("call", *ON_LEGACY, "--json", "ehco", cwd=tmp_path)
    assert (done.code, done.err) == (3, "")
    assert list(done.json["error"]) == ["kind", "message", "hint", "server", "maybe_ran"]
    assert done.json["error"]["kind"] == "UnknownTool"
    assert json.loads(run("--json", "cal", cwd=tmp_path).out)["error"]["kind"] == "UsageError"
    assert json.loads(run("call", "--nonsense", "--json", cwd=tmp_path).out)["error"]["kind"] == "UsageError"


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """Our contract."""
    done = run("call", "--debug", *ON_LEGACY, "ehco", cwd=tmp_path)
    assert done.code == 3
    assert "Traceback (most recent call last)" in done.err
    assert "error: there is no tool 'ehco'" in done.err


def test_debug_shows_nothing_of_a_server_raw(tmp_path: Path) -> None:
    """A traceback quotes what servers said: escaped like all else."""
    (tmp_path / "hostile.py").write_text(r"import sys; sys.stderr.write('\x1b[2J\u200b\u202e!\n'); sys.exit(3)")
    done = run("call", "--debug", "--on", f"{sys.executable} hostile.py", "x", cwd=tmp_path, PYTHONIOENCODING="utf-8")
    assert "Traceback" in done.err
    assert done.err.count("\\x1b[2J\\u200b\\u202e!") >= 2
    assert not set(done.err) & set("\x1b\u200b\u202e")


@pytest.mark.parametrize("gap_s", [0.005, 0.03])
def test_many_ctrl_c_in_a_row_end_as_one(gap_s: float, tmp_path: Path, dragoman_home: Path) -> None:
    """Keys bounce: no traceback, 130, the call written down as cancelled and its server stopped."""
    words = [sys.executable, "-W", "error", "-m", "dragoman", "call", "--trace", *ON_LEGACY, "slow", "seconds=60"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stderr is not None
        seen = b""
        while b'"method":"tools/call"' not in seen:
            line = process.stderr.readline()
            assert line, seen
            seen += line
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(gap_s)  # what is tested
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, err
    assert b"Traceback" not in err
    assert err.count(b"interrupted") == 1
    assert endings(dragoman_home) == [("slow", "cancelled")]
