"""``dragoman doctor``: what a person and a script see."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.program import LEGACY, run, server


def test_healthy_server_is_said_to_be_so(tmp_path: Path) -> None:
    """Exit 0, and that no tool was called."""
    done = run("doctor", "--", *LEGACY, cwd=tmp_path)
    assert done.code == 0, done.err
    assert "healthy: nothing found that is wrong" in done.out
    assert "not tried" in done.out
    assert done.err == ""


def test_findings_are_exit_1_and_say_whose_fault_and_what_to_do(tmp_path: Path) -> None:
    """Findings are data: they stand on stdout."""
    done = run("doctor", "--call", "echo text=hi", "--", *server("banner"), cwd=tmp_path)
    assert done.code == 1
    assert "lines that are no messages" in done.out
    assert "whose: the server" in done.out
    assert "do: print logs on stderr" in done.out
    assert "0 faults, 3 warnings" in done.out


def test_server_that_does_not_start_is_a_finding_and_not_an_error(tmp_path: Path) -> None:
    """What a doctor is for."""
    done = run("doctor", "--json", "--", *server("exits_at_once"), cwd=tmp_path)
    assert done.code == 1
    assert [one["code"] for one in done.json["found"]] == ["exits-at-start"]
    assert done.json["healthy"] is False
    assert done.json["tried"][0]["step"] == "connect"


def test_server_of_the_configuration_is_examined_by_its_name(tmp_path: Path) -> None:
    """Its env, headers and folder are those of the file; a project file's server must be approved first."""
    config = tmp_path / "mine.toml"
    command = ", ".join(f'"{word}"' for word in LEGACY)
    config.write_text(f"[servers.harbour]\ncommand = [{command}]\n")
    done = run("doctor", "harbour", "--config", str(config), cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("harbour: ")
    config.rename(tmp_path / "dragoman.toml")
    done = run("doctor", "harbour", cwd=tmp_path)
    assert done.code == 3
    assert "nobody approved it" in done.err


def test_name_that_is_none_offers_the_nearest(tmp_path: Path) -> None:
    """A typo is not examined as a command."""
    config = tmp_path / "mine.toml"
    config.write_text('[servers.harbour]\ncommand = ["true"]\n')
    done = run("doctor", "harbor", "--config", str(config), cwd=tmp_path)
    assert done.code == 2
    assert "did you mean harbour?" in done.err


def test_bad_call_is_refused_with_what_to_write(tmp_path: Path) -> None:
    """Quotes that do not close, and no tool."""
    for text in ("echo 'x", " "):
        done = run("doctor", "--call", text, "--", *LEGACY, cwd=tmp_path)
        assert done.code == 2
        assert "--call" in done.err


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["text", "json"])
def test_no_secret_is_in_what_it_says_however_it_is_said(json: tuple[str, ...], tmp_path: Path) -> None:
    """A report is made to be passed on to the author of the server, who has no business with our credentials."""
    secret = "hunter2-very-secret"
    program = f"import os, sys; sys.exit(f'I was given {{os.environ[{'TOKEN'!r}]}}')"
    for words in (
        ["--env", f"TOKEN={secret}", "--", sys.executable, "-c", program],
        ["--header", f"Authorization: Bearer {secret}", f"http://me:{secret}@127.0.0.1:9/mcp?token={secret}"],
    ):
        done = run("doctor", *json, *words, cwd=tmp_path)
        assert done.code == 1
        assert "found" in done.out or "fault" in done.out
        assert secret not in done.out + done.err


def test_server_that_names_itself_after_a_secret_is_shown_without_it(tmp_path: Path) -> None:
    """It was given the secret, and says what it likes."""
    secret = "hunter2-very-secret"
    program = (
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    about = {'name': os.environ['TOKEN'], 'version': '1'}\n"
        "    found = {'protocolVersion': '2025-11-25', 'capabilities': {}, 'serverInfo': about}\n"
        "    answer = {'result': found} if asked['method'] == 'initialize' else {'error': {'code': -32601, 'message': 'no'}}\n"
        "    if 'id' in asked: print(json.dumps({'jsonrpc': '2.0', 'id': asked['id'], **answer}), flush=True)\n"
    )
    for json in ((), ("--json",)):
        done = run("doctor", *json, "--env", f"TOKEN={secret}", "--", sys.executable, "-c", program, cwd=tmp_path)
        assert "2025-11-25" in done.out
        assert secret not in done.out + done.err


def test_words_behind_dashes_are_a_command_whatever_servers_are_called(tmp_path: Path) -> None:
    """`dragoman doctor -- nosuch` was taken for the name of a server."""
    done = run("doctor", "--json", "--", "no-such-command-here", cwd=tmp_path)
    assert (done.code, [one["code"] for one in done.json["found"]]) == (1, ["command-missing"])
